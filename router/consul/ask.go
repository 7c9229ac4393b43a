package consul

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// question is one read of Consul.
type question struct {
	path       string // below /v1/
	query      url.Values
	about      string        // for people, as "the instances of service x"
	index      uint64        // of the last answer; 0: answer at once
	wait       time.Duration // for a change of it
	consistent bool          // the leader makes sure that it still is one
}

// answer is what Consul says, with what it says of it.
type answer struct {
	body   []byte // nil: nothing changed since the question's index
	index  uint64 // never 0
	hidden bool   // something was left out that the token may not read
	deny   bool   // what no token allows is denied, and left out without a word
	stream bool   // it is of a stream of changes, whose indexes are its own
}

// reader asks questions through the door. It is safe for concurrent use.
type reader struct {
	http    *http.Client
	door    *door
	shown   string // the address, for people
	dc      string
	timeout time.Duration
}

func newReader(o Options) (*reader, error) {
	d, err := newDoor(o)
	if err != nil {
		return nil, err
	}
	return &reader{http: d.http(), door: d, shown: o.shown(), dc: o.Datacenter, timeout: o.timeout()}, nil
}

// ask gives the question its time: what it may wait, the sixteenth that Consul
// adds, and the time of a request. Errors are for people and hold no token.
func (r *reader) ask(ctx context.Context, q question) (answer, error) {
	limit := r.timeout
	if q.index > 0 {
		limit += q.wait + q.wait/16
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.address(q), http.NoBody)
	if err != nil {
		return answer{}, fmt.Errorf("consul at %s: read %s: %w", r.shown, q.about, err)
	}
	resp, err := r.http.Do(req)
	if err != nil {
		return answer{}, r.failed(ctx, q, limit, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return answer{}, r.refused(q, resp)
	}
	a, err := r.heading(q, resp.Header)
	if err != nil {
		return answer{}, err
	}
	if a.index == q.index {
		// Nothing changed: it is read only so that the connection can be kept.
		if _, err := io.Copy(io.Discard, io.LimitReader(resp.Body, maxAnswer)); err != nil {
			return answer{}, r.failed(ctx, q, limit, err)
		}
		return a, nil
	}
	var body bytes.Buffer
	if resp.ContentLength > 0 && resp.ContentLength <= maxAnswer {
		body.Grow(int(resp.ContentLength) + bytes.MinRead)
	}
	n, err := body.ReadFrom(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer{}, r.failed(ctx, q, limit, err)
	case n > maxAnswer:
		return answer{}, fmt.Errorf("consul at %s: read %s: the answer is above %d MiB", r.shown, q.about, maxAnswer>>20)
	}
	a.body = body.Bytes()
	return a, nil
}

func (r *reader) address(q question) string {
	query := url.Values{}
	for name, values := range q.query {
		query[name] = values
	}
	if r.dc != "" {
		query.Set("dc", r.dc)
	}
	if q.consistent {
		query.Set("consistent", "")
	}
	if q.index > 0 {
		query.Set("index", strconv.FormatUint(q.index, 10))
		query.Set("wait", q.wait.String())
	}
	u := *r.door.base
	u.Path = strings.TrimSuffix(u.Path, "/") + "/v1/" + q.path
	u.RawQuery = query.Encode()
	return u.String()
}

// heading reads the headers that every answer of Consul has.
func (r *reader) heading(q question, h http.Header) (answer, error) {
	index, err := strconv.ParseUint(h.Get("X-Consul-Index"), 10, 64)
	if err != nil {
		return answer{}, fmt.Errorf("%s answers, but not as Consul does (no X-Consul-Index) to the question for %s: is it the address of Consul's HTTP interface, port 8500 unless changed?", r.shown, q.about)
	}
	// A stream of changes, which answers most waits, knows of no leader even where
	// there is one.
	stream := h.Get("X-Consul-Query-Backend") == "streaming"
	if h.Get("X-Consul-KnownLeader") == "false" && !stream {
		return answer{}, fmt.Errorf("consul at %s: read %s: it has no leader, so what it says may be long past; look at its servers", r.shown, q.about)
	}
	return answer{
		index:  max(index, 1), // 0 would be answered at once, for ever
		hidden: h.Get("X-Consul-Results-Filtered-By-ACLs") == "true",
		deny:   h.Get("X-Consul-Default-ACL-Policy") == "deny",
		stream: stream,
	}, nil
}

var errSlow = errors.New("no answer in time")

// failed tells a request that got no answer.
func (r *reader) failed(ctx context.Context, q question, limit time.Duration, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err // the rest of it is the address again
	}
	var op *net.OpError
	var untrusted *tls.CertificateVerificationError
	var plain tls.RecordHeaderError
	var file *os.PathError
	switch {
	case context.Cause(ctx) == errSlow:
		return fmt.Errorf("consul at %s did not answer within %s the question for %s: %w; is it overloaded or hung?", r.shown, limit, q.about, errSlow)
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &untrusted):
		return fmt.Errorf("consul at %s shows a certificate that is not trusted: %w; name the file of who signed it, or the server name it is valid for", r.shown, err)
	case errors.As(err, &plain), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		return fmt.Errorf("consul at %s does not speak TLS there: %w; write http://, or the port of its https interface", r.shown, err)
	case errors.As(err, &file):
		return fmt.Errorf("consul at %s was not asked for %s: %w", r.shown, q.about, err)
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("consul at %s cannot be reached to read %s: %w; start the agent, or correct the address", r.shown, q.about, err)
	}
	return fmt.Errorf("consul at %s: the connection broke while it was asked for %s: %w; has the agent stopped?", r.shown, q.about, err)
}

// refused tells a status that is none of success.
func (r *reader) refused(q question, resp *http.Response) error {
	text, err := io.ReadAll(resp.Body) // fit for people already, see [door.RoundTrip]
	said := string(text)
	if err != nil || said == "" {
		said = http.StatusText(resp.StatusCode)
	}
	hint := ""
	switch s := resp.StatusCode; {
	case s == http.StatusForbidden || s == http.StatusUnauthorized:
		hint = "; give it a token that exists and has service:read and node:read"
	case s == http.StatusTooManyRequests:
		hint = "; raise limits.http_max_conns_per_client in the agent's configuration"
	case s == http.StatusNotFound || s >= 300 && s < 400:
		hint = "; is it the address of Consul's HTTP interface, port 8500 unless changed?"
	case s == http.StatusBadRequest && r.door.base.Scheme == "http":
		hint = "; does it want https?"
	case s >= http.StatusInternalServerError:
		hint = "; look at the agent's log"
	}
	return fmt.Errorf("consul at %s refuses to say %s: status %d (%s)%s", r.shown, q.about, resp.StatusCode, said, hint)
}

// decode reads an answer's body into v.
func (r *reader) decode(q question, a answer, v any) error {
	err := json.Unmarshal(a.body, v)
	if err == nil && bytes.Equal(bytes.TrimSpace(a.body), []byte("null")) {
		err = errors.New("it is null, which is no empty list")
	}
	if err != nil {
		return fmt.Errorf("consul at %s: the answer to the question for %s cannot be read: %w", r.shown, q.about, err)
	}
	return nil
}
