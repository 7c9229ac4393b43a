package hostiletest_test

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/router/mcp/hostiletest"
	"junction/state"
)

// peak watches how much more memory the heap's objects take than they do now,
// until the returned function is called.
func peak() (most func() int64) {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	read := func() int64 {
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	runtime.GC()
	base, highest := read(), int64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			highest = max(highest, read()-base)
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	return func() int64 {
		close(stop)
		<-stopped
		return highest
	}
}

// Not parallel: it looks at the memory of the whole process. Both eras read a flood with
// the same code, so that the short form takes them in turn; the long one (JUNCTION_LONG=1)
// takes each.
func TestWhatAServerFloodsAClientWithIsNotKept(t *testing.T) {
	const limit, over = 16 << 20, 64 << 20
	large, unlisted := ending{router.OutputInvalid, state.Unknown, ""}, ending{router.OutputInvalid, state.NotExecuted, ""}
	long := os.Getenv("JUNCTION_LONG") == "1"
	for n, c := range []struct {
		fault       hostiletest.Fault
		stdio, http *ending
	}{
		{hostiletest.Huge, &large, &large},
		{hostiletest.HugeIDLast, &large, &large},
		{hostiletest.HugeEvent, nil, &large},
		{hostiletest.Compressed, nil, &large},
		{hostiletest.HugeHeader, nil, &broken},
		{hostiletest.Nested, &invalid, &invalid},
		{hostiletest.Amplified, &large, &large},
		{hostiletest.FloodsJunk, &well, nil},
		{hostiletest.FloodsStderr, &well, nil},
		{hostiletest.FloodsProgress, &maximum, &maximum},
		{hostiletest.FloodsThenEnds, &well, &well},
		{hostiletest.Asks, &well, &well},
		{hostiletest.Stray, &well, &invalid},
		{hostiletest.HundredThousand, &unlisted, &unlisted},
	} {
		for _, w := range ways {
			want := c.stdio
			if w.http {
				want = c.http
			}
			if want == nil || !long && w.modern != (n%2 == 0) {
				continue
			}
			t.Run(string(c.fault)+", "+w.name, func(t *testing.T) {
				world := hostiletest.NewWorld(t)
				s := w.start(t, &hostiletest.Server{ID: "bad-7f3a", Fault: c.fault, Times: 1, World: world.URL})
				client := newClient(t, mcp.Options{MaxResponseBytes: limit, KeepConnections: 4})
				goroutines := runtime.NumGoroutine()
				most := peak()
				begun := time.Now()
				_, err := client.Describe(t.Context(), s)
				if err == nil {
					_, err = client.Call(t.Context(), s, tried(*want))
				}
				took, bytes := time.Since(begun), most()
				check(t, err, *want, s.ID)
				t.Logf("%d MB more, in %v", bytes>>20, took.Round(time.Millisecond))
				if bytes > limit+over {
					t.Errorf("%d MB more were held, want at most %d", bytes>>20, (limit+over)>>20)
				}
				if took > 40*time.Second {
					t.Errorf("it took %v", took)
				}
				eventually(t, "what was started has ended", func() bool { return runtime.NumGoroutine() < goroutines+40 })
			})
		}
	}
}

// A call's records and pages show its error: whatever a server says, it is short.
func TestAnErrorOfAnyLengthIsToldInShort(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			s := w.start(t, &hostiletest.Server{ID: "bad-7f3a", Fault: hostiletest.LongError, World: hostiletest.NewWorld(t).URL})
			_, err := newClient(t, mcp.Options{}).Call(t.Context(), s, tried(well))
			e := callError(t, err)
			if shown := fmt.Sprintf("%v %v %v", err, e.Message, e.Err); len(shown) > 8<<10 || strings.ContainsAny(shown, "\x1b\x00") {
				t.Errorf("%d bytes: %.200q", len(shown), shown)
			}
		})
	}
}
