package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/mark3labs/mcp-go/client/transport"
	protocol "github.com/mark3labs/mcp-go/mcp"
)

// reply sends the answer to a request of the server, whenever it is there. (What
// mcp-go sends for us has to be there within 30 s.)
func (c *conn) reply(ctx context.Context, resp *transport.JSONRPCResponse) error {
	data, err := json.Marshal(resp)
	if err != nil {
		return fmt.Errorf("the answer has no JSON form: %w", err)
	}
	switch l := c.link.(type) {
	case *stdio:
		if e := l.enqueue(ctx, &frame{data: append(data, '\n')}); e != nil {
			return e
		}
		return nil
	case *httpLink:
		return l.reply(ctx, data, http.Header{})
	}
	return errors.New("the transport carries no answers")
}

// reply posts a message that has no answer but a status. It changes header.
func (l *httpLink) reply(ctx context.Context, data []byte, header http.Header) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url, bytes.NewReader(data))
	if err != nil {
		return errors.New("the url cannot be used")
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	resp, err := l.ask(req)
	if err != nil {
		return bare(err)
	}
	resp.Body.Close() //nolint:errcheck // nothing in it matters
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	return nil
}

// ask makes one exchange over HTTP after the handshake.
func (l *httpLink) ask(req *http.Request) (*http.Response, error) {
	l.present(req.Header)
	return (&http.Client{Transport: l.hop, CheckRedirect: l.hop.redirect}).Do(req)
}

// present adds what every request after the handshake carries.
func (l *httpLink) present(h http.Header) {
	version, _ := l.version.Load().(string)
	if version != "" {
		h.Set(transport.HeaderKeyProtocolVersion, version)
	}
	if session := l.GetSessionId(); session != "" && !protocol.IsModernProtocol(version) {
		h.Set(transport.HeaderKeySessionID, session)
	}
}
