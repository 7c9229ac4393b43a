package sqlite

import (
	"database/sql"
	"errors"
	"fmt"

	"junction/state"
)

// packer encodes what one operation stores, before its transaction begins.
type packer struct{ state.Packer }

// head encodes what a checkpoint's row holds beside values, key and lineage.
func (p *packer) head(c state.Checkpoint) headRow {
	return headRow{Step: c.Step, Source: c.Source, Channels: c.Channels, Arrived: c.Arrived, Next: p.Tasks(c.Next)}
}

// store puts the gathered leaves with a thread; those it has already are free.
func (p *packer) store(x *tx, t int64) error {
	for _, b := range p.Blobs {
		if err := x.exec(`INSERT INTO blobs (t, hash, data) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`, t, b.Hash, b.Stored); err != nil {
			return err
		}
	}
	return nil
}

// readBlob scans one stored blob.
func readBlob(hash string, scan func(...any) error) ([]byte, error) {
	var stored []byte
	err := scan(&stored)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("blob %.12s…: %w", hash, state.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	return state.Unsqueeze(stored)
}
