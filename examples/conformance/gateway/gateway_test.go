package gateway_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/examples/conformance/gateway"
)

// web is a gateway to the test's server.
type web struct {
	t       *testing.T
	at      string
	session string
}

func newWeb(t *testing.T, sessions bool) *web {
	t.Helper()
	g := gateway.New([]string{os.Args[0], playing}, sessions, io.Discard)
	s := httptest.NewServer(g)
	t.Cleanup(func() { s.CloseClientConnections(); s.Close(); g.Close() })
	return &web{t: t, at: s.URL}
}

// do sends a body, with headers by turns of name and value.
func (w *web) do(ctx context.Context, method, body string, headers ...string) *http.Response {
	w.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, w.at, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	if w.session != "" {
		r.Header.Set("Mcp-Session-Id", w.session)
	}
	for i := 0; i < len(headers); i += 2 {
		if r.Header.Set(headers[i], headers[i+1]); headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp
}

// status is that of an answer without a body.
func (w *web) status(method, body string) int {
	w.t.Helper()
	resp := w.do(w.t.Context(), method, body)
	defer resp.Body.Close()
	return resp.StatusCode
}

// post sends a request and returns what comes, to the end of its stream.
func (w *web) post(id, method, params string, headers ...string) (status int, messages []string) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	resp := w.do(ctx, http.MethodPost, request(id, method, params), append([]string{"Mcp-Method", method}, headers...)...)
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Errorf("%s: %v", method, err)
	}
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		return resp.StatusCode, []string{string(all)}
	}
	for line := range strings.Lines(string(all)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			messages = append(messages, strings.TrimSpace(data))
		}
	}
	return resp.StatusCode, messages
}

func request(id, method, params string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`
}

// open begins another session.
func (w *web) open() {
	w.t.Helper()
	w.session = ""
	resp := w.do(w.t.Context(), http.MethodPost, request("0", "initialize", "{}"))
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	if w.session = resp.Header.Get("Mcp-Session-Id"); w.session == "" {
		w.t.Fatalf("no session: %s", resp.Status)
	}
}

func (w *web) expect(want string, got []string) {
	w.t.Helper()
	if s := strings.Join(got, "\n"); s != want {
		w.t.Errorf("got\n%s\nwant\n%s", s, want)
	}
}

// next is the next message of a stream.
func next(t *testing.T, stream *bufio.Reader) string {
	t.Helper()
	for {
		line, err := stream.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			return strings.TrimSpace(data)
		}
	}
}

func TestASessionIsAProcessFromItsHandshakeToItsEnd(t *testing.T) {
	t.Parallel()
	w := newWeb(t, true)
	if status, _ := w.post("1", "pid", "{}"); status != http.StatusBadRequest {
		t.Errorf("without a session: status %d", status)
	}
	w.open()
	first := w.session
	_, one := w.post("1", "pid", "{}")
	_, same := w.post("1", "pid", "{}")
	w.open()
	_, other := w.post("1", "pid", "{}")
	if one[0] != same[0] || one[0] == other[0] {
		t.Errorf("processes: %s and %s of a session, %s of another", one, same, other)
	}
	if status := w.status(http.MethodDelete, ""); status != http.StatusNoContent {
		t.Errorf("the end: status %d", status)
	}
	if status, _ := w.post("1", "pid", "{}"); status != http.StatusNotFound {
		t.Errorf("after the end: status %d", status)
	}
	w.session = first
	if _, still := w.post("1", "pid", "{}"); still[0] != one[0] {
		t.Errorf("the first session is now at %s", still)
	}
}

func TestClientsThatChooseOneIdGetTheirOwnAnswersFromOneProcess(t *testing.T) {
	t.Parallel()
	w := newWeb(t, false)
	var both sync.WaitGroup
	for _, name := range []string{"a", "b"} {
		both.Go(func() {
			_, got := w.post(`"x"`, "pair", `{"name":"`+name+`"}`)
			w.expect(`{"id":"x","jsonrpc":"2.0","result":"`+name+`"}`, got)
		})
	}
	both.Wait()
}

func TestAMessagePassesAsItIs(t *testing.T) {
	t.Parallel()
	w := newWeb(t, false)
	_, got := w.post("7", "echo", `{"n":1.50,"big":12345678901234567890,"t":"<é>","_meta":{"k/v":[ ]}}`)
	w.expect(`{"id":7,"jsonrpc":"2.0","result":{"id":1,"jsonrpc":"2.0","method":"echo","params":{"n":1.50,"big":12345678901234567890,"t":"<é>","_meta":{"k/v":[]}}}}`, got)
}

func TestWhatBelongsToARequestComesOnItsStreamUnderTheClientsToken(t *testing.T) {
	t.Parallel()
	for _, sessions := range []bool{true, false} {
		w := newWeb(t, sessions)
		if sessions {
			w.open()
		}
		_, got := w.post("7", "tell", `{"_meta":{"progressToken":"mine"}}`)
		w.expect(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":1.50,"progressToken":"mine"}}
{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"<&>"}}
{"id":7,"jsonrpc":"2.0","result":{}}`, got)
	}
}

func TestAQuestionComesOnTheRequestsStreamAndItsAnswerGoesBack(t *testing.T) {
	t.Parallel()
	w := newWeb(t, true)
	w.open()
	resp := w.do(t.Context(), http.MethodPost, request("7", "ask", "{}"))
	defer resp.Body.Close()
	stream := bufio.NewReader(resp.Body)
	w.expect(`{"id":"q-1","jsonrpc":"2.0","method":"sampling/createMessage","params":{}}`, []string{next(t, stream)})
	if status := w.status(http.MethodPost, `{"jsonrpc":"2.0","id":"q-1","result":{"text":"yes"}}`); status != http.StatusAccepted {
		t.Errorf("the answer: status %d", status)
	}
	w.expect(`{"id":7,"jsonrpc":"2.0","result":{"said":{"text":"yes"}}}`, []string{next(t, stream)})
}

func TestWhatBelongsToNoRequestComesOnTheStreamThatIsOpenForIt(t *testing.T) {
	t.Parallel()
	w := newWeb(t, true)
	w.open()
	_, got := w.post("7", "change", "{}")
	w.expect(`{"id":7,"jsonrpc":"2.0","result":{}}`, got)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	resp := w.do(ctx, http.MethodGet, "")
	defer resp.Body.Close()
	w.expect(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`, []string{next(t, bufio.NewReader(resp.Body))})
}

func TestASubscriptionHasItsClientsIdAndEndsWithItsStream(t *testing.T) {
	t.Parallel()
	w := newWeb(t, false)
	ctx, hangUp := context.WithCancel(t.Context())
	resp := w.do(ctx, http.MethodPost, request(`"s"`, "subscriptions/listen", "{}"), "Mcp-Method", "subscriptions/listen")
	defer resp.Body.Close()
	w.expect(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"}}}`,
		[]string{next(t, bufio.NewReader(resp.Body))})
	hangUp()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for limit := time.After(20 * time.Second); ; {
		if _, got := w.post("1", "cancels", "{}"); strings.Contains(got[0], `"result":1`) {
			return
		}
		select {
		case <-look.C:
		case <-limit:
			t.Fatal("the server was not told")
		}
	}
}

func TestARequestWhoseServerEndsIsAnsweredAllTheSame(t *testing.T) {
	t.Parallel()
	w := newWeb(t, true)
	w.open()
	for range 2 { // the session stays without one
		if status, got := w.post("7", "die", "{}"); status != http.StatusBadGateway || !strings.Contains(got[0], `"code":-32603`) {
			t.Errorf("status %d: %s", status, got)
		}
	}
}

func TestStatusesAndHeadersWithoutSessionsAreThoseOfTheProtocol(t *testing.T) {
	t.Parallel()
	w := newWeb(t, false)
	const whole = `"_meta":{"io.modelcontextprotocol/protocolVersion":"v","io.modelcontextprotocol/clientCapabilities":{}}`
	w.post("1", "tools/list", "{}") // which tells of the tool's header
	for name, tc := range map[string]struct {
		method, params string
		headers        []string
		want           int
	}{
		"unknown method":              {"fail", `{"code":-32601}`, nil, 404},
		"unsupported version":         {"fail", `{"code":-32022}`, nil, 400},
		"invalid, and without meta":   {"fail", `{"code":-32602}`, nil, 400},
		"invalid":                     {"fail", `{"code":-32602,` + whole + `}`, []string{"Mcp-Protocol-Version", "v"}, 200},
		"any other error":             {"fail", `{"code":-31001}`, nil, 200},
		"another version":             {"echo", `{` + whole + `}`, []string{"Mcp-Protocol-Version", "w"}, 400},
		"another method":              {"echo", `{}`, []string{"Mcp-Method", "ping"}, 400},
		"another tool":                {"tools/call", `{"name":"t"}`, []string{"Mcp-Name", "u"}, 400},
		"that tool, blanks around it": {"tools/call", `{"name":"t"}`, []string{"Mcp-Name", " t "}, 200},
		"argument not in its header":  {"tools/call", `{"name":"t","arguments":{"a":"x"}}`, []string{"Mcp-Name", "t"}, 400},
		"argument in its header":      {"tools/call", `{"name":"t","arguments":{"a":"é","b":1}}`, []string{"Mcp-Name", "t", "Mcp-Param-A", "=?base64?w6k=?="}, 200},
		"base64 that is none":         {"tools/call", `{"name":"t","arguments":{"a":"é"}}`, []string{"Mcp-Name", "t", "Mcp-Param-A", "=?base64?w6k?="}, 400},
		"a number in its header":      {"tools/call", `{"name":"t","arguments":{"a":7}}`, []string{"Mcp-Name", "t", "Mcp-Param-A", "7"}, 200},
		"another machine":             {"echo", `{}`, []string{"Host", "evil.example.com"}, 403},
		"a page from elsewhere":       {"echo", `{}`, []string{"Origin", "http://evil.example.com"}, 403},
		"a page from here":            {"echo", `{}`, []string{"Origin", "http://localhost:1"}, 200},
		"this machine":                {"echo", `{}`, []string{"Host", "localhost:80"}, 200},
	} {
		if status, got := w.post("1", tc.method, tc.params, tc.headers...); status != tc.want {
			t.Errorf("%s: status %d, want %d: %s", name, status, tc.want, got)
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		if status := w.status(method, ""); status != http.StatusMethodNotAllowed {
			t.Errorf("%s: status %d", method, status)
		}
	}
}
