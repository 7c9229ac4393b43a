package router

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
)

// drafts are buffers for text that is only looked up, or that is kept and gets as
// much memory as it turned out to need.
var drafts = sync.Pool{New: func() any { return new([]byte) }}

// longestDraft bounds the buffers that are kept.
const longestDraft = 64 << 10

// encodeDecision writes d as encoding/json does, byte for byte, with a list of
// candidates where there are none. Every hop records its decision, and reflection
// cost more than the decision itself.
func encodeDecision(d Decision) (json.RawMessage, error) {
	draft := drafts.Get().(*[]byte)
	w := decisionWriter{out: (*draft)[:0]}
	w.decision(&d)
	if cap(w.out) <= longestDraft {
		*draft = w.out
	}
	defer drafts.Put(draft)
	if w.err != nil {
		return nil, fmt.Errorf("the decision for %s cannot be recorded: %w", d.Capability, w.err)
	}
	return append(make([]byte, 0, len(w.out)), w.out...), nil
}

type decisionWriter struct {
	out []byte
	err error
}

func (w *decisionWriter) decision(d *Decision) {
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
}

// candidate names its fields without a look at them: most of a record is candidates.
func (w *decisionWriter) candidate(c *Candidate) {
	w.comma()
	w.out = append(w.out, `{"server":`...)
	w.quote(c.Server)
	w.out = append(w.out, `,"tool":`...)
	w.quote(c.Tool)
	w.out = append(w.out, `,"match":`...)
	w.float("match", c.Match)
	w.out = append(w.out, `,"health":`...)
	from := len(w.out)
	w.float("health", c.Health)
	to := len(w.out)
	w.out = append(w.out, `,"terms":{`...)
	for i, term := range c.Terms.Sorted() {
		if i > 0 {
			w.out = append(w.out, ',')
		}
		w.quote(term.Name)
		w.out = append(w.out, ':')
		w.float(term.Name, term.Value)
	}
	w.out = append(w.out, `},"weight":`...)
	if math.Float64bits(c.Weight) == math.Float64bits(c.Health) { // mostly, and digits are what costs
		w.out = append(w.out, w.out[from:to]...)
	} else {
		w.float("weight", c.Weight)
	}
	w.out = append(w.out, '}')
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
	w.float(name, x)
}

func (w *decisionWriter) float(name string, x float64) {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		w.err = fmt.Errorf("%s is %v", name, x)
		return
	}
	if whole := int64(x); float64(whole) == x && whole != 0 && -1e15 < x && x < 1e15 {
		w.out = strconv.AppendInt(w.out, whole, 10)
		return
	}
	size := math.Abs(x)
	if size == 0 || size >= 1e-6 && size < 1e21 {
		w.out = strconv.AppendFloat(w.out, x, 'f', -1, 64)
		return
	}
	w.out = strconv.AppendFloat(w.out, x, 'e', -1, 64)
	if n := len(w.out); w.out[n-4] == 'e' && w.out[n-3] == '-' && w.out[n-2] == '0' { // e-09 → e-9
		w.out = append(w.out[:n-2], w.out[n-1])
	}
}

// quote writes a JSON string. Names are mostly plain; what is not is left to
// encoding/json, which escapes it and replaces what is not UTF-8, which a peer may
// send.
func (w *decisionWriter) quote(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil {
				w.err = err
			}
			w.out = append(w.out, quoted...)
			return
		}
	}
	w.out = append(w.out, '"')
	w.out = append(w.out, s...)
	w.out = append(w.out, '"')
}
