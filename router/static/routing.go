package static

import (
	"net/url"
	"strings"
	"time"

	"junction/health"
	"junction/router"
	"junction/state/document"
)

// Routing is what the file says of how servers are chosen, tried again and watched.
// Zero is unsaid: the router's default.
type Routing struct {
	Score      health.Score
	Transform  router.Transform
	Picker     router.Picker
	Attempts   int     // of a hop
	RetryShare float64 // of the calls
	RetryFloor int
	Hedge      router.Hedge
	Probe      router.ProbeOptions // Every, Timeout and Strikes
	Prometheus string              // where error rates are asked for; without a credential; "": nowhere
}

// Apply puts what is said into a router's options. How often servers are probed is
// said of a router that probes, and turns no probes on.
func (r Routing) Apply(o *router.Options) {
	if r.Score != nil {
		o.Score = r.Score
	}
	if r.Transform != (router.Transform{}) {
		o.Transform = r.Transform
	}
	if r.Picker != nil {
		o.Picker = r.Picker
	}
	if r.Attempts > 0 {
		o.Attempts = r.Attempts
	}
	if r.RetryShare > 0 {
		o.RetryShare = r.RetryShare
	}
	if r.RetryFloor > 0 {
		o.RetryFloor = r.RetryFloor
	}
	if r.Hedge != (router.Hedge{}) {
		o.Hedge = r.Hedge
	}
	if r.Probe.Every > 0 && o.Probe.Every > 0 {
		o.Probe.Every = r.Probe.Every
	}
	if r.Probe.Timeout > 0 {
		o.Probe.Timeout = r.Probe.Timeout
	}
	if r.Probe.Strikes > 0 {
		o.Probe.Strikes = r.Probe.Strikes
	}
}

const (
	mostAttempts = 20
	mostFloor    = 1000
	mostStrikes  = 100
)

// routing reads the section of that name.
func (r *reader) routing(n *document.Node) Routing {
	m := n.Mapping("score", "transform", "picker", "attempts", "retry_share", "retry_floor", "hedge", "probe", "prometheus")
	routing := Routing{
		Transform:  transform(m.Get("transform")),
		Attempts:   int(m.Get("attempts").Int(1, mostAttempts)),
		RetryShare: fraction(m.Get("retry_share")),
		RetryFloor: int(m.Get("retry_floor").Int(1, mostFloor)),
		Hedge:      hedge(m.Get("hedge")),
		Probe:      probe(m.Get("probe")),
		Prometheus: r.prometheus(m.Get("prometheus")),
	}
	switch m.Get("score").OneOf("product", "linear") {
	case "product":
		routing.Score = health.Product{}
	case "linear":
		routing.Score = health.Linear{}
	}
	switch m.Get("picker").OneOf("weighted-random", "least-loaded") {
	case "weighted-random":
		routing.Picker = router.WeightedRandom{}
	case "least-loaded":
		routing.Picker = router.LeastLoaded{}
	}
	return routing
}

// transform reads plain, excess, {excess: FLOOR} or {power: P}.
func transform(n *document.Node) router.Transform {
	if n == nil {
		return router.Transform{}
	}
	if n.Kind == document.Text {
		switch n.OneOf("plain", "excess") {
		case "plain":
			return router.Plain()
		case "excess":
			return router.Excess(0)
		}
		return router.Transform{}
	}
	m := n.Mapping("excess", "power")
	switch {
	case m.Has("excess") && m.Has("power"):
		m.Get("power").Fault("remove one of them", "weights are made in one way")
	case m.Has("excess"):
		if floor := number(m.Get("excess"), 0, 1, false); floor > 0 {
			return router.Excess(floor)
		}
	case m.Has("power"):
		if p := number(m.Get("power"), 0, 8, true); p > 0 {
			return router.Power(p)
		}
	case len(m.Entries()) == 0 && n.Kind == document.Map:
		n.Fault("write plain, excess, {excess: 0.65} or {power: 2}", "nothing says how weights are made")
	}
	return router.Transform{}
}

// fraction reads a share of the whole, more than none of it.
func fraction(n *document.Node) float64 { return number(n, 0, 1, true) }

// number reads a number above low, up to high or below it; 0 for nil and a fault.
func number(n *document.Node, low, high float64, highToo bool) float64 {
	if n == nil {
		return 0
	}
	var x float64
	switch v := n.Value().(type) {
	case int64:
		x = float64(v)
	case float64:
		x = v
	default:
		n.Fault("", "a number is expected here, not %s", n.Kind)
		return 0
	}
	if x > low && (x < high || highToo && x == high) {
		return x
	}
	upTo := "below"
	if highToo {
		upTo = "up to"
	}
	n.Fault("leave it out to have the default", "a number above %v and %s %v is expected here, not %v", low, upTo, high, n.Value())
	return 0
}

// hedge reads {after: p95} or {after: DURATION}.
func hedge(n *document.Node) router.Hedge {
	if n == nil {
		return router.Hedge{}
	}
	m := n.Mapping("after")
	if misspelt(m, "after") {
		return router.Hedge{}
	}
	after := m.Require("after")
	if after != nil && after.Kind == document.Text && strings.EqualFold(after.Text(), "p95") {
		return router.Hedge{P95: true}
	}
	if after != nil && after.Kind == document.Text {
		if _, err := time.ParseDuration(after.Text()); err != nil {
			after.Fault("write p95, or a time with its unit such as 250ms", "%q is neither p95 nor a length of time", after.Text())
			return router.Hedge{}
		}
	}
	return router.Hedge{After: after.Duration()}
}

func probe(n *document.Node) router.ProbeOptions {
	m := n.Mapping("every", "timeout", "strikes")
	return router.ProbeOptions{
		Every:   m.Get("every").Duration(),
		Timeout: m.Get("timeout").Duration(),
		Strikes: int(m.Get("strikes").Int(1, mostStrikes)),
	}
}

// prometheus checks a server's address without quoting it: what should not be in it
// may be a credential.
func (r *reader) prometheus(n *document.Node) string {
	const like = "such as http://127.0.0.1:9090"
	if n == nil {
		return ""
	}
	raw, ok := r.expanded(n)
	if !ok {
		return ""
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		n.Fault(like, "this is no URL")
	case u.Scheme != "http" && u.Scheme != "https":
		n.Fault(like, "the address of Prometheus begins with http:// or https://")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		n.Fault("", "the address of Prometheus is a scheme, a host, a port and a path: addresses are shown, and what stands here may be a credential")
	case u.Hostname() == "":
		n.Fault(like, "the address of Prometheus names no host")
	}
	return raw
}
