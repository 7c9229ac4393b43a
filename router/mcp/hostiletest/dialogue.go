package hostiletest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// message is what a client sent.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string `json:"name"`
		Cursor    string `json:"cursor"`
		Arguments struct {
			Key   string `json:"key"`
			Order string `json:"order"`
		} `json:"arguments"`
		Meta struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

// voice is the way an answer to one request goes.
type voice interface {
	// say sends one whole message.
	say(text string)
	// begin sends the beginning of a message, or more of it, and end what makes
	// it whole on the wire.
	begin(text string)
	end()
	// gone is closed when nobody listens any more; nil: that cannot be known.
	gone() <-chan struct{}
	// misdeed does a fault that only this transport has.
	misdeed(f Fault, m *message, answer string)
}

// serve answers one request, or does wrong at it.
func (s *Server) serve(m *message, v voice) {
	if m.Method == "notifications/cancelled" {
		select {
		case s.cancel(string(m.Params.RequestID)) <- struct{}{}:
		default:
		}
	}
	if len(m.ID) == 0 || m.Method == "" { // an answer to what it asked
		return
	}
	if s.Fault.tasks() && strings.HasPrefix(m.Method, "tasks/") {
		if answer := s.aboutTask(m); answer != "" {
			v.say(answer)
			return
		}
		wait(v)
		return
	}
	if m.Method != "tools/call" {
		answer := s.answerOf(m)
		if s.Fault != None && m.Method == s.At {
			s.misbehave(s.Fault, m, v, answer)
			return
		}
		v.say(answer)
		return
	}
	if m.Params.Name != "work" {
		v.say(s.verify(m))
		return
	}
	arrived, err := s.tell("/arrive", m)
	if err != nil {
		v.say(s.refusal(m, -32603, err.Error()))
		return
	}
	f := s.faultOf(arrived.Call)
	switch {
	case f.refusal():
		s.misbehave(f, m, v, "")
		return
	case f == LostRequest:
		v.misdeed(Dropped, m, "")
		return
	}
	answer := s.work(m)
	if f != None {
		s.misbehave(f, m, v, answer)
		return
	}
	v.say(answer)
}

// faultOf is what goes wrong at the n-th call of the server's tool.
func (s *Server) faultOf(n int) Fault {
	switch {
	case s.At != "" || s.Fault.ofItself():
		return None
	case len(s.Faults) > 0 && n <= len(s.Faults):
		return s.Faults[n-1]
	case len(s.Faults) > 0 || s.Times > 0 && n > s.Times:
		return None
	}
	return s.Fault
}

// work lets the tool take effect and words its answer.
func (s *Server) work(m *message) string {
	d, err := s.tell("/work", m)
	if err != nil {
		return s.refusal(m, -32603, err.Error())
	}
	return s.result(m, fmt.Sprintf(`{"content":[{"type":"text","text":"done"}],"structuredContent":%s}`, s.receipt(d)))
}

func (s *Server) verify(m *message) string {
	d, err := s.tell("/verify", m)
	switch {
	case err != nil || m.Params.Name != "verify":
		return s.refusal(m, -32602, "no such tool")
	case s.Blind:
		return s.result(m, `{"isError":true,"content":[{"type":"text","text":"the books are closed"}]}`)
	}
	return s.result(m, fmt.Sprintf(`{"content":[],"structuredContent":{"happened":%t,"result":%s}}`, d.Receipt > 0, s.receipt(d)))
}

func (s *Server) receipt(d deed) string {
	return fmt.Sprintf(`{"receipt":%d,"by":%q}`, d.Receipt, s.ID)
}

func (s *Server) result(m *message, result string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

func (s *Server) refusal(m *message, code int, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, m.ID, code, text)
}

// answerOf answers what is no call of a tool.
func (s *Server) answerOf(m *message) string {
	version := "2025-11-25"
	if s.Fault == UnknownEra {
		version = "1999-01-01"
	}
	if s.Fault == LaterEra {
		version = "2026-07-28"
	}
	switch {
	case m.Method == "server/discover" && s.Modern && s.Fault == UnknownEra:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":["2031-01-01"]}}}`, m.ID)
	case m.Method == "server/discover" && s.Modern:
		return s.result(m, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}`+s.taskCapabilities()+`},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"hostile","version":"1"}}}`)
	case m.Method == "initialize" && !s.Modern:
		if _, err := s.tell("/greet", m); err != nil {
			return s.refusal(m, -32603, err.Error())
		}
		return s.result(m, fmt.Sprintf(`{"protocolVersion":%q,"serverInfo":{"name":"hostile","version":"1"},"capabilities":{"tools":{}%s}}`, version, s.taskCapabilities()))
	case m.Method == "tools/list":
		return s.result(m, s.tools(m))
	case m.Method == "ping":
		return s.result(m, `{}`)
	}
	return s.refusal(m, -32601, "no such method")
}

// tools is the list, as the server would have it.
func (s *Server) tools(m *message) string {
	tool := func(in, out string) string {
		t := `{"name":"work","inputSchema":` + in
		if out != "" {
			t += `,"outputSchema":` + out
		}
		if s.Fault.tasks() && !s.Modern {
			t += `,"execution":{"taskSupport":"required"}`
		}
		return t + `},{"name":"verify","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}`
	}
	afar := fmt.Sprintf(`{"$schema":"%[1]s/meta","allOf":[{"$ref":"%[1]s/schema.json"},{"$dynamicRef":"%[1]s/dynamic.json#x"}],"$id":"%[1]s/id"}`, s.Elsewhere)
	const plain = `{"type":"object"}`
	switch s.Fault {
	case BadInputSchema:
		return `{"tools":[` + tool(`{"type":"wish","required":7}`, "") + `]}`
	case BadOutputSchema:
		return `{"tools":[` + tool(plain, `{"type":{"no":"such"},"minimum":"x"}`) + `]}`
	case InputSchemaAfar:
		return `{"tools":[` + tool(afar, "") + `]}`
	case OutputSchemaAfar:
		return `{"tools":[` + tool(plain, afar) + `]}`
	case EndlessTools:
		return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%sx"}`, tool(plain, ""), m.Params.Cursor)
	case HundredThousand:
		var all strings.Builder
		for n := range 100_000 {
			fmt.Fprintf(&all, `{"name":"tool-%d","inputSchema":{"type":"object"}},`, n)
		}
		return `{"tools":[` + all.String() + tool(plain, "") + `]}`
	}
	return `{"tools":[` + tool(plain, "") + `]}`
}
