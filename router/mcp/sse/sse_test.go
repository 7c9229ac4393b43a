package sse_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"junction/router/mcp/sse"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wire is an answer as it left, each flushed part with the seconds since the start.
type wire struct {
	mu      sync.Mutex
	start   time.Time
	header  http.Header
	status  int
	pending string
	parts   []string
	late    bool // nothing may be written any more
	broken  bool
}

func (w *wire) Header() http.Header { return w.header }

func (w *wire) WriteHeader(status int) { w.status = status }

func (w *wire) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.late {
		w.broken = true
	}
	w.pending += string(p)
	return len(p), nil
}

func (w *wire) Flush() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts = append(w.parts, time.Since(w.start).String()+" "+w.pending)
	w.pending = ""
}

func (w *wire) end() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = true
	return w.parts
}

// serve runs a handler in a bubble and returns what left, and when.
func serve(t *testing.T, o *sse.Options, h func(w http.ResponseWriter, flush func())) (parts []string, header http.Header, status int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &wire{start: time.Now(), header: http.Header{}}
		sse.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			h(w, w.(http.Flusher).Flush)
		}), o).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/mcp", nil))
		parts, header, status = w.end(), w.header, w.status
		<-time.After(time.Hour) // of the bubble: nothing comes after the end
		if w.broken {
			t.Error("something was written after the handler had returned")
		}
	})
	return parts, header, status
}

func TestAnEventStreamSaysThatItIsOneAndStaysAlive(t *testing.T) {
	t.Parallel()
	parts, header, status := serve(t, nil, func(w http.ResponseWriter, flush func()) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Cache-Control", "max-age=60")
		w.WriteHeader(http.StatusOK)
		flush()
		<-time.After(31 * time.Second)
		io.WriteString(w, "data: one\n\n")
		flush()
		<-time.After(14 * time.Second)
		io.WriteString(w, "data: two\r\n\r\n")
		flush()
		<-time.After(16 * time.Second)
	})
	want := []string{"0s ", "15s :\n\n", "30s :\n\n", "31s data: one\n\n", "45s data: two\r\n\r\n", "1m0s :\n\n"}
	if diff := cmp.Diff(want, parts); diff != "" {
		t.Error(diff)
	}
	if status != http.StatusOK || header.Get("Cache-Control") != "no-cache" || header.Get("X-Accel-Buffering") != "no" || header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("status %d, %v", status, header)
	}
}

func TestNoCommentFallsIntoAnEvent(t *testing.T) {
	t.Parallel()
	for _, half := range []string{"data: on", "data: one\n", "event: x\r\ndata: one\r\n", "id: 7\ndata", "\r\n"} {
		parts, _, _ := serve(t, &sse.Options{Every: time.Second}, func(w http.ResponseWriter, flush func()) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			io.WriteString(w, half)
			flush()
			<-time.After(10*time.Second + time.Millisecond)
			io.WriteString(w, "e\n\n")
			flush()
			<-time.After(1500 * time.Millisecond)
		})
		text := strings.Join(parts, "|")
		if strings.Count(text, ":\n\n") != 1 || !strings.HasSuffix(text, "s :\n\n") || len(parts) != 3 {
			t.Errorf("after %q: %q", half, parts)
		}
	}
}

func TestOtherAnswersAreLeftAlone(t *testing.T) {
	t.Parallel()
	parts, header, status := serve(t, &sse.Options{Every: time.Second}, func(w http.ResponseWriter, flush func()) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusAccepted)
		flush()
		<-time.After(time.Minute)
		io.WriteString(w, "{}")
		flush()
	})
	if diff := cmp.Diff([]string{"0s ", "1m0s {}"}, parts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(http.Header{"Content-Type": {"application/json"}}, header); diff != "" || status != http.StatusAccepted {
		t.Errorf("status %d, %s", status, diff)
	}
}

// plain is a writer that cannot be flushed.
type plain struct{ http.ResponseWriter }

func TestWithoutFlushingThereIsNoStream(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	sse.Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if _, can := w.(http.Flusher); can {
			t.Error("it promises to flush")
		}
		w.WriteHeader(http.StatusTeapot)
	}), nil).ServeHTTP(plain{w}, httptest.NewRequest(http.MethodPost, "/mcp", nil))
	if w.Code != http.StatusTeapot {
		t.Error(w.Code)
	}
}

func TestAWriteWithoutAHeaderBeginsTheAnswer(t *testing.T) {
	t.Parallel()
	_, header, status := serve(t, nil, func(w http.ResponseWriter, flush func()) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: x\n\n")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	})
	if status != http.StatusOK || header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("status %d, %v", status, header)
	}
}
