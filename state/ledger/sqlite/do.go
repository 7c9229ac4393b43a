package sqlite

import (
	"context"
	"database/sql"

	"junction/state/ledger"
)

// Do is [ledger.Ledger.Do] of a ledger whose place is ledger.Inside, for an effect
// that is made of statements.
func Do(ctx context.Context, l *ledger.Ledger, c ledger.Call, effect func(context.Context, *sql.Tx) (any, error)) (ledger.Answer, error) {
	return l.Do(ctx, c, func(ctx context.Context, _ ledger.Run) (any, error) { return effect(ctx, Tx(ctx)) })
}
