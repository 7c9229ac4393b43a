package review_test

import (
	"fmt"
	"time"

	"junction/router"
	"junction/router/review"
	"junction/state"
)

func ExampleNew() {
	charge := &router.Tool{
		Name:         "charge",
		InputSchema:  []byte(`{"type":"object","properties":{"amount":{},"idempotencyKey":{}}}`),
		OutputSchema: []byte(`{"type":"object"}`),
	}
	in := &router.Inspection{ // as Router.Inspect returns it
		ServerStatus: router.ServerStatus{
			Server:      &router.Server{ID: "billing", Name: "billing", Source: "file", Approval: router.Pinned, Dial: router.Dial{Command: "billing"}},
			Description: &router.Description{Name: "billing", Tools: []router.Tool{*charge}},
		},
		Terms: []router.Terms{{
			Capability: "charge", Name: "charge", Tool: charge, Effect: state.Unsafe, From: router.Declared, MaxConcurrent: 8,
		}},
		Policy: router.Policy{Idle: 30 * time.Second, Max: 5 * time.Minute},
	}
	for _, f := range review.New(in, review.Settings{}).Findings {
		fmt.Printf("%s: %s: %s\n%s\n%s", f.Level, f.Tool, f.Says, f.Fix, f.Paste)
	}
	// Output:
	// risk: charge: unsafe, and no tool tells afterwards whether a call took effect
	// it takes idempotencyKey: if it takes effect once only under the same one, say so:
	// mcpServers:
	//   billing:
	//     offers:
	//       - capability: charge
	//         tool: charge
	//         effect: conditional
	//         key: idempotencyKey
	//         ledger: {name: billing, keeps: 24h}
}

func ExampleRaces() {
	for _, r := range review.Races(review.Stdio)[1:3] {
		fmt.Printf("%s: %s, the server sees %s, ignored: %s\n", r.Order, r.Terminal(), r.Wire, r.Loser())
	}
	// Output:
	// cancel, then the answer: cancelled (MCP_CANCELLED, unknown), the server sees notifications/cancelled, no answer expected, ignored: the answer (counted: late_answer)
	// the answer, then cancel: success, the server sees nothing, ignored: the cancel
}
