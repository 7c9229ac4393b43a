package redis

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// packer encodes what one operation stores, before its script is sent.
type packer struct{ state.Packer }

// appendBlobs appends the gathered leaves as scripts take them.
func (p *packer) appendBlobs(args []any) []any { return appendBlobs(args, p.Blobs) }

func appendBlobs(args []any, blobs []state.StoredBlob) []any {
	args = append(args, len(blobs))
	for _, b := range blobs {
		args = append(args, b.Hash, b.Stored)
	}
	return args
}

// packedRecord is a record as scripts take it.
type packedRecord struct {
	field, kind, seq, started, data string
	result                          []byte // "=" and the packed result, or empty
}

// Kinds of stored records, by the rules of state.Merge: an open one replaces no
// ended one, and nothing replaces a final success.
const (
	recordOpen  = "0"
	recordEnded = "1"
	recordFinal = "2"
)

// records encodes records; results says whether those are kept.
func (p *packer) records(records []state.Record, results bool) []packedRecord {
	out := make([]packedRecord, len(records))
	for i, r := range records {
		if r.Decision != nil && !json.Valid(r.Decision) {
			p.Fail(fmt.Errorf("record of hop %s: its decision is not JSON", r.Hop))
			continue
		}
		rec := packedRecord{field: recordField(r), kind: recordEnded, seq: strconv.FormatInt(r.Seq, 10), started: "-"}
		switch {
		case r.Status == state.CallOpen:
			rec.kind = recordOpen
		case r.Status == state.CallSuccess && r.Final:
			rec.kind = recordFinal
		}
		if !r.Started.IsZero() {
			rec.started = strconv.FormatInt(r.Started.UnixNano(), 10)
		}
		if results && r.Result != nil {
			rec.result = append([]byte{'='}, p.Value(r.Result)...)
		}
		rec.data = p.recordText(&r)
		out[i] = rec
	}
	return out
}

func recordField(r state.Record) string {
	out := make([]byte, 0, len(r.Hop)+16)
	out = append(append(strconv.AppendInt(out, r.Seq, 10), ':'), r.Hop...)
	out = strconv.AppendInt(append(out, ':'), int64(r.Round), 10)
	return string(strconv.AppendInt(append(out, ':'), int64(r.Attempt), 10))
}

// appendRecords appends records as scripts take them.
func appendRecords(args []any, records []packedRecord) []any {
	args = append(args, len(records))
	for _, r := range records {
		args = append(args, r.field, r.kind, r.seq, r.started, r.data, r.result)
	}
	return args
}

// unpacker puts back the leaves of a thread.
func (s *Store) unpacker(ctx context.Context, id string) *state.Unpacker {
	return &state.Unpacker{Fetch: func(hash string) ([]byte, error) { return s.fetch(ctx, id, hash) }}
}

// fetch reads a large value by its hash, or fails with ErrNotFound.
func (s *Store) fetch(ctx context.Context, id, hash string) ([]byte, error) {
	var (
		stored []byte
		found  bool
	)
	err := s.try(ctx, "read a large value of thread "+id, func(ctx context.Context, _ int) (err error) {
		stored, err = s.client.HGet(ctx, s.threadKeys(id)[keyBlobs], hash).Bytes()
		found = err != goredis.Nil
		if !found {
			err = nil
		}
		return err
	})
	if err != nil {
		return nil, s.blameThread(ctx, id, err)
	}
	if !found {
		return nil, fmt.Errorf("blob %.12s…: %w", hash, state.ErrNotFound)
	}
	data, err := state.Unsqueeze(stored)
	if err != nil {
		return nil, fmt.Errorf("blob %.12s…: %w: %w", hash, state.ErrCorrupt, err)
	}
	return data, nil
}
