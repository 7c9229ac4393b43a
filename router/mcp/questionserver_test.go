package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router"
)

// questioner is a server whose tools ask in the middle of a call: in the later
// era with a result that is none, in the earlier one with a request of its own.
type questioner struct {
	modern bool

	mu      sync.Mutex
	calls   int
	told    json.RawMessage            // the client's capabilities, of the earlier era's handshake
	asked   int                        // questions of its own
	waiting map[string]chan []byte     // for the answers to them, by id
	answers map[string]json.RawMessage // that came, by id
	works   int                        // steps of its task after the answer
	steps   int                        // done
}

const question = `{"mode":"form","message":"Where to?","requestedSchema":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}}`

const elicit = `{"method":"elicitation/create","params":` + question + `}`

// state holds what must come back as it was.
const askedState = `"<s>&é\u2028 \"1\" "`

func echoing(params json.RawMessage) string {
	return `{"content":[{"type":"text","text":` + encode(string(params)) + `}]}`
}

// answerModern is the answer to a call in the later era.
func (s *questioner) answerModern(name string, params json.RawMessage) string {
	var p struct {
		State     *string         `json:"requestState"`
		Responses json.RawMessage `json:"inputResponses"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		panic(err)
	}
	s.mu.Lock()
	s.calls++
	n := s.calls
	s.mu.Unlock()
	asks := func(members string) string { return `{"resultType":"input_required",` + members + `}` }
	switch {
	case name == "sheds" && n < 4:
		return asks(fmt.Sprintf(`"requestState":"%d"`, n))
	case name == "sheds always":
		return asks(`"requestState":"again"`)
	case p.State != nil || p.Responses != nil:
	case name == "asks":
		return asks(`"inputRequests":{"where":` + elicit + `},"requestState":` + askedState)
	case name == "asks statelessly":
		return asks(`"inputRequests":{"where":` + elicit + `}`)
	case name == "samples":
		return asks(`"inputRequests":{"capital":{"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}}`)
	case name == "roots":
		return asks(`"inputRequests":{"r":{"method":"roots/list"}},"requestState":"x"`)
	case name == "asks nothing":
		return asks(`"_meta":{}`)
	case name == "asks nonsense":
		return asks(`"inputRequests":{"where":7}`)
	case name == "asks a lot":
		return asks(`"requestState":"` + strings.Repeat("x", 2<<20) + `"`)
	case name == "is odd":
		return `{"resultType":"later","content":[]}`
	}
	return echoing(params)
}

// answerLegacy is the answer to a call in the earlier era; send sends a request
// and returns where its answer comes, tell a notification.
func (s *questioner) answerLegacy(name string, send func(method, params string) <-chan []byte, tell func(method, params string)) string {
	ask := func(method, params string) []byte { return <-send(method, params) }
	switch name {
	case "asks":
		return echoing(ask("elicitation/create", question))
	case "asks of the task":
		defer func() { // and works
			for more := true; more; {
				<-time.After(100 * time.Millisecond)
				s.mu.Lock()
				s.steps++
				more = s.steps < s.works
				s.mu.Unlock()
			}
		}()
		return echoing(ask("elicitation/create", `{"message":"Where to?","_meta":{"io.modelcontextprotocol/related-task":{"taskId":"t-1"}}}`))
	case "asks to open":
		return echoing(ask("elicitation/create", `{"mode":"url","message":"Log in","url":"https://example.com/in","elicitationId":"e1"}`))
	case "asks oddly":
		return echoing(ask("elicitation/create", `{"mode":"url","message":"Log in","url":"javascript:alert(1)"}`))
	case "samples":
		return echoing(ask("sampling/createMessage", `{"messages":[],"maxTokens":1}`))
	case "roots":
		return echoing(ask("roots/list", `{}`))
	case "pings":
		return echoing(ask("ping", `{}`))
	case "asks twice":
		var both sync.WaitGroup
		var got [2][]byte
		for i := range got {
			both.Go(func() { got[i] = ask("elicitation/create", question) })
		}
		both.Wait()
		return echoing(bytes.Join(got[:], []byte(" ")))
	case "asks and goes":
		send("elicitation/create", question)
		return echoing([]byte("gone"))
	case "asks as a task and tells":
		s.mu.Lock()
		s.answers["none"] = nil // nothing is asked, it has ended
		s.mu.Unlock()
		time.AfterFunc(200*time.Millisecond, func() {
			tell("notifications/tasks/status", `{"taskId":"t-1","status":"completed","ttl":60000}`)
		})
		return `{"task":{"taskId":"t-1","status":"working","ttl":60000,"pollInterval":25000}}`
	case "asks as a task", "asks as a task and works":
		if name != "asks as a task" {
			s.mu.Lock()
			s.works = 12
			s.mu.Unlock()
		}
		return `{"task":{"taskId":"t-1","status":"working","ttl":60000,"pollInterval":50}}`
	case "was told":
		s.mu.Lock()
		defer s.mu.Unlock()
		return echoing(s.told)
	}
	return echoing([]byte("?"))
}

// answer answers a request, and takes in what answers one of its own.
func (s *questioner) answer(body []byte, ask func(id, method, params string)) (said string) {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		panic(err)
	}
	if m.Method == "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		var id string
		if err := json.Unmarshal(m.ID, &id); err != nil {
			panic(err)
		}
		var r struct{ Result, Error json.RawMessage }
		if err := json.Unmarshal(body, &r); err != nil {
			panic(err)
		}
		s.answers[id] = append(r.Result, r.Error...)
		if w := s.waiting[id]; w != nil {
			w <- s.answers[id]
		}
		return ""
	}
	if len(m.ID) == 0 {
		return ""
	}
	var result string
	switch m.Method {
	case "server/discover":
		if !s.modern {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
		}
		result = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"q","version":"1"}}}`
	case "initialize":
		var p struct{ Capabilities json.RawMessage }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			panic(err)
		}
		s.mu.Lock()
		s.told = p.Capabilities
		s.mu.Unlock()
		result = `{"protocolVersion":"2025-11-25","serverInfo":{"name":"q","version":"1"},"capabilities":{"tools":{},"tasks":{"requests":{"tools":{"call":{}}}}}}`
	case "tools/list":
		var tools []string
		for _, name := range strings.Split("asks,asks statelessly,asks to open,asks oddly,asks twice,asks and goes,asks nothing,asks nonsense,asks a lot,samples,roots,pings,sheds,sheds always,is odd,was told,asks as a task,asks as a task and works,asks as a task and tells", ",") {
			tools = append(tools, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"},"execution":{"taskSupport":%q}}`, name,
				map[bool]string{true: "required", false: "forbidden"}[strings.HasPrefix(name, "asks as a task")]))
		}
		result = `{"tools":[` + strings.Join(tools, ",") + `]}`
	case "tasks/get":
		s.mu.Lock()
		status := "completed"
		switch {
		case len(s.answers) == 0:
			status = "input_required"
		case s.steps < s.works:
			status = "working"
		}
		result = fmt.Sprintf(`{"taskId":"t-1","status":%q,"statusMessage":"step %d","ttl":60000,"pollInterval":50}`, status, s.steps)
		s.mu.Unlock()
	case "tasks/result":
		s.mu.Lock()
		_, none := s.answers["none"]
		s.mu.Unlock()
		if none {
			result = echoing([]byte("told"))
			break
		}
		result = s.answerLegacy("asks of the task", s.sender(ask), nil)
	case "tools/call":
		var p struct{ Name string }
		if err := json.Unmarshal(m.Params, &p); err != nil {
			panic(err)
		}
		if s.modern {
			result = s.answerModern(p.Name, m.Params)
			break
		}
		result = s.answerLegacy(p.Name, s.sender(ask), func(method, params string) { ask("", method, params) })
	default:
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`, m.ID)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID, result)
}

// sender numbers requests of the server's own, and keeps where their answers go.
func (s *questioner) sender(ask func(id, method, params string)) func(method, params string) <-chan []byte {
	return func(method, params string) <-chan []byte {
		s.mu.Lock()
		s.asked++
		id, got := fmt.Sprintf("q%d", s.asked), make(chan []byte, 1)
		s.waiting[id] = got
		s.mu.Unlock()
		ask(id, method, params)
		return got
	}
}

func newQuestioner(modern bool) *questioner {
	return &questioner{modern: modern, waiting: map[string]chan []byte{}, answers: map[string]json.RawMessage{}}
}

// request is a notification when it has no id.
func request(id, method, params string) string {
	if id == "" {
		return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%q,"method":%q,"params":%s}`, id, method, params)
}

// ServeHTTP asks on the stream of the call's answer.
func (s *questioner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := peek(r)
	var lock sync.Mutex
	asked := false
	event := func(data string) {
		lock.Lock()
		defer lock.Unlock()
		if !asked {
			asked = true
			w.Header().Set("Content-Type", "text/event-stream")
		}
		fmt.Fprintf(w, "event: message\ndata: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
	if body == "" {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	said := s.answer([]byte(body), func(id, method, params string) { event(request(id, method, params)) })
	switch {
	case asked:
		event(said)
	case said == "":
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, said) //nolint:errcheck // the client has gone
	}
}

// serveQuestions plays the server over a child's standard streams.
func serveQuestions(modern bool) int {
	s := newQuestioner(modern)
	in := bufio.NewReader(os.Stdin)
	var lock sync.Mutex
	say := func(line string) {
		lock.Lock()
		defer lock.Unlock()
		io.WriteString(os.Stdout, line+"\n") //nolint:errcheck // nobody is there to be told
	}
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return 0
		}
		go func() {
			if said := s.answer(line, func(id, method, params string) { say(request(id, method, params)) }); said != "" {
				say(said)
			}
		}()
	}
}

// eachQuestioner runs a test over both transports in one era.
func eachQuestioner(t *testing.T, modern bool, test func(t *testing.T, s *router.Server)) {
	era := map[bool]string{true: "modern", false: "legacy"}[modern]
	t.Run("stdio", func(t *testing.T) {
		t.Parallel()
		test(t, stdioServer(t, "questions, "+era))
	})
	t.Run("http", func(t *testing.T) {
		t.Parallel()
		s, _ := raw(t, newQuestioner(modern))
		test(t, s)
	})
}
