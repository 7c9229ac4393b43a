package router

import "time"

const (
	backoffBase = 250 * time.Millisecond
	backoffCap  = 8 * time.Second
)

// backoff is the time before the nth try (from 1) at the same server: full
// jitter over 250 ms doubled each time up to 8 s. u in [0, 1) is the chance.
func backoff(n int, u float64) time.Duration {
	span := backoffCap
	if n-1 < 5 {
		span = min(backoffBase<<max(n-1, 0), backoffCap)
	}
	return time.Duration(u * float64(span))
}

// mix spreads seeds: neighbouring inputs give unrelated outputs.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
