package past

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"junction/router/lab"
)

// YAML is the scenario as a file, with what is not known as comments. A file tells how
// many calls arrive in a minute, not when each of them does.
func (p *Past) YAML() string {
	var b strings.Builder
	f := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	s := &p.Scenario
	f("# Made from recorded calls, %s to %s (UTC).\n# %d calls, %.3g attempts each, a share of %.3g ended in an error; P50 %.0f ms, P99 %.0f ms.\n",
		p.From.UTC().Format(time.DateTime), p.To.UTC().Format(time.DateTime), p.Actual.Calls, p.Actual.Attempts, p.Actual.Errors, p.Actual.P50, p.Actual.P99)
	f("#\n# What the records do not tell:\n")
	for _, u := range p.Unknown {
		f("%s", Wrap(u, "# - ", "#   "))
	}
	f("lab: %s\nabout: %s\nduration: %s\n", s.Name, quote(s.About), s.Duration)
	f("calls:\n  rates:\n")
	for i, n := range perMinute(s) {
		f("    - {at: %s, rate: %s}\n", time.Duration(i)*time.Minute, strconv.FormatFloat(float64(n)/spanOf(s, i).Seconds(), 'f', 4, 64))
	}
	if s.Routers > 1 {
		f("routers: %d\n", s.Routers)
	}
	if s.Effect != "" {
		f("effect: %s\n", s.Effect)
	}
	if s.Timeout > 0 {
		f("timeout: %s\n", s.Timeout)
	}
	if s.Watch != "" {
		f("watch: %s\n", quote(s.Watch))
	}
	f("policies: [%s]\nservers:\n", strings.Join(s.Policies, ", "))
	for i := range s.Servers {
		server(f, &s.Servers[i])
	}
	return b.String()
}

func server(f func(string, ...any), v *lab.Server) {
	f("  - name: %s\n    workers: %d\n    time: %s\n    spread: %s\n", quote(v.Name), v.Workers, v.Time, v.Spread)
	if v.Sigma > 0 {
		f("    sigma: %v\n", v.Sigma)
	}
	if len(v.Changes) > 0 {
		f("    changes:\n")
	}
	for _, c := range v.Changes {
		f("      - {at: %s, for: %s", c.At, c.For)
		if c.Mean > 0 {
			f(", time: %s", c.Mean)
		}
		if c.Fails > 0 {
			f(", fails: %v", c.Fails)
		}
		if c.FailsIn > 0 {
			f(", fails_in: %s", c.FailsIn)
		}
		if c.ToolErrors > 0 {
			f(", tool_errors: %v", c.ToolErrors)
		}
		if c.ToolErrorsIn > 0 {
			f(", tool_errors_in: %s", c.ToolErrorsIn)
		}
		f("}\n")
	}
}

// perMinute counts the calls that arrive in each minute.
func perMinute(s *lab.Scenario) []int {
	all := make([]int, int((s.Duration-1)/time.Minute)+1)
	for _, at := range s.Calls.At {
		all[min(int(at/time.Minute), len(all)-1)]++
	}
	return all
}

// spanOf is how long a minute lasts: the last one ends with the scenario.
func spanOf(s *lab.Scenario, n int) time.Duration {
	return min(time.Minute, s.Duration-time.Duration(n)*time.Minute)
}

// quote writes text so that YAML reads it as text.
func quote(s string) string { return strconv.Quote(strings.ToValidUTF8(s, "?")) }

// Wrap breaks text into lines that are not too long: the first begins with head, the
// others with indent.
func Wrap(text, head, indent string) string {
	var b strings.Builder
	line := head
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case len(line)+len(word) > 95:
			b.WriteString(line + "\n")
			line = indent + word
		default:
			line += " " + word
		}
	}
	b.WriteString(line + "\n")
	return b.String()
}
