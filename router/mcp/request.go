package mcp

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
	"junction/state/value"
)

// params builds tools/call's parameters; more are members that are ready. The
// caller's members of _meta yield to those the protocol needs.
func (c *conn) params(id int64, call *router.ToolCall, args any, more []byte) ([]byte, *router.CallError) {
	b := append(make([]byte, 0, 256), `{"name":`...)
	b, err := value.Append(b, call.Tool)
	if err == nil {
		b, err = value.Append(append(b, `,"arguments":`...), args)
	}
	if err != nil {
		return nil, notSent(router.CapabilityMismatch, "the call has no JSON form: "+excerpt(err.Error()), err)
	}
	b = append(b, more...)
	b = append(append(b, `,"_meta":{`...), c.metaOf(call.OnTask != nil, call.MayAsk)...)
	b = strconv.AppendInt(append(b, `"progressToken":`...), id, 10)
	own := map[string]any{}
	for name, v := range call.Meta {
		if name != "progressToken" && !strings.HasPrefix(name, "io.modelcontextprotocol/") {
			own[name] = v
		}
	}
	if len(own) > 0 {
		var meta any
		if meta, err = value.Normalize(own); err == nil {
			var enc []byte
			if enc, err = value.Encode(meta); err == nil {
				b = append(append(b, ','), enc[1:len(enc)-1]...)
			}
		}
		if err != nil {
			return nil, notSent(router.CapabilityMismatch, "the call's _meta has no exact JSON form: "+excerpt(err.Error()), err)
		}
	}
	return append(b, '}', '}'), nil
}

// callHeaders tells an HTTP server how long the caller still waits, and repeats
// what the later era wants repeated.
func (c *conn) callHeaders(until time.Time, t *tool, name string, params []byte) http.Header {
	h := c.headers(string(protocol.MethodToolsCall), name)
	if !c.http {
		return h
	}
	h.Set(headerTimeout, strconv.FormatFloat(max(0, time.Until(until).Seconds()), 'f', 3, 64))
	if t.headers != nil {
		for name, v := range protocol.GenerateParamHeaders(t.headers, params) {
			h.Set(name, v)
		}
	}
	return h
}
