package bridge_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"junction/router/bridge"
	"junction/router/mcp"
)

func TestARequestThatWasGivenUpNeedsNoAnswerAndNoWordInTheLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	p := newPeer(t, frontHandler{begin: func(ctx context.Context, method string, _ json.RawMessage) func() mcp.Reply {
		return func() mcp.Reply {
			if method == "stays" {
				<-ctx.Done()
			}
			return mcp.Reply{}
		}
	}}, &bridge.FrontOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"stays"}` + "\n" + `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n")
	p.send(`{"jsonrpc":"2.0","id":2,"method":"none"}` + "\n")
	p.expect(`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"the answer has no JSON form"}}`)
	p.to.Close()
	if err := <-p.served; err != nil { // which waits for both
		t.Fatal(err)
	}
	if got := log.String(); strings.Count(got, "no JSON form") != 1 || strings.Contains(got, "stays") {
		t.Errorf("the log says\n%s", got)
	}
}
