package bridge

import (
	"encoding/json"
	"strconv"
	"sync"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
)

// progress passes what a server reports of one request on to the client, under the
// client's own token. It rises, also where the request was made again or the server
// does not keep to that; nothing comes after the answer.
type progress struct {
	tell func(mcp.Notification)

	mu    sync.Mutex
	token json.RawMessage
	last  float64
	some  bool // has been told
	over  bool
}

// report takes a report in: its params but for the token. It does not block.
func (p *progress) report(params json.RawMessage) {
	raw := member(params, "progress")
	at, err := strconv.ParseFloat(string(raw), 64)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil || p.over || p.token == nil || p.some && at <= p.last {
		return
	}
	p.last, p.some = at, true
	p.tell(mcp.Notification{
		Method: string(protocol.MethodNotificationProgress),
		Params: setMember(params, "progressToken", p.token),
	})
}

// turn goes on for another request of the client, which continues this one.
func (p *progress) turn(token json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.token, p.some, p.over = token, false, false
}

// end lets nothing more through: the answer is next.
func (p *progress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
}
