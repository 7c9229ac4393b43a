package review

import (
	"fmt"

	"junction/router"
	"junction/router/mcp"
)

// Bound is something that cannot grow beyond a limit, and what happens there.
type Bound struct {
	What  string `json:"what"`
	Limit string `json:"limit"`
	Then  string `json:"then"`
}

// queue is how calls wait before they are sent, and how often they are made again.
func queue(p *router.Policy, c *mcp.Policy, terms []router.Terms) []Bound {
	atOnce := "undeclared"
	for i := range terms {
		if n := terms[i].MaxConcurrent; n > 0 {
			atOnce = fmt.Sprint(n)
			break
		}
	}
	wait := span(p.Saturation)
	if p.Saturation < 0 {
		wait = "none"
	}
	bounds := []Bound{
		{"calls at once", atOnce, "another server; where all are full, a call waits"},
		{"wait while no place comes free", wait, "the call is rejected, and was not sent"},
		{"attempts of a hop and run", fmt.Sprint(p.Attempts), "the hop fails with all of them"},
		{"retries, of all calls of a worker", fmt.Sprintf("%.0f%%, and %d at once", 100*p.RetryShare, p.RetryFloor), "a hop waits for its retry; beyond " + fmt.Sprint(p.RetryQueue) + " that wait it fails"},
		{"wait before the same server", fmt.Sprintf("%s doubled up to %s, full jitter", span(p.Backoff), span(p.BackoffCap)), "none before another server; Retry-After is obeyed"},
		{"messages for a child that does not read", fmt.Sprint(c.Outgoing), "the next waits with its call's clocks; what is cancelled there is never sent"},
	}
	if p.Hedge == (router.Hedge{}) {
		return bounds
	}
	after := "the candidates' P95"
	if p.Hedge.After > 0 {
		after = span(p.Hedge.After)
	}
	return append(bounds, Bound{"wait before a safe hop asks a second server", after, "the first answer counts; each takes a retry, and without one the first server is waited for"})
}

// flow is how much a server can send before something gives.
func flow(c *mcp.Policy, k Kind) []Bound {
	unit := "one answer"
	if k != Stdio {
		unit = "one answer, or one event of a stream"
	}
	bounds := []Bound{
		{unit, size(c.AnswerBytes), "MCP_OUTPUT_INVALID: unknown whether it executed; other calls go on"},
		{"progress that a listener is told of", "one every " + span(c.Told) + ", the newest", "what came before is dropped; an answer never is"},
		{"progress that does not rise, or is of no request", "none", "dropped and counted; it sets no clock back"},
		{"tools in all pages of a list", fmt.Sprintf("%s, %d pages", size(c.AnswerBytes), c.ListPages), "the server is not used"},
	}
	if k == Stdio {
		return append(bounds,
			Bound{"lines of stderr kept", fmt.Sprint(c.StderrLines), "older ones are dropped; they are read all the time, so the child never stalls"},
			Bound{"time to send a cancel", span(c.Farewell), "given up: the child does not read"})
	}
	return append(bounds,
		Bound{"bytes read of a refusal", size(c.Rejection), "the rest is not read"},
		Bound{"idle connections kept", fmt.Sprint(c.Connections), "closed"},
		Bound{"comment lines of a quiet stream", "any", "they keep proxies from closing it, and set no clock back"})
}

func size(n int) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d B", n)
}
