package mcp

import (
	crand "crypto/rand"
	"encoding/binary"
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// Backoff paces attempts at a server that cannot be reached: the n-th failure
// in a row is followed by a wait drawn evenly from [0, min(Base·2ⁿ⁻¹, Cap)).
// There is no last attempt: an outage may be longer than any count of tries.
type Backoff struct {
	Base time.Duration // default 250 ms
	Cap  time.Duration // default 8 s
	// Seed is the client's id for its draws. Clients with different seeds spread;
	// the same seed, server and attempt always give the same wait. Default: a
	// random one, since clients that share one would come back all at once.
	Seed uint64
}

func (b Backoff) withDefaults() Backoff {
	b.Base = orDefault(b.Base, 250*time.Millisecond)
	b.Cap = orDefault(b.Cap, 8*time.Second)
	for b.Seed == 0 {
		var seed [8]byte
		crand.Read(seed[:]) //nolint:errcheck // it cannot fail
		b.Seed = binary.LittleEndian.Uint64(seed[:])
	}
	return b
}

// Delay is the wait after the n-th failure in a row at a server, n from 1. Without a
// Seed it is another one each time.
func (b Backoff) Delay(server string, n int) time.Duration { return b.withDefaults().delay(server, n) }

// delay returns the wait after the n-th failure in a row, n from 1.
func (b Backoff) delay(server string, n int) time.Duration {
	ceiling := b.Cap
	if shift := n - 1; shift < 32 && b.Base<<shift < b.Cap && b.Base<<shift > 0 {
		ceiling = b.Base << shift
	}
	h := fnv.New64a()
	h.Write([]byte(server))
	draw := rand.New(rand.NewPCG(b.Seed^h.Sum64(), uint64(n)))
	return time.Duration(draw.Int64N(int64(ceiling)))
}
