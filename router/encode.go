package router

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"junction/state/value"
)

// encodeDecision writes d as encoding/json would read it back. Every hop records
// its decision, and reflection over maps of terms cost more than the decision
// itself.
func encodeDecision(d Decision) (json.RawMessage, error) {
	w := decisionWriter{out: make([]byte, 0, 256+192*len(d.Candidates)+96*len(d.Rejected))}
	w.open('{')
	w.text("capability", d.Capability, true)
	w.text("policy", d.Policy, false)
	w.text("transform", d.Transform, false)
	w.text("score", d.Score, true)
	w.name("seed")
	w.out = strconv.AppendUint(w.out, d.Seed, 10)
	w.number("draw", d.Draw)
	w.text("picked", d.Picked, false)
	w.text("tool", d.Tool, true)
	w.name("candidates")
	w.open('[')
	for i := range d.Candidates {
		w.candidate(&d.Candidates[i])
	}
	w.close(']')
	if d.Omitted != 0 {
		w.name("omitted")
		w.out = strconv.AppendInt(w.out, int64(d.Omitted), 10)
	}
	if len(d.Rejected) > 0 {
		w.name("rejected")
		w.open('[')
		for _, r := range d.Rejected {
			w.open('{')
			w.text("server", r.Server, false)
			w.text("reason", r.Reason, false)
			w.text("detail", r.Detail, false)
			w.close('}')
		}
		w.close(']')
	}
	if len(d.Reasons) > 0 {
		w.name("reasons")
		w.open('{')
		for _, reason := range slices.Sorted(maps.Keys(d.Reasons)) {
			w.name(reason)
			w.out = strconv.AppendInt(w.out, int64(d.Reasons[reason]), 10)
		}
		w.close('}')
	}
	if d.Stale {
		w.name("stale")
		w.out = append(w.out, "true"...)
	}
	w.close('}')
	if w.err != nil {
		return nil, fmt.Errorf("the decision for %s cannot be recorded: %w", d.Capability, w.err)
	}
	return w.out, nil
}

type decisionWriter struct {
	out []byte
	err error
}

func (w *decisionWriter) candidate(c *Candidate) {
	w.open('{')
	w.text("server", c.Server, false)
	w.text("tool", c.Tool, false)
	w.number("match", c.Match)
	w.number("health", c.Health)
	w.name("terms")
	w.open('{')
	terms := make([]string, 0, 12) // on the stack
	for term := range c.Terms {
		terms = append(terms, term)
	}
	slices.Sort(terms)
	for _, term := range terms {
		w.number(term, c.Terms[term])
	}
	w.close('}')
	w.number("weight", c.Weight)
	w.close('}')
}

// open begins an object or a list, as an item of the one it stands in.
func (w *decisionWriter) open(bracket byte) {
	w.comma()
	w.out = append(w.out, bracket)
}

func (w *decisionWriter) close(bracket byte) { w.out = append(w.out, bracket) }

// comma separates from what stands before in the same object or list.
func (w *decisionWriter) comma() {
	if n := len(w.out); n > 0 {
		switch w.out[n-1] {
		case '{', '[', ':', ',':
		default:
			w.out = append(w.out, ',')
		}
	}
}

func (w *decisionWriter) name(name string) {
	w.comma()
	w.quote(name)
	w.out = append(w.out, ':')
}

func (w *decisionWriter) text(name, text string, optional bool) {
	if optional && text == "" {
		return
	}
	w.name(name)
	w.quote(text)
}

func (w *decisionWriter) number(name string, x float64) {
	w.name(name)
	if math.IsNaN(x) || math.IsInf(x, 0) {
		w.err = fmt.Errorf("%s is %v", name, x)
		return
	}
	w.out = strconv.AppendFloat(w.out, x, 'g', -1, 64)
}

// quote writes a JSON string. Names are mostly plain; what is not goes through
// package value, and text that is not UTF-8, which a peer may send, through
// encoding/json, which replaces what cannot be shown.
func (w *decisionWriter) quote(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			quoted, err := value.Append(w.out, s)
			if err == nil {
				w.out = quoted
				return
			}
			replaced, err := json.Marshal(s)
			if err != nil {
				w.err = err
				return
			}
			w.out = append(w.out, replaced...)
			return
		}
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, s...)
	w.out = append(w.out, '"')
}
