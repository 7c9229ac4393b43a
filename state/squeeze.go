package state

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// CompressThreshold is the size in bytes above which stored data is compressed.
const CompressThreshold = 512 << 10

// maxExpanded bounds what stored data may expand to: a value that could be
// stored at all is smaller.
const maxExpanded = 1 << 30

const (
	plainData byte = 0 // the first byte of stored data: as it is
	zstdData  byte = 1 // … or compressed
)

var (
	encoder = sync.OnceValues(func() (*zstd.Encoder, error) {
		return zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderLevel(zstd.SpeedFastest))
	})
	decoder = sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxExpanded))
	})
)

// Squeeze gives data the form in which backends store it: compressed when it is
// large and that helps, behind a byte that says which.
func Squeeze(data []byte) ([]byte, error) {
	if len(data) > CompressThreshold {
		enc, err := encoder()
		if err != nil {
			return nil, fmt.Errorf("compress %d bytes: %w", len(data), err)
		}
		if out := enc.EncodeAll(data, []byte{zstdData}); len(out) <= len(data) {
			return out, nil
		}
	}
	return slices.Concat([]byte{plainData}, data), nil
}

// Unsqueeze undoes Squeeze. The result shares nothing with stored.
func Unsqueeze(stored []byte) ([]byte, error) {
	if len(stored) == 0 {
		return nil, errors.New("stored data is empty")
	}
	switch stored[0] {
	case plainData:
		return bytes.Clone(stored[1:]), nil
	case zstdData:
		dec, err := decoder()
		if err != nil {
			return nil, fmt.Errorf("expand stored data: %w", err)
		}
		data, err := dec.DecodeAll(stored[1:], nil)
		if err != nil {
			return nil, fmt.Errorf("expand stored data: %w", err)
		}
		return data, nil
	default:
		return nil, fmt.Errorf("stored data has the unknown form %d", stored[0])
	}
}
