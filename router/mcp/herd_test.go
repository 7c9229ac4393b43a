package mcp

import (
	"slices"
	"testing"
	"time"
)

// comeBack are the times, since the server went, at which a client tries again,
// until the first try after the server is back.
func comeBack(b Backoff, outage time.Duration) []time.Duration {
	var at []time.Duration
	for now, n := time.Duration(0), 1; now < outage; n++ {
		now += b.delay("srv", n)
		at = append(at, now)
	}
	return at
}

// herd is what many clients do that lose a server at the same moment, in buckets of
// 100 ms from then until the last of them is back.
type herd struct {
	tries   []int // attempts
	returns []int // of them the successful ones, from the moment the server is back
}

const bucket = 100 * time.Millisecond

func simulate(clients int, outage time.Duration, seed func(client int) uint64) herd {
	h := herd{make([]int, (outage+10*time.Second)/bucket), make([]int, 10*time.Second/bucket)}
	for client := range clients {
		at := comeBack(Backoff{Seed: seed(client)}.withDefaults(), outage)
		for _, t := range at {
			h.tries[t/bucket]++
		}
		h.returns[(at[len(at)-1]-outage)/bucket]++
	}
	return h
}

// fullest is the most that a bucket holds from the given one on, and how many times
// the mean of all that is; empty buckets at the end do not count.
func fullest(buckets []int, from int) (most int, ratio float64) {
	last := len(buckets)
	for last > 0 && buckets[last-1] == 0 {
		last--
	}
	total := 0
	for _, n := range buckets[:last] {
		total += n
	}
	most = slices.Max(buckets[min(from, last-1):last])
	return most, float64(most) * float64(last) / float64(total)
}

// The bound of three times the mean (R35) is on outages of up to ten seconds, a
// server's restart: the waits grow, so that in a longer one the mean falls and its
// first seconds stand out, however evenly the clients spread. What holds for any
// outage is that no bucket stands out from its neighbours, and that those who return
// do not do so all at once.
func TestTenThousandClientsDoNotComeBackInAHerd(t *testing.T) {
	t.Parallel()
	const clients, second = 10_000, int(time.Second / bucket)
	own := func(client int) uint64 { return uint64(client) + 1 }
	for _, outage := range []time.Duration{5 * time.Second, 10 * time.Second, time.Minute} {
		h := simulate(clients, outage, own)
		most, ratio := fullest(h.tries[:outage/bucket], second)
		back, backRatio := fullest(h.returns, 0)
		t.Logf("away for %v: meanwhile, after the first second, at most %d attempts in %v, %.2f × the mean; at the return at most %d, %.2f × the mean",
			outage, most, bucket, ratio, back, backRatio)
		if outage <= 10*time.Second && ratio > 3 {
			t.Errorf("away for %v: %d attempts in one bucket, %.2f × the mean", outage, most, ratio)
		}
		if backRatio > 3 || back > clients/20 {
			t.Errorf("away for %v: %d of %d return in one bucket, %.2f × the mean", outage, back, clients, backRatio)
		}
		for i := second; i+second < int(outage/bucket); i++ { // no bucket stands out from those before it
			if before := slices.Max(h.tries[i-second : i]); h.tries[i] > before*5/4 {
				t.Errorf("away for %v: %d attempts at %v, where at most %d were in a bucket of the second before", outage, h.tries[i], time.Duration(i)*bucket, before)
			}
		}
	}
	same := simulate(clients, 10*time.Second, func(int) uint64 { return 1 })
	if _, ratio := fullest(same.tries[:10*second], second); ratio <= 3 {
		t.Errorf("clients that share an id spread as well (%.2f × the mean): this test shows nothing", ratio)
	}
}

func TestAWaitFollowsFromClientServerAndAttempt(t *testing.T) {
	t.Parallel()
	b := Backoff{}.withDefaults()
	if b.Base != 250*time.Millisecond || b.Cap != 8*time.Second {
		t.Fatalf("%+v", b)
	}
	for n := 1; n <= 70; n++ { // far beyond where a shift would overflow
		ceiling := 8 * time.Second
		if n < 6 {
			ceiling = 250 * time.Millisecond << (n - 1)
		}
		var low, high bool
		for client := range uint64(200) {
			b.Seed = client + 1
			d := b.delay("srv", n)
			if d < 0 || d >= ceiling || d != (Backoff{Seed: client + 1}).withDefaults().delay("srv", n) {
				t.Fatalf("attempt %d of client %d: %v", n, client, d)
			}
			low, high = low || d < ceiling/8, high || d > ceiling*7/8
		}
		if !low || !high {
			t.Errorf("attempt %d: the jitter is not over all of [0, %v)", n, ceiling)
		}
	}
	if b.delay("a", 3) == b.delay("b", 3) || b.delay("a", 3) == b.delay("a", 4) {
		t.Error("another server or another attempt waits just as long")
	}
	if x, y := (Backoff{}).withDefaults(), (Backoff{}).withDefaults(); x.Seed == 0 || x.Seed == y.Seed {
		t.Error("two clients without an id draw alike")
	}
}
