package sse_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"junction/router/mcp/sse"
	"junction/router/mcp/sse/nginxtest"
)

// events reads the data of one event after another, comments left out; closed at the
// stream's end.
func events(t *testing.T, resp *http.Response) <-chan string {
	t.Helper()
	c := make(chan string)
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = resp.Body.Close() // the test is over
		for range c {         // nobody takes what comes still
		}
		<-done
	})
	go func() {
		defer close(done)
		defer close(c)
		lines := bufio.NewScanner(resp.Body)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				c <- data
			}
		}
	}()
	return c
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(client.CloseIdleConnections)
	resp, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func await(t *testing.T, c <-chan string) (event string, ok bool) {
	t.Helper()
	select {
	case event, ok = <-c:
		return event, ok
	case <-time.After(20 * time.Second):
		t.Fatal("nothing comes")
		return "", false
	}
}

// buffering is what nginx does unless it is told otherwise; it speaks HTTP/1.0 to the
// server then, whose answer has no chunks to go by.
const buffering = "proxy_buffering on;"

// The server sends an event only once the one before was received: where the proxy
// holds events back, nothing moves.
func TestThroughNginxEventsArriveAsTheyHappen(t *testing.T) {
	t.Parallel()
	const n = 5
	received := make(chan struct{})
	ts := httptest.NewServer(sse.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range n {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			select {
			case <-received:
			case <-r.Context().Done():
				return
			}
		}
	}), nil))
	t.Cleanup(ts.Close)
	resp := get(t, nginxtest.Start(t, ts.URL, buffering)) //nolint:bodyclose // get does
	if resp.Header.Get("Content-Type") != "text/event-stream" || resp.Header.Get("Cache-Control") != "no-cache" {
		t.Errorf("%v", resp.Header)
	}
	got := events(t, resp)
	for i := range n {
		if event, ok := await(t, got); !ok || event != fmt.Sprint(i) {
			t.Fatalf("event %d: %q, %t", i, event, ok)
		}
		received <- struct{}{}
	}
}

// The difference that the header makes: the same events of a server without it. What
// comes together with the answer's header may go on with that.
func TestThroughNginxEventsOfAServerWithoutTheHeaderArriveInOneBurst(t *testing.T) {
	t.Parallel()
	done := make(chan struct{})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(done)
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 5 {
			fmt.Fprintf(w, "data: %d\n\n", i)
			w.(http.Flusher).Flush()
			select {
			case <-time.After(100 * time.Millisecond):
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(ts.Close)
	got := events(t, get(t, nginxtest.Start(t, ts.URL, buffering))) //nolint:bodyclose // get does
	for i := range 5 {
		if event, ok := await(t, got); !ok || event != fmt.Sprint(i) {
			t.Fatalf("event %d: %q, %t", i, event, ok)
		}
		select {
		case <-done:
		default:
			if i == 0 {
				continue
			}
			t.Fatalf("event %d came before the last was sent: this nginx does not hold events back, and the tests beside this show nothing", i)
		}
	}
}

// quietServer says nothing for much longer than the proxy waits, and then one thing.
func quietServer(t *testing.T, every time.Duration) string {
	t.Helper()
	ts := httptest.NewServer(sse.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		select {
		case <-time.After(5 * time.Second):
			io.WriteString(w, "data: at last\n\n")
		case <-r.Context().Done():
		}
	}), &sse.Options{Every: every}))
	t.Cleanup(ts.Close)
	return ts.URL
}

func TestThroughNginxCommentLinesKeepAQuietStreamAlive(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		every time.Duration
		want  string
	}{
		{"with comment lines", 200 * time.Millisecond, "at last"},
		{"without", time.Hour, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := events(t, get(t, nginxtest.Start(t, quietServer(t, tt.every), "proxy_read_timeout 2s;"))) //nolint:bodyclose // get does
			if event, _ := await(t, got); event != tt.want {
				t.Errorf("%q, want %q", event, tt.want)
			}
		})
	}
}

func TestTheShippedConfigurationStreams(t *testing.T) {
	t.Parallel()
	shipped, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "nginx", "mcp.conf"))
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan struct{})
	ts := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { // without our header
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			io.WriteString(w, "data: x\n\n")
			w.(http.Flusher).Flush()
			select {
			case <-received:
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(ts.Close)
	got := events(t, get(t, nginxtest.Start(t, ts.URL, string(shipped)))) //nolint:bodyclose // get does
	for range 3 {
		if _, ok := await(t, got); !ok {
			t.Fatal("the stream ended")
		}
		received <- struct{}{}
	}
}
