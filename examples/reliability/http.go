package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"junction/router"
)

// overHTTP opens the stage as a Streamable HTTP server on loopback.
func (s *stage) overHTTP(context.Context) (router.Dial, func(), error) {
	server := httptest.NewServer(s)
	return router.Dial{URL: server.URL + "/mcp"}, server.Close, nil
}

// ServeHTTP answers a call by an event stream that stays open while the lab wants
// it so, and everything else at once.
func (s *stage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Last-Event-ID") != "" {
		s.mu.Lock()
		s.resumes++
		s.mu.Unlock()
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	var m message
	switch {
	case r.Method == http.MethodDelete: // the end of a session
		return
	case r.Method != http.MethodPost:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case err != nil || json.Unmarshal(body, &m) != nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	case m.Method == "tools/call":
		s.stream(w, r, &m)
		return
	}
	text := s.reply(&m)
	if text == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprint(w, text)
}

// stream is one call: what the lab sends goes out as events. Only this goroutine
// writes.
func (s *stage) stream(w http.ResponseWriter, r *http.Request, m *message) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	flush := func() error { return http.NewResponseController(w).Flush() }
	if flush() != nil {
		return
	}
	type event struct {
		text string
		sent chan error
	}
	events, cut := make(chan event), make(chan struct{})
	c := newScene(m)
	c.hangUp = func() { close(cut) }
	c.send = func(text string) error {
		e := event{text, make(chan error, 1)}
		select {
		case events <- e:
			return <-e.sent
		case <-c.done:
			return http.ErrServerClosed
		}
	}
	go s.open(r.Context(), c)
	for gone := r.Context().Done(); ; {
		select {
		case e := <-events:
			_, err := fmt.Fprintf(w, "event: message\ndata: %s\n\n", e.text)
			if err == nil {
				err = flush()
			}
			e.sent <- err
		case <-gone:
			close(c.closed)
			gone = nil // told once; the lab may still try to send
		case <-cut:
			panic(http.ErrAbortHandler) // breaks the stream off
		case <-c.done:
			return
		}
	}
}
