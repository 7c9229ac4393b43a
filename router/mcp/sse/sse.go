package sse

import (
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Interval is the default of Options.Every.
const Interval = 15 * time.Second

// Options tune a handler; the zero value of each field is its default.
type Options struct {
	// Every is how long a stream may be quiet before a comment line is sent: 15 s.
	Every time.Duration
}

// comment is a line that clients ignore; the empty one ends it like an event, so that
// who counts the bytes of one event counts from zero again.
const comment = ":\n\n"

// Handler serves next and looks after the event streams it answers with. Where the
// answer cannot be flushed there is no stream, and next is served as it is.
func Handler(next http.Handler, o *Options) http.Handler {
	every := Interval
	if o != nil && o.Every > 0 {
		every = o.Every
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		flusher, ok := w.(http.Flusher)
		if !ok {
			next.ServeHTTP(w, r)
			return
		}
		s := &stream{ResponseWriter: w, flusher: flusher, every: every}
		defer s.close() // a timer must not write once the answer is over
		next.ServeHTTP(s, r)
	})
}

// stream is an answer that may become an event stream. mu orders what the handler and
// the timer write.
type stream struct {
	http.ResponseWriter
	flusher http.Flusher
	every   time.Duration

	mu     sync.Mutex
	begun  bool   // the header is written
	tail   string // the last bytes written, at most 3
	sent   time.Time
	timer  *time.Timer // nil: no event stream
	closed bool
}

// WriteHeader adds to the header of an event stream.
func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(status)
}

// begin writes the header; mu is held.
func (s *stream) begin(status int) {
	if informational := status >= 100 && status < 200; !informational && !s.begun {
		s.begun = true
		h := s.Header()
		media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
		if err == nil && media == "text/event-stream" && !s.closed {
			h.Set("Cache-Control", "no-cache")
			h.Set("X-Accel-Buffering", "no")
			s.sent = time.Now()
			s.timer = time.AfterFunc(s.every, s.quiet)
		}
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write passes on a part of the answer.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begin(http.StatusOK)
	}
	n, err := s.ResponseWriter.Write(p)
	s.tail += string(p[max(0, n-3):n])
	s.tail = s.tail[max(0, len(s.tail)-3):]
	s.sent = time.Now()
	return n, err
}

// Flush implements [http.Flusher].
func (s *stream) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.begin(http.StatusOK)
	}
	s.flusher.Flush()
}

// Unwrap is for [http.ResponseController].
func (s *stream) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// quiet runs when the timer fires, and sends a comment where nothing else was sent
// meanwhile. In the middle of an event it waits for its end.
func (s *stream) quiet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	next := s.every - time.Since(s.sent)
	if next <= 0 {
		next = s.every
		if s.between() {
			if _, err := s.ResponseWriter.Write([]byte(comment)); err != nil {
				return // nobody is left to hear it, which the handler finds out by itself
			}
			s.flusher.Flush()
			s.sent = time.Now()
		}
	}
	s.timer.Reset(next)
}

// between reports whether an event has ended and none has begun.
func (s *stream) between() bool {
	return s.tail == "" || strings.HasSuffix(s.tail, "\n\n") || strings.HasSuffix(s.tail, "\r\r") || s.tail == "\n\r\n"
}

// close ends the comments; what is being written is waited for.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.timer != nil {
		s.timer.Stop()
	}
}
