package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"time"

	"junction/router"
)

var (
	errNoAnswer   = errors.New("the stream ended without an answer")
	errNoMessage  = errors.New("what came is no answer of JSON-RPC")
	errTurnedDown = errors.New("the request was turned down")
)

// A stream that a server of the earlier era ended on purpose, before the answer, is
// asked for again after the time that it named (SEP-1699), else after the first of
// these, and no sooner than the second.
const (
	resumeAfter  = time.Second
	resumeLeast  = 100 * time.Millisecond
	headerLastID = "Last-Event-ID"
)

// overHTTP makes a request over HTTP.
func (w *Wire) overHTTP(ctx context.Context, l *httpLink, ex *exchange, s *sought, data []byte, header http.Header) (Reply, *router.CallError) {
	ex.asked = l.asked
	l.asked.add(ex.id, ex.flight, nil)
	defer func() { l.asked.end(ex.id, ex.flight.settle()) }()
	m, err := w.fetch(ctx, l, s, data, header)
	reply, e := w.judge(l, ex, m, err)
	if e != nil {
		e = sessionSecret(l.GetSessionId()).mask(e)
	}
	return reply, e
}

// judge decides as [httpLink.judge] does, but that an error of the server's own is an
// answer, whatever the status beside it.
func (w *Wire) judge(l *httpLink, ex *exchange, m *envelope, err error) (Reply, *router.CallError) {
	ex.mu.Lock()
	defer ex.mu.Unlock()
	if errors.Is(err, errTurnedDown) || err != nil && redirects(ex.status) { // where to, nobody can read
		if m = ex.ownError(); m == nil {
			return Reply{}, l.turnedDown(ex)
		}
		w.heard.Add(1)
		err = nil
	}
	if e, ok := errors.AsType[*router.CallError](err); ok {
		return Reply{}, e // of what came before the request
	}
	if err != nil {
		e := ex.breakage(err)
		if e.Code == router.OutputInvalid && errors.Is(err, errNoAnswer) {
			e = unknown(router.Transport, "the connection broke before an answer came: "+errNoAnswer.Error(), errNoAnswer)
		}
		if w.life.Err() != nil && ex.flight.settle() == failed {
			e.Message = errClosed.Error()
		}
		return Reply{}, e
	}
	if kind := ex.flight.answered(ex.id); kind != noStray {
		l.asked.tally.add(kind)
		return Reply{}, ex.flight.ended(true)
	}
	return m.reply()
}

// ownError is the server's own answer in the body of a refusal; nil: the status alone
// counts. x is locked. Some servers leave the id out of what they refuse early.
func (x *exchange) ownError() *envelope {
	switch x.status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return nil
	}
	var m envelope
	if x.status < 400 || x.sessionLost() || json.Unmarshal(x.body, &m) != nil || absent(m.Error) || m.Method != "" {
		return nil
	}
	if id, ok := requestID(m.ID); ok && id == x.id {
		return &m
	}
	early := x.status == http.StatusBadRequest || x.status == http.StatusNotFound
	if code := m.details().Code; early && absent(m.ID) && code <= -32000 && code >= -32768 {
		return &m
	}
	return nil
}

// fetch posts a request and reads what answers it.
func (w *Wire) fetch(ctx context.Context, l *httpLink, s *sought, data []byte, header http.Header) (*envelope, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(w.life, cancel)()
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: s.leaves})
	req, err := http.NewRequestWithContext(traced, http.MethodPost, l.url, bytes.NewReader(data))
	if err != nil {
		return nil, notSent(router.Transport, "the url cannot be used", nil)
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := l.ask(req)
	if err != nil {
		return nil, err
	}
	// In this order: HTTP/2 may wait in Close for a stream that only its context ends.
	defer func() { cancel(); resp.Body.Close() }() //nolint:errcheck // only read from
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, errTurnedDown
	}
	switch media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); media {
	case "application/json":
		body, err := whole(resp)
		if err != nil {
			return nil, err
		}
		return w.answerIn(body, l, exchangeOf(ctx).id)
	case "text/event-stream":
		return w.follow(ctx, l, s, resp.Body)
	default:
		return nil, fmt.Errorf("its content type is %s", quote(media))
	}
}

// answerIn reads a message that has to be the answer.
func (w *Wire) answerIn(raw []byte, l *httpLink, id int64) (*envelope, error) {
	var m envelope
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, err
	}
	w.heard.Add(1)
	if m.Method != "" || absent(m.ID) {
		return nil, errNoMessage
	}
	if got, ok := requestID(m.ID); !ok || got != id {
		l.asked.tally.add(WrongID)
		return nil, unknown(router.OutputInvalid, "the answer carries the id of another request", nil)
	}
	return &m, nil
}

// follow reads the stream of a request to its answer.
func (w *Wire) follow(ctx context.Context, l *httpLink, s *sought, body io.Reader) (*envelope, error) {
	stream, spoiled := newEventReader(body), false
	rest := io.NopCloser(body)
	defer func() { rest.Close() }() //nolint:errcheck // only read from
	for {
		raw, err := stream.next()
		switch {
		case errors.Is(err, io.EOF):
			switch {
			case spoiled:
				return nil, errNoMessage // it may have been the answer
			case w.modern || stream.id == "":
				return nil, errNoAnswer
			}
			again, err := w.resume(ctx, l, stream)
			if err != nil {
				return nil, err
			}
			rest.Close() //nolint:errcheck // only read from
			rest = again
			stream.from(rest)
			continue
		case err != nil:
			return nil, err
		}
		var m envelope
		if json.Unmarshal(raw, &m) != nil {
			w.conn.log.Debug("a message on a request's stream cannot be read")
			spoiled = true
			continue
		}
		if m.Method == "" {
			return w.answerIn(raw, l, exchangeOf(ctx).id)
		}
		w.take(&m, s, l)
	}
}

// resume asks for the rest of a stream. The request was made, whatever comes of this.
func (w *Wire) resume(ctx context.Context, l *httpLink, stream *eventReader) (io.ReadCloser, error) {
	wait := time.NewTimer(max(stream.retry, resumeLeast))
	defer wait.Stop()
	select {
	case <-wait.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, l.url, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set(headerLastID, stream.id)
	resp, err := l.ask(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK || !isEventStream(resp) {
		resp.Body.Close() //nolint:errcheck // nothing in it matters
		return nil, unknown(router.Transport, fmt.Sprintf("the rest of the answer's stream is refused: HTTP status %d", resp.StatusCode), nil)
	}
	return resp.Body, nil
}
