package router

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strconv"

	"junction/state"
)

// traced adds the trace context of an attempt to _meta (W3C Trace Context, level 1;
// MCP 2026-07-28, "_meta"). Its ids follow from the thread and the attempt, so that
// all calls of a thread are one trace, whoever runs it.
func (h *hop) traced(meta map[string]any, rec *state.Record) map[string]any {
	scope := h.journal.Scope()
	thread := scope.Thread
	if thread == "" {
		thread = scope.Task
	}
	trace := sha256.Sum256([]byte(thread))
	span := sha256.Sum256(strconv.AppendInt(append(strconv.AppendInt(append([]byte(rec.Hop), ' '), int64(rec.Round), 10), ' '), int64(rec.Attempt), 10))
	text := make([]byte, 0, 55)
	text = append(text, "00-"...)
	text = hex.AppendEncode(text, trace[:16])
	text = append(text, '-')
	text = hex.AppendEncode(text, span[:8])
	text = append(text, "-01"...)
	with := make(map[string]any, len(meta)+1)
	maps.Copy(with, meta)
	with["traceparent"] = string(text)
	return with
}
