package bridge

import (
	"context"
	"encoding/json"
)

type requestID struct{}

// withRequestID notes the id of the client's request, as the client wrote it.
func withRequestID(ctx context.Context, id json.RawMessage) context.Context {
	return context.WithValue(ctx, requestID{}, id)
}

// RequestID is the id of the client's request that [Handler.Begin] was given ctx for,
// as the client wrote it: what a subscription of the later era is called. Nil: there is
// none.
func RequestID(ctx context.Context) json.RawMessage {
	id, _ := ctx.Value(requestID{}).(json.RawMessage)
	return id
}
