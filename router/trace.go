package router

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strconv"

	"junction/state"
)

// TraceID is the trace of a thread (W3C Trace Context, level 1): all calls of a
// thread are one trace, whoever runs it, and whenever.
func TraceID(thread string) [16]byte {
	sum := sha256.Sum256([]byte(thread))
	return [16]byte(sum[:16])
}

// spanID is the span of an attempt within its thread's trace.
func spanID(rec *state.Record) [8]byte {
	text := append([]byte(rec.Hop), ' ')
	text = append(strconv.AppendInt(text, int64(rec.Round), 10), ' ')
	sum := sha256.Sum256(strconv.AppendInt(text, int64(rec.Attempt), 10))
	return [8]byte(sum[:8])
}

// TraceParent is the key in _meta that an attempt's trace context has (MCP
// 2026-07-28, "_meta").
const TraceParent = "traceparent"

// traced adds the trace context of an attempt to _meta.
func (h *hop) traced(meta map[string]any, rec *state.Record) map[string]any {
	scope := h.journal.Scope()
	thread := scope.Thread
	if thread == "" {
		thread = scope.Task
	}
	trace, span := TraceID(thread), spanID(rec)
	text := make([]byte, 0, 55)
	text = append(text, "00-"...)
	text = hex.AppendEncode(text, trace[:])
	text = append(text, '-')
	text = hex.AppendEncode(text, span[:])
	text = append(text, "-01"...)
	with := make(map[string]any, len(meta)+1)
	maps.Copy(with, meta)
	with[TraceParent] = string(text)
	return with
}

type attemptKey struct{}

// underWay is the attempt that a [Caller] makes.
type underWay struct {
	hop HopInfo
	at  AttemptInfo
}

func withAttempt(ctx context.Context, hop HopInfo, at AttemptInfo) context.Context {
	return context.WithValue(ctx, attemptKey{}, &underWay{hop, at})
}

// AttemptFrom returns the attempt that ctx belongs to, in a [Caller]; false outside
// of one, as when a server is described.
func AttemptFrom(ctx context.Context) (HopInfo, AttemptInfo, bool) {
	u, ok := ctx.Value(attemptKey{}).(*underWay)
	if !ok {
		return HopInfo{}, AttemptInfo{}, false
	}
	return u.hop, u.at, true
}
