package mcp

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"junction/router"
	"junction/state"
)

// mint issues numbered tokens.
type mint struct {
	ttl, look time.Duration
	takes     time.Duration // to issue one
	made      atomic.Int32
	down      atomic.Bool
}

func (m *mint) fixed() bool { return false }

func (m *mint) token(ctx context.Context, _ demand) (issued, *router.CallError) {
	n := m.made.Add(1)
	select {
	case <-time.After(m.takes):
	case <-ctx.Done():
		return issued{}, notSent(router.Transport, "cut", nil)
	}
	if m.down.Load() {
		return issued{}, notSent(router.Transport, "down", nil)
	}
	return issued{token: fmt.Sprint("token-", n), ttl: m.ttl, look: m.look}, nil
}

// withMint is a wallet whose one card has been settled on.
func withMint(t *testing.T, m *mint) *wallet {
	t.Helper()
	w := newWallet(&router.Dial{URL: "https://h.example/mcp"}, masking(nil), func(int) time.Duration { return time.Second })
	t.Cleanup(func() { w.close(); w.wait() })
	w.cards = []*card{{kind: kindOAuth, header: "Authorization", issue: m, pace: func(int) time.Duration { return time.Second }}}
	b, e := w.obtain(t.Context(), w.cards[0], nil, demand{})
	if e != nil {
		t.Fatal(e)
	}
	w.settle(b)
	return w
}

func worn(t *testing.T, w *wallet) string {
	t.Helper()
	b, e := w.wear(t.Context())
	if e != nil {
		return string(e.Code)
	}
	return b.token
}

func TestATokenIsRenewedBesideTheCallsAndWaitedForAtItsEnd(t *testing.T) {
	for _, c := range []struct{ ttl, renews, waits time.Duration }{
		{time.Hour, 300 * time.Second, time.Hour - 30*time.Second},
		{400 * time.Second, 280 * time.Second, 370 * time.Second},
		{60 * time.Second, 30 * time.Second, 30 * time.Second},
		{20 * time.Second, 10 * time.Second, 10 * time.Second},
	} {
		synctest.Test(t, func(t *testing.T) {
			m := &mint{ttl: c.ttl}
			w := withMint(t, m)
			begun := time.Now()
			at := func(after time.Duration) string {
				<-time.After(time.Until(begun.Add(after))) // of the bubble
				defer synctest.Wait()
				return worn(t, w)
			}
			if got := at(c.renews - time.Second); got != "token-1" || m.made.Load() != 1 {
				t.Errorf("ttl %v: %s, %d made", c.ttl, got, m.made.Load())
			}
			m.takes = time.Millisecond
			want := "token-1" // while the next is fetched
			if c.renews == c.waits {
				want = "token-2"
			}
			if got := at(c.renews); got != want {
				t.Errorf("ttl %v: %s when it is due", c.ttl, got)
			}
			if got := at(c.renews + time.Second); got != "token-2" || m.made.Load() != 2 {
				t.Errorf("ttl %v: %s, %d made", c.ttl, got, m.made.Load())
			}
			// The issuer is down from here on: the token serves to its very end.
			m.down.Store(true)
			second := c.renews + c.ttl
			if got := at(second - time.Second); got != "token-2" {
				t.Errorf("ttl %v: %s before its end", c.ttl, got)
			}
			if got := at(second + 2*time.Second); got != string(router.Transport) {
				t.Errorf("ttl %v: %s after its end", c.ttl, got)
			}
			made := m.made.Load()
			for range 10 {
				worn(t, w)
			}
			if m.made.Load() != made {
				t.Error("the issuer is asked with every call")
			}
			m.down.Store(false)
			if got := at(second + 5*time.Second); got != fmt.Sprint("token-", m.made.Load()) {
				t.Errorf("ttl %v: %s when the issuer is back", c.ttl, got)
			}
		})
	}
}

func TestFiftyCallsAtTheEndOfATokenWaitForOneNewOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mint{ttl: time.Minute, takes: time.Second}
		w := withMint(t, m)
		<-time.After(61 * time.Second)
		var calls sync.WaitGroup
		for range 50 {
			calls.Go(func() {
				if got := worn(t, w); got != "token-2" {
					t.Error(got)
				}
			})
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, e := w.wear(ctx); e == nil || e.Code != router.Timeout {
			t.Errorf("a call whose time is up waits: %v", e)
		}
		calls.Wait()
		if m.made.Load() != 2 {
			t.Errorf("%d tokens", m.made.Load())
		}
	})
}

func TestAClosedWalletFetchesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &mint{ttl: time.Minute, takes: time.Hour}
		w := newWallet(&router.Dial{URL: "https://h.example/mcp"}, masking(nil), func(int) time.Duration { return time.Second })
		k := &card{kind: kindOAuth, header: "Authorization", issue: m, pace: func(int) time.Duration { return time.Second }}
		r := w.renew(k, nil, demand{})
		w.close()
		w.wait()
		<-r.done
		if r.err == nil {
			t.Error("a token of a closed wallet")
		}
		<-time.After(time.Minute)
		if r := w.renew(k, nil, demand{}); r.err == nil || m.made.Load() != 1 {
			t.Errorf("%v, %d fetched", r.err, m.made.Load())
		}
	})
}

func TestWhatIsNoFileWithATokenIsSaidSo(t *testing.T) {
	dir := t.TempDir()
	long, lines := filepath.Join(dir, "long"), filepath.Join(dir, "lines")
	for path, text := range map[string]string{long: strings.Repeat("x", maxToken+1), lines: "hunter2\nhunter2"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, says := range map[string]string{
		dir: "no regular file", filepath.Join(dir, "none"): "no such file", long: "more than a token", lines: "more than one line",
	} {
		_, e := tokenFile(path).token(t.Context(), demand{})
		if e == nil || e.Code != router.AuthMismatch || e.Execution != state.NotExecuted || !strings.Contains(e.Message, says) || strings.Contains(e.Message, "hunter2") {
			t.Errorf("%s: %v", says, e)
		}
	}
	if _, _, err := signer(lines); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a key file without a key: %v", err)
	}
}

func TestASettledCredentialCostsACallNoMoreThanAHeader(t *testing.T) {
	req, err := http.NewRequest(http.MethodPost, "https://h.example/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	h := &origin{scheme: "https", host: "h.example", headers: map[string]string{"Authorization": "Bearer x"}}
	plain := *req
	today := testing.AllocsPerRun(100, func() {
		*req = plain
		h.dressed(req, nil)
	})
	m := &mint{ttl: time.Hour}
	h.headers, h.wallet = nil, withMint(t, m)
	now := testing.AllocsPerRun(100, func() {
		*req = plain
		b, e := h.wallet.wear(req.Context())
		if e != nil {
			t.Fatal(e)
		}
		h.dressed(req, b)
	})
	if now > today {
		t.Errorf("%v allocations, %v with a header", now, today)
	}
}

func BenchmarkDressed(b *testing.B) {
	req, err := http.NewRequest(http.MethodPost, "https://h.example/mcp", nil)
	if err != nil {
		b.Fatal(err)
	}
	w := newWallet(&router.Dial{URL: "https://h.example/mcp"}, masking(nil), func(int) time.Duration { return 0 })
	k := &card{kind: kindOAuth, header: "Authorization", issue: &mint{}}
	w.worn.Store(k.made(issued{token: "x", ttl: time.Hour}, time.Now(), demand{}))
	plain := *req
	for name, h := range map[string]*origin{
		"header":     {scheme: "https", host: "h.example", headers: map[string]string{"Authorization": "Bearer x"}, wallet: &wallet{}},
		"credential": {scheme: "https", host: "h.example", wallet: w},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				*req = plain
				worn, e := h.wallet.wear(req.Context())
				if e != nil {
					b.Fatal(e)
				}
				h.dressed(req, worn)
			}
		})
	}
}
