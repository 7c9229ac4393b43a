package gateway

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
)

// named are the methods whose Mcp-Name repeats a parameter, and which.
var named = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

// disagrees says where the headers are not what the body says; "": nowhere. repeated
// are the parameters that stand in headers, too.
func disagrees(header http.Header, m message, repeated []parameter) string {
	method := m.text("method")
	if method == "" {
		return ""
	}
	if got := header.Get("Mcp-Method"); got != method {
		return fmt.Sprintf("Mcp-Method is %q, the message's method %q", got, method)
	}
	if version := textOf(m.at("params", "_meta", metaVersion)); version != "" && header.Get(headerVersion) != version {
		return fmt.Sprintf("%s is %q, that in _meta %q", headerVersion, header.Get(headerVersion), version)
	}
	if parameter, ok := named[method]; ok {
		want := textOf(m.at("params", parameter))
		if got := decoded(header.Get("Mcp-Name")); got != want {
			return fmt.Sprintf("Mcp-Name is %q, the message's %s %q", got, parameter, want)
		}
	}
	if method != "tools/call" {
		return ""
	}
	for _, p := range repeated {
		value := m.at("params", "arguments", p.name)
		if value == nil {
			continue
		}
		want := string(value)
		if value[0] == '"' {
			want = textOf(value)
		}
		if got := decoded(header.Get(p.header)); got != want {
			return fmt.Sprintf("%s is %q, the argument %s %q", p.header, got, p.name, want)
		}
	}
	return ""
}

// decoded is a header's value, which may be written in base64.
func decoded(value string) string {
	if inner, ok := strings.CutPrefix(value, "=?base64?"); ok {
		if inner, ok = strings.CutSuffix(inner, "?="); ok {
			if text, err := base64.StdEncoding.DecodeString(inner); err == nil {
				return string(text)
			}
		}
	}
	return value
}

// statusOf is the status that an answer has without sessions.
func statusOf(request, answer message) int {
	switch answer.errorCode() {
	case 0:
		return http.StatusOK
	case -32601:
		return http.StatusNotFound
	case -32700, -32600, -32020, -32021, -32022:
		return http.StatusBadRequest
	case -32602:
		// The protocol wants this one of requests that lack what each must carry.
		if textOf(request.at("params", "_meta", metaVersion)) == "" || request.at("params", "_meta", metaCapabilities) == nil {
			return http.StatusBadRequest
		}
	}
	return http.StatusOK
}

// refuse answers for the server.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, code int, why string) {
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why}})
	if err != nil {
		http.Error(w, why, status)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // whoever is not there cannot be told
}

// follow writes a stream to the client until it ends, which is true, or the client
// goes. An answer that comes first and has a status of its own is no stream. status is
// nil where no answer can come.
func follow(w http.ResponseWriter, r *http.Request, stream <-chan message, status func(answer message) int) bool {
	out := http.NewResponseController(w)
	begun := false
	begin := func() {
		begun = true
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("X-Accel-Buffering", "no")
		w.WriteHeader(http.StatusOK)
	}
	if status == nil {
		begin()
		_ = out.Flush() // a client that has gone shows below
	}
	for {
		select {
		case m, more := <-stream:
			switch {
			case !more && !begun:
				refuse(w, http.StatusBadGateway, nil, -32603, errGone.Error())
				return true
			case !more:
				return true
			}
			if !begun && m.answer() && status(m) != http.StatusOK {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status(m))
				_, _ = w.Write(m.line())
				return true
			}
			if !begun {
				begin()
			}
			if _, err := fmt.Fprintf(w, "event: message\ndata: %s\n\n", m.line()); err != nil {
				return false
			}
			_ = out.Flush() // the next write tells
		case <-r.Context().Done():
			return false
		}
	}
}
