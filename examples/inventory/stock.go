package inventory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"junction/state/ledger"
	"junction/state/ledger/sqlite"
)

// tables are the stock and what is reserved of it. A new file has some of
// everything.
const tables = `
CREATE TABLE IF NOT EXISTS stock (
	sku  TEXT PRIMARY KEY,
	free INTEGER NOT NULL CHECK (free >= 0)
) STRICT;
CREATE TABLE IF NOT EXISTS reservation (
	id        TEXT PRIMARY KEY,
	tenant    TEXT NOT NULL,
	operation TEXT NOT NULL,
	sku       TEXT NOT NULL REFERENCES stock,
	quantity  INTEGER NOT NULL CHECK (quantity > 0)
) STRICT;
INSERT INTO stock SELECT * FROM (VALUES ('bolt', 100), ('nut', 100), ('washer', 5))
	WHERE NOT EXISTS (SELECT 1 FROM stock)`

// Stock is an inventory and its ledger, in one SQLite file that several servers
// may share.
type Stock struct {
	store    *sqlite.Store
	ledger   *ledger.Ledger
	watchers watchers
}

// Order is what a key stands for.
type Order struct {
	SKU       string `json:"sku"`
	Quantity  int64  `json:"quantity"`
	Tenant    string `json:"tenant"`
	Operation string `json:"operation"` // what it is for, such as an order's line
}

// Item is the record of one article.
type Item struct {
	SKU      string `json:"sku"`
	Free     int64  `json:"free"`
	Reserved int64  `json:"reserved"`
}

// Open opens the file at path, and makes it with its directory when it is not there.
func Open(ctx context.Context, path string) (*Stock, error) {
	store, err := sqlite.Open(ctx, path, nil)
	if err != nil {
		return nil, err
	}
	err = store.Write(ctx, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, tables)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the stock: %w", err), store.Close())
	}
	l, err := ledger.New(store, &ledger.Options{Place: ledger.Inside})
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	s := &Stock{store: store, ledger: l}
	s.watchers.stock = s
	return s, nil
}

// Close ends what watches the stock, and lets go of the file.
func (s *Stock) Close() error {
	s.watchers.close()
	return s.store.Close()
}

// Ledger is what makes a key reserve once.
func (s *Stock) Ledger() *ledger.Ledger { return s.ledger }

// ShortError says that there is less than was asked for, and nothing was reserved.
type ShortError struct {
	SKU         string
	Asked, Free int64
}

func (e *ShortError) Error() string {
	return fmt.Sprintf("%d of %s were asked for, and %d are free: nothing was reserved", e.Asked, e.SKU, e.Free)
}

// ErrNoSuchItem is returned for an article that the inventory does not have.
var ErrNoSuchItem = errors.New("no such article")

// reserve takes an order's quantity out of the stock, in the ledger's transaction.
// The record is read there, whatever the caller believed: nobody else writes until
// the commit. It returns what is left.
func reserve(ctx context.Context, tx *sql.Tx, id string, o Order) (free int64, err error) {
	err = tx.QueryRowContext(ctx, "SELECT free FROM stock WHERE sku = ?", o.SKU).Scan(&free)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return 0, fmt.Errorf("%w: %q", ErrNoSuchItem, o.SKU)
	case err != nil:
		return 0, err
	case free < o.Quantity:
		return 0, &ShortError{o.SKU, o.Quantity, free}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE stock SET free = free - ? WHERE sku = ?", o.Quantity, o.SKU); err != nil {
		return 0, err
	}
	_, err = tx.ExecContext(ctx, "INSERT INTO reservation (id, tenant, operation, sku, quantity) VALUES (?, ?, ?, ?, ?)",
		id, o.Tenant, o.Operation, o.SKU, o.Quantity)
	return free - o.Quantity, err
}

// Item reads the record of an article.
func (s *Stock) Item(ctx context.Context, sku string) (Item, error) {
	i := Item{SKU: sku}
	err := s.store.Reader().QueryRowContext(ctx, `SELECT free, (SELECT COALESCE(SUM(quantity), 0) FROM reservation WHERE sku = stock.sku)
		FROM stock WHERE sku = ?`, sku).Scan(&i.Free, &i.Reserved)
	if errors.Is(err, sql.ErrNoRows) {
		return i, fmt.Errorf("%w: %q", ErrNoSuchItem, sku)
	}
	return i, err
}

// Check says why the stock cannot be read. It changes nothing.
func (s *Stock) Check(ctx context.Context) error {
	var n int
	if err := s.store.Reader().QueryRowContext(ctx, "SELECT COUNT(*) FROM stock").Scan(&n); err != nil {
		return fmt.Errorf("read the stock: %w", err)
	}
	return nil
}
