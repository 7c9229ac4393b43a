package redis

import (
	"strconv"

	"junction/state"
)

// recordText is the JSON of a record as it is stored, without what stands elsewhere:
// the thread (the key's), the start (before the JSON) and the result (with what is
// under way). Members that are empty are left out as encoding/json does, which reads
// it back; its reflection over some forty fields cost more than all else that a
// caller does for a record.
func (p *packer) recordText(r *state.Record) string {
	w := recordWriter{p: p, out: make([]byte, 0, 512+len(r.Decision))}
	w.number("seq", r.Seq)
	w.number("step", int64(r.Step))
	w.text("task", r.Task)
	w.text("node", r.Node)
	w.text("hop", r.Hop)
	w.text("name", r.Name)
	w.number("round", int64(r.Round))
	w.number("attempt", int64(r.Attempt))
	w.some("capability", r.Capability)
	w.some("server", r.Server)
	w.some("service", r.Service)
	w.some("endpoint", r.Endpoint)
	w.some("tool", r.Tool)
	w.some("session", r.Session)
	w.some("effect", string(r.Effect))
	w.some("key", r.Key)
	w.some("ledger", r.Ledger)
	w.count("keeps", int64(r.Keeps))
	w.count("max", int64(r.Max))
	w.text("input_hash", r.InputHash)
	w.some("output_hash", r.OutputHash)
	w.text("status", string(r.Status))
	w.some("execution", string(r.Execution))
	w.some("code", r.Code)
	w.some("message", r.Message)
	w.truth("is_error", r.IsError)
	w.count("duration", int64(r.Duration))
	w.count("server_took", int64(r.ServerTook))
	if r.Remote != nil {
		w.name("remote")
		w.out = append(w.out, p.Encode(r.Remote)...)
	}
	if r.Input != nil {
		w.name("input")
		w.out = append(w.out, p.Encode(r.Input)...)
	}
	w.truth("final", r.Final)
	if r.Decision != nil { // as it is: it is most of a record
		w.name("decision")
		w.out = append(w.out, r.Decision...)
	}
	return string(append(w.out, '}'))
}

type recordWriter struct {
	p   *packer
	out []byte
}

func (w *recordWriter) name(name string) {
	sign := byte(',')
	if len(w.out) == 0 {
		sign = '{'
	}
	w.out = append(append(append(w.out, sign, '"'), name...), '"', ':')
}

func (w *recordWriter) number(name string, n int64) {
	w.name(name)
	w.out = strconv.AppendInt(w.out, n, 10)
}

// count is a number that is left out when it is 0.
func (w *recordWriter) count(name string, n int64) {
	if n != 0 {
		w.number(name, n)
	}
}

func (w *recordWriter) truth(name string, b bool) {
	if b {
		w.name(name)
		w.out = append(w.out, "true"...)
	}
}

// text writes a text. What is no plain ASCII goes through encoding/json.
func (w *recordWriter) text(name, s string) {
	w.name(name)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' {
			w.out = append(w.out, w.p.Encode(s)...)
			return
		}
	}
	w.out = append(append(append(w.out, '"'), s...), '"')
}

// some is a text that is left out when it is empty.
func (w *recordWriter) some(name, s string) {
	if s != "" {
		w.text(name, s)
	}
}
