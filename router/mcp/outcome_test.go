package mcp_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

func TestEveryOutcomeHasItsCodeAndItsExecution(t *testing.T) {
	const no, maybe = state.NotExecuted, state.Unknown
	body := func(json string) func(http.ResponseWriter, *http.Request, string) { return status(200, json) }
	result := func(json string) func(http.ResponseWriter, *http.Request, string) {
		return body(`{"jsonrpc":"2.0","id":$ID,"result":` + json + `}`)
	}
	for _, tc := range []struct {
		name      string
		answer    func(http.ResponseWriter, *http.Request, string)
		code      router.Code
		execution state.Execution
		only      string // "modern" or "legacy"; "": both
		secret    bool   // a credential is configured
	}{
		{name: "401 without a credential", answer: status(401, "who?"), code: router.AuthRequired, execution: no},
		{name: "401 with a credential", answer: status(401, "who?"), code: router.AuthMismatch, execution: no, secret: true},
		{name: "403", answer: status(403, ""), code: router.AuthMismatch, execution: no},
		{name: "404 without a session", answer: status(404, "page not found"), code: router.Transport, execution: no},
		{name: "404 with a JSON-RPC error", answer: status(404, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`), code: router.CapabilityMismatch, execution: no},
		{name: "405", answer: status(405, ""), code: router.Transport, execution: no},
		{name: "400 without a reason", answer: status(400, "bad"), code: router.ServerError, execution: maybe},
		{name: "400 with -32022", answer: status(400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32022,"message":"no"}}`), code: router.VersionUnsupported, execution: no},
		{name: "400 with -32020", answer: status(400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32020,"message":"no"}}`), code: router.CapabilityMismatch, execution: no},
		{name: "429", answer: status(429, `{"odd":true}`), code: router.ServerOverload, execution: no},
		{name: "503 bare", answer: status(503, "<html>busy</html>"), code: router.ServerOverload, execution: maybe},
		{name: "503 with Retry-After", answer: status(503, `{"odd":1}`, "Retry-After", "7"), code: router.ServerOverload, execution: no},
		{name: "502", answer: status(502, ""), code: router.ServerError, execution: maybe},
		{name: "504", answer: status(504, ""), code: router.ServerError, execution: maybe},
		{name: "500 with a JSON-RPC error", answer: status(500, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"no"}}`), code: router.ServerError, execution: maybe},
		{name: "pointer to the result of what was done", answer: status(303, "", "Location", "/receipt"), code: router.ServerError, execution: state.Unknown},
		{name: "redirect to another origin", answer: status(307, "", "Location", "http://127.0.0.1:1/mcp"), code: router.Transport, execution: no},
		{name: "-32601", answer: rpc(-32601), code: router.CapabilityMismatch, execution: no},
		{name: "-32602", answer: rpc(-32602), code: router.CapabilityMismatch, execution: no},
		{name: "-32603", answer: rpc(-32603), code: router.ServerError, execution: maybe},
		{name: "-32021", answer: rpc(-32021), code: router.CapabilityMismatch, execution: no},
		{name: "-32022", answer: rpc(-32022), code: router.VersionUnsupported, execution: no},
		{name: "-32000, which means nothing", answer: rpc(-32000), code: router.ServerError, execution: maybe},
		{name: "a code of the server's own", answer: rpc(4711), code: router.ServerError, execution: maybe},
		{name: "wrong id", answer: body(`{"jsonrpc":"2.0","id":123456,"result":` + fine + `}`), code: router.OutputInvalid, execution: maybe},
		{name: "no id", answer: body(`{"jsonrpc":"2.0","result":` + fine + `}`), code: router.OutputInvalid, execution: maybe},
		{name: "neither result nor error", answer: body(`{"jsonrpc":"2.0","id":$ID}`), code: router.OutputInvalid, execution: maybe},
		{name: "half a message", answer: body(`{"jsonrpc":"2.0","id":$ID,"result":{"cont`), code: router.OutputInvalid, execution: maybe},
		{name: "no JSON", answer: body("hello"), code: router.OutputInvalid, execution: maybe},
		{name: "HTML", answer: status(200, "<html>", "Content-Type", "text/html"), code: router.OutputInvalid, execution: maybe},
		{name: "202 for a request", answer: status(202, ""), code: router.OutputInvalid, execution: maybe},
		{name: "too large", answer: result(`{"content":[{"type":"text","text":"` + strings.Repeat("x", 200<<10) + `"}]}`), code: router.OutputInvalid, execution: maybe},
		{name: "result without content", answer: result(`{}`), code: router.OutputInvalid, execution: maybe},
		{name: "input_required", answer: result(`{"resultType":"input_required","inputRequests":{}}`), code: router.OutputInvalid, execution: maybe},
		{name: "task", answer: result(`{"resultType":"task","taskId":"1"}`), code: router.OutputInvalid, execution: maybe},
		{name: "unknown type of result", answer: result(`{"resultType":"wish","content":[]}`), code: router.OutputInvalid, execution: maybe},
		{name: "connection cut before the answer", answer: cut(""), code: router.Transport, execution: maybe},
		{name: "connection cut in the answer", answer: cut("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n{\"jsonrpc\":"), code: router.Transport, execution: maybe},
		{name: "event stream cut", answer: cut("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n: hi\n\r\n"), code: router.Transport, execution: maybe},
		{name: "event stream without an answer", answer: status(200, ": nothing\n\n", "Content-Type", "text/event-stream"), code: router.OutputInvalid, execution: maybe},
		{name: "event with the wrong id", answer: status(200, "data: {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":"+fine+"}\n\n", "Content-Type", "text/event-stream"), code: router.OutputInvalid, execution: maybe},
		{name: "event too large", answer: status(200, "data: "+strings.Repeat("x", 200<<10)+"\n\n", "Content-Type", "text/event-stream"), code: router.OutputInvalid, execution: maybe},
	} {
		for _, modern := range []bool{true, false} {
			era := map[bool]string{true: "modern", false: "legacy"}[modern]
			if tc.only != "" && tc.only != era {
				continue
			}
			t.Run(tc.name+", "+era, func(t *testing.T) {
				s, _ := raw(t, &scripted{modern: modern, call: tc.answer})
				if tc.secret {
					s.Dial.Headers = map[string]string{"Authorization": "Bearer hunter2hunter2"}
				}
				c := newClient(t, &mcp.Options{MaxResponseBytes: 100 << 10})
				_, err := c.Call(t.Context(), s, call("echo", nil))
				e := callError(t, err)
				if e.Code != tc.code || e.Execution != tc.execution {
					t.Errorf("%s, %s: %s; want %s, %s", e.Code, e.Execution, e.Message, tc.code, tc.execution)
				}
				if strings.HasPrefix(tc.name, "503 with") && e.RetryAfter != 7*time.Second {
					t.Errorf("Retry-After %v", e.RetryAfter)
				}
				if strings.HasPrefix(tc.name, "a code") && (e.RPCCode != 4711 || fmt.Sprint(e.Data) != "map[why:x]") {
					t.Errorf("code %d and data %v are not kept", e.RPCCode, e.Data)
				}
			})
		}
	}
}

func TestALargeStreamOfSmallEventsIsNotTooLarge(t *testing.T) {
	s, _ := raw(t, &scripted{call: func(w http.ResponseWriter, _ *http.Request, id string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 100 {
			fmt.Fprintf(w, ": %s\r\n\r\n", strings.Repeat("x", 4<<10))
		}
		fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\r\n\r\n", id, fine)
	}})
	c := newClient(t, &mcp.Options{MaxResponseBytes: 100 << 10})
	if r, err := c.Call(t.Context(), s, call("echo", nil)); err != nil || r.Text != "fine" {
		t.Errorf("%+v, %v", r, err)
	}
}
