package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"
)

// A request that is answered by a JSON document, as nearly all are, is made here:
// without the goroutine and the second reading of the answer that mcp-go takes for
// it. What came instead (an event stream, a refusal, a redirect) is handed to
// mcp-go's own exchange, which finds it where it would send ([origin.RoundTrip]) and
// goes on from there.

// presized is how large an answer may say that it is and get its room at once.
const presized = 64 << 10

var (
	jsonOnly   = []string{"application/json"}
	jsonOrFlow = []string{"application/json, text/event-stream"}
)

// post sends a request and returns what was answered, as mcp-go's SendRequest does.
func (l *httpLink) post(ctx context.Context, ex *exchange, req transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	params, ours := req.Params.(json.RawMessage)
	if ex.greets || !ours {
		return l.StreamableHTTP.SendRequest(ctx, req)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.life, cancel)()
	sent, err := l.request(ctx, req, ex.id, params)
	if err != nil {
		return nil, err
	}
	resp, err := l.hop.RoundTrip(sent)
	if err != nil {
		return nil, err
	}
	if media := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || media != jsonOnly[0] && !strings.HasPrefix(media, jsonOnly[0]+";") {
		if resp.StatusCode < 300 { // else it was read, and may be a redirect that goes on in this context
			// A stream of HTTP/2 may wait at its end for the request's context.
			resp.Body = &begun{resp.Body, cancel}
		}
		ex.begun = resp
		return l.StreamableHTTP.SendRequest(ctx, req)
	}
	defer resp.Body.Close() //nolint:errcheck // only read from
	body, err := whole(resp)
	if err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	return readAnswer(body)
}

// request is the POST of a message, with the headers of every request after the
// handshake.
func (l *httpLink) request(ctx context.Context, req transport.JSONRPCRequest, id int64, params []byte) (*http.Request, error) {
	data, err := encode(strconv.AppendInt(nil, id, 10), req.Method, params)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("the url cannot be used")
	}
	maps.Copy(r.Header, req.Header)
	r.Header["Content-Type"], r.Header["Accept"] = jsonOnly, jsonOrFlow
	l.present(r.Header)
	if u := r.URL.User; u != nil {
		password, _ := u.Password()
		r.SetBasicAuth(u.Username(), password)
	}
	return r, nil
}

// SetProtocolVersion implements [transport.HTTPConnection].
func (l *httpLink) SetProtocolVersion(version string) {
	l.version.Store(version)
	l.StreamableHTTP.SetProtocolVersion(version)
}

// begun is the body of an answer that somebody else reads to its end.
type begun struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *begun) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}

// whole reads an answer; its body is bounded.
func whole(resp *http.Response) ([]byte, error) {
	if n := resp.ContentLength; 0 < n && n <= presized {
		body := make([]byte, n)
		_, err := io.ReadFull(resp.Body, body)
		return body, err
	}
	return io.ReadAll(resp.Body)
}

// readAnswer reads an answer. One of plain form is only taken apart: who asked for the
// result judges it.
func readAnswer(body []byte) (*transport.JSONRPCResponse, error) {
	if id, result, ok := takenApart(body); ok {
		return &transport.JSONRPCResponse{JSONRPC: protocol.JSONRPC_VERSION, ID: protocol.NewRequestId(id), Result: result}, nil
	}
	var resp transport.JSONRPCResponse
	if err := json.NewDecoder(bytes.NewReader(body)).Decode(&resp); err != nil {
		return nil, fmt.Errorf("the answer is no message: %w", err)
	}
	if resp.ID.IsNil() {
		return nil, errors.New("the answer has no id")
	}
	return &resp, nil
}
