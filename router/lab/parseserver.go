package lab

import (
	"time"

	"junction/state/document"
)

var behaviourKeys = []string{"speed", "stuck", "fails", "fails_in", "tool_errors", "tool_errors_in", "down"}

func readServer(n *document.Node) Server {
	m := n.Mapping(append([]string{
		"name", "count", "workers", "time", "spread", "sigma", "latency_p95", "max_concurrent", "weight", "joins", "leaves", "changes",
	}, behaviourKeys...)...)
	var v Server
	if m == nil {
		return v
	}
	v.Name = m.Require("name").Word()
	set(m, "count", &v.Count, whole(maxServers))
	set(m, "workers", &v.Workers, whole(100_000))
	set(m, "time", &v.Time, (*document.Node).Duration)
	set(m, "spread", &v.Spread, func(n *document.Node) Spread {
		return Spread(n.OneOf(string(Exponential), string(Fixed), string(Lognormal)))
	})
	set(m, "sigma", &v.Sigma, positive)
	set(m, "latency_p95", &v.LatencyP95, (*document.Node).Duration)
	set(m, "max_concurrent", &v.MaxConcurrent, whole(1_000_000))
	set(m, "weight", &v.Weight, positive)
	set(m, "joins", &v.Joins, moment)
	set(m, "leaves", &v.Leaves, moment)
	readBehaviour(m, &v.Behaviour)
	set(m, "changes", &v.Changes, list(readChange))
	return v
}

func readChange(n *document.Node) Change {
	m := n.Mapping(append([]string{"at", "for", "time"}, behaviourKeys...)...)
	var c Change
	if m == nil {
		return c
	}
	c.At = moment(m.Require("at"))
	set(m, "for", &c.For, (*document.Node).Duration)
	set(m, "time", &c.Mean, (*document.Node).Duration)
	readBehaviour(m, &c.Behaviour)
	return c
}

func readBehaviour(m *document.Mapping, b *Behaviour) {
	set(m, "speed", &b.Speed, positive)
	set(m, "stuck", &b.Stuck, (*document.Node).Duration)
	set(m, "fails", &b.Fails, number(1))
	set(m, "fails_in", &b.FailsIn, (*document.Node).Duration)
	set(m, "tool_errors", &b.ToolErrors, number(1))
	set(m, "tool_errors_in", &b.ToolErrorsIn, (*document.Node).Duration)
	set(m, "down", &b.Down, (*document.Node).Bool)
}

// moment is a time since the beginning, which may be 0s.
func moment(n *document.Node) time.Duration {
	if n != nil && n.Kind == document.Text {
		if d, err := time.ParseDuration(n.Text()); err == nil && d == 0 {
			return 0
		}
	}
	return n.Duration()
}
