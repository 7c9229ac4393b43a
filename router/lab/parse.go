package lab

import (
	"math"
	"strconv"
	"strings"

	"junction/state"
	"junction/state/document"
)

// Parse reads a scenario file. It returns one scenario, or one for each of the
// file's cases, named FILE's name/case. Every fault is reported at once, as
// document.Faults, with line and column.
func Parse(file string, data []byte) ([]Scenario, error) {
	doc, err := document.Parse(file, data)
	if err != nil {
		return nil, err
	}
	top := doc.Root.Mapping(append([]string{"lab", "cases"}, scenarioKeys...)...)
	if top == nil {
		return nil, doc.Err()
	}
	base := Scenario{Name: top.Require("lab").Word()}
	readScenario(top, &base)
	all := []Scenario{base}
	at := []*document.Node{top.Node()}
	if cases := top.Get("cases"); cases != nil {
		all, at = nil, nil
		list := cases.List()
		if len(list) > maxCases {
			cases.Fault("write several files", "a file has %d cases at most, not %d", maxCases, len(list))
			list = list[:maxCases]
		}
		for _, n := range list {
			m := n.Mapping(append([]string{"name"}, scenarioKeys...)...)
			s := base
			s.Name = base.Name + "/" + m.Require("name").Word()
			readScenario(m, &s)
			all, at = append(all, s), append(at, n)
		}
		if len(all) == 0 {
			cases.Fault("remove the key", "there are no cases")
		}
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	for i := range all {
		all[i] = all[i].withDefaults()
		if err := all[i].validate(); err != nil {
			at[i].Fault("", "%v", err)
		}
	}
	if err := doc.Err(); err != nil {
		return nil, err
	}
	return all, nil
}

var scenarioKeys = []string{
	"about", "duration", "warmup", "calls", "routers", "load_age", "news_age", "share", "attempts", "effect", "timeout", "hedge",
	"retry_share", "retry_floor", "slow", "watch", "settle", "servers", "policies", "gate",
}

// readScenario changes s where m says something.
func readScenario(m *document.Mapping, s *Scenario) {
	set(m, "about", &s.About, (*document.Node).Word)
	set(m, "duration", &s.Duration, (*document.Node).Duration)
	set(m, "warmup", &s.Warmup, moment)
	set(m, "calls", &s.Calls, readCalls)
	set(m, "routers", &s.Routers, whole(maxRouters))
	set(m, "load_age", &s.LoadAge, (*document.Node).Duration)
	set(m, "news_age", &s.NewsAge, (*document.Node).Duration)
	set(m, "share", &s.Share, (*document.Node).Duration)
	set(m, "attempts", &s.Attempts, whole(100))
	set(m, "effect", &s.Effect, func(n *document.Node) state.Effect {
		return state.Effect(n.OneOf(string(state.Safe), string(state.Conditional), string(state.Unsafe)))
	})
	set(m, "timeout", &s.Timeout, (*document.Node).Duration)
	set(m, "hedge", &s.Hedge, readHedge)
	set(m, "retry_share", &s.RetryShare, number(1))
	set(m, "retry_floor", &s.RetryFloor, whole(1000))
	set(m, "slow", &s.Slow, (*document.Node).Duration)
	set(m, "watch", &s.Watch, (*document.Node).Word)
	set(m, "settle", &s.Settle, (*document.Node).Duration)
	set(m, "servers", &s.Servers, list(readServer))
	set(m, "policies", &s.Policies, list(readPolicy))
	set(m, "gate", &s.Gate, list(readCheck))
}

// set reads a key that is there.
func set[T any](m *document.Mapping, key string, to *T, read func(*document.Node) T) {
	if n := m.Get(key); n != nil {
		*to = read(n)
	}
}

func list[T any](read func(*document.Node) T) func(*document.Node) []T {
	return func(n *document.Node) []T {
		var all []T
		for _, item := range n.List() {
			all = append(all, read(item))
		}
		return all
	}
}

func whole(high int64) func(*document.Node) int {
	return func(n *document.Node) int { return int(n.Int(1, high)) }
}

func number(high float64) func(*document.Node) float64 {
	return func(n *document.Node) float64 {
		var x float64
		switch v := n.Value().(type) {
		case int64:
			x = float64(v)
		case float64:
			x = v
		default:
			n.Fault("", "%s is expected here, not %s", document.Number, n.Kind)
			return 0
		}
		switch {
		case !(x >= 0 && x <= high) && math.IsInf(high, 1):
			n.Fault("", "a number of at least 0 is expected here, not %v", x)
			return 0
		case !(x >= 0 && x <= high):
			n.Fault("", "a number from 0 to %v is expected here, not %v", high, x)
			return 0
		}
		return x
	}
}

// positive is a number above 0.
func positive(n *document.Node) float64 {
	x := number(math.Inf(1))(n)
	if x == 0 && n.Kind == document.Number {
		n.Fault("", "a number above 0 is expected here")
	}
	return x
}

func readPolicy(n *document.Node) string {
	return n.OneOf(PolicyNames()...)
}

func readCheck(n *document.Node) Check {
	m := n.Mapping("metric", "at_most", "at_least", "of")
	var c Check
	if m == nil {
		return c
	}
	words := make([]string, 0, len(Metrics()))
	for _, known := range Metrics() {
		words = append(words, string(known))
	}
	c.Metric = Metric(m.Require("metric").OneOf(words...))
	limit := func(n *document.Node) *float64 {
		x := number(math.Inf(1))(n)
		return &x
	}
	set(m, "at_most", &c.AtMost, limit)
	set(m, "at_least", &c.AtLeast, limit)
	set(m, "of", &c.Of, readPolicy)
	if m.Has("at_most") == m.Has("at_least") {
		n.Fault("write at_most or at_least", "a check needs exactly one limit")
	}
	return c
}

func readHedge(n *document.Node) Hedge {
	m := n.Mapping("after")
	after := m.Require("after")
	if after == nil {
		return Hedge{}
	}
	if percent, is := strings.CutPrefix(after.Text(), "p"); is {
		n, err := strconv.Atoi(percent)
		if err != nil || n < 1 || n > 99 {
			after.Fault("such as p95, or a time such as 250ms", "%q is no quantile", after.Text())
		}
		return Hedge{Quantile: float64(n) / 100}
	}
	return Hedge{After: after.Duration()}
}

func readCalls(n *document.Node) Calls {
	m := n.Mapping("load", "rate", "rates")
	var c Calls
	set(m, "load", &c.Load, positive)
	set(m, "rate", &c.Rate, positive)
	set(m, "rates", &c.Rates, list(func(n *document.Node) Rate {
		m := n.Mapping("at", "rate")
		var r Rate
		set(m, "at", &r.At, moment)
		set(m, "rate", &r.Rate, number(math.Inf(1)))
		return r
	}))
	if m != nil && len(m.Entries()) != 1 {
		n.Fault("such as {load: 0.7}", "calls have exactly one of load, rate and rates")
	}
	return c
}
