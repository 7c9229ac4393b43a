package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// progressToken is the member of _meta by which progress is asked for.
const progressToken = "progressToken"

// laterMeta are the members of _meta that only the later era knows. (Others with
// the same prefix, such as a task's, belong to the earlier one as well.)
var laterMeta = []string{
	protocol.MetaKeyProtocolVersion, protocol.MetaKeyClientCapabilities, protocol.MetaKeyClientInfo,
	protocol.MetaKeyLogLevel, protocol.MetaKeyServerInfo, protocol.MetaKeySubscriptionID,
}

// params are a request's as they leave: the sender's, but for _meta. nil: none.
func (w *Wire) params(id int64, r *Request) ([]byte, *router.CallError) {
	var all, meta []field
	if given := bytes.TrimSpace(r.Params); len(given) > 0 && string(given) != "null" {
		var ok bool
		if all, ok = fieldsOf(given); !ok {
			return nil, notSent(router.CapabilityMismatch, "the request's parameters are no JSON object", nil)
		}
	}
	if raw := valueOf(all, "_meta"); raw != nil {
		var ok bool
		if meta, ok = fieldsOf(raw); !ok {
			return nil, notSent(router.CapabilityMismatch, "the request's _meta is no JSON object", nil)
		}
	}
	meta = without(meta, progressToken)
	if w.modern {
		meta = w.told(meta)
	} else {
		meta = slices.DeleteFunc(meta, func(f field) bool { return slices.Contains(laterMeta, f.name) })
	}
	if r.Progress != nil {
		meta = with(meta, progressToken, strconv.AppendInt(nil, id, 10))
	}
	switch {
	case len(meta) > 0:
		all = with(all, "_meta", object(meta))
	case len(all) == 0 && len(r.Params) == 0:
		return nil, nil
	default:
		all = without(all, "_meta")
	}
	return oneLine(object(all)), nil
}

// told adds what a request of the later era must tell.
func (w *Wire) told(meta []field) []field {
	meta = with(meta, protocol.MetaKeyProtocolVersion, w.version)
	if valueOf(meta, protocol.MetaKeyClientCapabilities) == nil {
		meta = with(meta, protocol.MetaKeyClientCapabilities, w.greeting.Capabilities)
	}
	if valueOf(meta, protocol.MetaKeyClientInfo) == nil {
		meta = with(meta, protocol.MetaKeyClientInfo, w.greeting.ClientInfo)
	}
	return meta
}

// oneLine takes the line ends out of valid JSON: on a pipe a line is a message.
func oneLine(raw []byte) []byte {
	if bytes.ContainsAny(raw, "\r\n") {
		var b bytes.Buffer
		if json.Compact(&b, raw) == nil {
			return b.Bytes()
		}
	}
	return raw
}

// encode writes a message of ours. id is JSON, nil for a notification;
// params are, too, or nothing.
func encode(id []byte, method string, params []byte) ([]byte, error) {
	name, err := json.Marshal(method)
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, len(params)+len(name)+80), `{"jsonrpc":"2.0",`...)
	if id != nil {
		b = append(append(append(b, `"id":`...), id...), ',')
	}
	b = append(append(b, `"method":`...), name...)
	if len(params) > 0 {
		b = append(append(b, `,"params":`...), params...)
	}
	return append(b, '}'), nil
}

// namedBy is the member of a request's parameters that the later era has repeated in
// a header.
func namedBy(method string) string {
	switch method {
	case string(protocol.MethodToolsCall), string(protocol.MethodPromptsGet):
		return "name"
	case string(protocol.MethodResourcesRead):
		return "uri"
	}
	if strings.HasPrefix(method, "tasks/") {
		return "taskId"
	}
	return ""
}

// fitsHeader reports whether a method's name can stand in a header.
func fitsHeader(method string) bool {
	return !strings.ContainsFunc(method, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// headers are what an HTTP server is told beside the body.
func (w *Wire) headers(ctx context.Context, method string, params []byte) http.Header {
	var name string
	if member := namedBy(method); w.modern && member != "" {
		all, _ := fieldsOf(params)
		if json.Unmarshal(valueOf(all, member), &name) != nil {
			name = ""
		}
	}
	h := w.conn.headers(method, name)
	if method != string(protocol.MethodToolsCall) {
		return h
	}
	if until, ok := ctx.Deadline(); ok {
		h.Set(headerTimeout, strconv.FormatFloat(max(0, time.Until(until).Seconds()), 'f', 3, 64))
	}
	if t := w.repeats.of(name); t != nil {
		for k, v := range protocol.GenerateParamHeaders(t, params) {
			h.Set(k, v)
		}
	}
	return h
}
