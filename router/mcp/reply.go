package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/mark3labs/mcp-go/client/transport"
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
		return l.reply(ctx, c.server.Dial.URL, c.version, data, http.Header{})
	}
	return errors.New("the transport carries no answers")
}

// reply posts a message that has no answer but a status. It changes header.
func (l *httpLink) reply(ctx context.Context, to, version string, data []byte, header http.Header) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(data))
	if err != nil {
		return errors.New("the url cannot be used")
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	l.present(req, version)
	client := &http.Client{Transport: l.hop, CheckRedirect: l.hop.redirect}
	resp, err := client.Do(req)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err // without the URL, which may hold a credential
		}
		return err
	}
	resp.Body.Close() //nolint:errcheck // nothing in it matters
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("HTTP status %d", resp.StatusCode)
	}
	return nil
}

// present adds what every request after the handshake carries.
func (l *httpLink) present(req *http.Request, version string) {
	req.Header.Set(transport.HeaderKeyProtocolVersion, version)
	if id := l.GetSessionId(); id != "" {
		req.Header.Set(transport.HeaderKeySessionID, id)
	}
}
