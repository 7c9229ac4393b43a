package ledgertest

import (
	"context"
	"strings"
	"testing"
	"time"

	"junction/state/ledger"
)

type connector = func(*testing.T) ledger.Store

func oneOwner(t *testing.T, connect connector) {
	a, b := connect(t), connect(t)
	key := newKey()
	if _, err := b.Find(t.Context(), key); err == nil {
		t.Error("an unknown key was found")
	} else {
		wantErr(t, err, ledger.ErrNotFound)
	}
	first := take(t, a, claim(key, "a", ample), true)
	if !first.Live || first.Done || first.Claims != 1 || first.Executions != 0 || first.Receipt != "receipt of a" {
		t.Errorf("claimed: %+v", first)
	}
	e := take(t, b, claim(key, "b", ample), false)
	if e.Owner != "a" || !e.Live || e.Receipt != "receipt of a" || e.Key != key || e.Fingerprint != "f" {
		t.Errorf("the second owner is told %+v", e)
	}
}

func askedTwice(t *testing.T, connect connector) {
	s := connect(t)
	c := claim(newKey(), "a", ample)
	take(t, s, c, true)
	c.Receipt = "another"
	if e := take(t, s, c, true); e.Claims != 1 || e.Receipt != "receipt of a" {
		t.Errorf("asked twice: %+v", e)
	}
}

func takeOver(t *testing.T, connect connector) {
	s := connect(t)
	key := newKey()
	take(t, s, claim(key, "a", brief), true)
	c := claim(key, "b", ample)
	c.TakeOver = true
	var e ledger.Entry
	until(t, "the takeover", func() bool {
		var mine bool
		var err error
		e, mine, err = s.Claim(t.Context(), c)
		must(t, err)
		return mine
	})
	if e.Claims != 2 || e.Receipt != "receipt of a" || e.Owner != "b" || !e.Live {
		t.Errorf("taken over: %+v", e)
	}
	wantErr(t, s.Renew(t.Context(), key, "a", ample, time.Hour), ledger.ErrClaimLost)
	wantErr(t, s.Commit(t.Context(), key, "a", []byte(`1`), time.Hour), ledger.ErrClaimLost)
	must(t, s.Release(t.Context(), key, "a", false))
	must(t, s.Commit(t.Context(), key, "b", []byte(`2`), time.Hour))
	if e, err := s.Find(t.Context(), key); err != nil || string(e.Result) != "2" || e.Executions != 1 {
		t.Errorf("%+v, %v", e, err)
	}
}

func notTakenOver(t *testing.T, connect connector) {
	s := connect(t)
	key := newKey()
	take(t, s, claim(key, "a", brief), true)
	ended(t, s, key)
	unasked := claim(key, "b", ample)
	take(t, s, unasked, false)
	other := claim(key, "b", ample)
	other.TakeOver, other.Fingerprint = true, "another"
	if e := take(t, s, other, false); e.Fingerprint != "f" || e.Live || e.Done {
		t.Errorf("%+v", e)
	}
}

func renewed(t *testing.T, connect connector) {
	s := connect(t)
	key := newKey()
	take(t, s, claim(key, "a", brief), true)
	must(t, s.Renew(t.Context(), key, "a", ample, time.Hour))
	e, err := s.Find(t.Context(), key)
	must(t, err)
	if left := time.Until(e.Until); left < ample/2 {
		t.Errorf("a renewed lease lasts %v", left)
	}
	wantErr(t, s.Renew(t.Context(), key, "b", ample, time.Hour), ledger.ErrClaimLost)
	wantErr(t, s.Renew(t.Context(), newKey(), "a", ample, time.Hour), ledger.ErrClaimLost)
}

func commitOnce(t *testing.T, connect connector) {
	s := connect(t)
	key := newKey()
	take(t, s, claim(key, "a", ample), true)
	wantErr(t, s.Commit(t.Context(), key, "b", []byte(`"b"`), time.Hour), ledger.ErrClaimLost)
	wantErr(t, s.Commit(t.Context(), newKey(), "a", []byte(`"b"`), time.Hour), ledger.ErrClaimLost)
	must(t, s.Commit(t.Context(), key, "a", []byte(`"first"`), time.Hour))
	must(t, s.Commit(t.Context(), key, "a", []byte(`"second"`), time.Hour))
	c := claim(key, "a", ample)
	c.TakeOver = true
	e := take(t, s, c, false)
	if !e.Done || e.Live || string(e.Result) != `"first"` || e.Executions != 1 || e.Committed.IsZero() || !e.Until.IsZero() {
		t.Errorf("committed: %+v", e)
	}
	wantErr(t, s.Renew(t.Context(), key, "a", ample, time.Hour), ledger.ErrClaimLost)
}

func release(t *testing.T, connect connector) {
	s := connect(t)
	key := newKey()
	take(t, s, claim(key, "a", ample), true)
	must(t, s.Release(t.Context(), key, "b", false))
	must(t, s.Release(t.Context(), key, "b", true))
	if e, err := s.Find(t.Context(), key); err != nil || !e.Live {
		t.Fatalf("released by a stranger: %+v, %v", e, err)
	}
	must(t, s.Release(t.Context(), key, "a", true))
	if e, err := s.Find(t.Context(), key); err != nil || e.Live || e.Done {
		t.Fatalf("released without knowing: %+v, %v", e, err)
	}
	must(t, s.Release(t.Context(), key, "a", false))
	must(t, s.Release(t.Context(), key, "a", false))
	_, err := s.Find(t.Context(), key)
	wantErr(t, err, ledger.ErrNotFound)
	take(t, s, claim(key, "b", ample), true)
	must(t, s.Commit(t.Context(), key, "b", []byte(`1`), time.Hour))
	must(t, s.Release(t.Context(), key, "b", false))
	if e, err := s.Find(t.Context(), key); err != nil || !e.Done {
		t.Errorf("a committed key was freed: %+v, %v", e, err)
	}
}

func aliasing(t *testing.T, connect connector) {
	s := connect(t)
	key := newKey()
	take(t, s, claim(key, "a", ample), true)
	result := []byte(`{"a":1}`)
	must(t, s.Commit(t.Context(), key, "a", result, time.Hour))
	result[2] = 'x'
	for range 3 {
		e, err := s.Find(t.Context(), key)
		must(t, err)
		if string(e.Result) != `{"a":1}` {
			t.Fatalf("stored is %s", e.Result)
		}
		for i := range e.Result {
			e.Result[i] = '!'
		}
	}
}

func expiry(t *testing.T, connect connector) {
	s := connect(t)
	kept, gone, claimed := newKey(), newKey(), newKey()
	for _, key := range []string{kept, gone} {
		take(t, s, claim(key, "a", brief), true)
	}
	must(t, s.Commit(t.Context(), kept, "a", []byte(`1`), ledger.Forever))
	must(t, s.Commit(t.Context(), gone, "a", []byte(`1`), 4*brief))
	c := claim(claimed, "a", brief)
	c.Keeps = brief
	take(t, s, c, true)
	for _, key := range []string{gone, claimed} {
		until(t, "the end of "+key, func() bool {
			_, err := s.Find(t.Context(), key)
			return err != nil
		})
		_, err := s.Find(t.Context(), key)
		wantErr(t, err, ledger.ErrNotFound)
		wantErr(t, s.Commit(t.Context(), key, "a", []byte(`2`), time.Hour), ledger.ErrClaimLost)
		take(t, s, claim(key, "b", ample), true)
	}
	if e, err := s.Find(t.Context(), kept); err != nil || !e.Done {
		t.Errorf("what is kept for ever: %+v, %v", e, err)
	}
}

func anyKey(t *testing.T, connect connector) {
	s := connect(t)
	keys := []string{"a", "a ", "A", "{a}", "a}b", "'", `"`, "%", "größe", "a\x00b", "a\nb", strings.Repeat("k", ledger.MaxKey)}
	for _, key := range keys {
		take(t, s, claim(key, "owner of "+key, ample), true)
	}
	for _, key := range keys {
		if e, err := s.Find(t.Context(), key); err != nil || e.Key != key || e.Owner != "owner of "+key {
			t.Errorf("%q: %+v, %v", key, e, err)
		}
	}
}

func cancelled(t *testing.T, connect connector) {
	s := connect(t)
	key := newKey()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, mine, err := s.Claim(ctx, claim(key, "a", ample)); err == nil || mine {
		t.Errorf("claimed: %v, %v", mine, err)
	}
	if err := s.Commit(ctx, key, "a", []byte(`1`), time.Hour); err == nil {
		t.Error("committed")
	}
	_, err := s.Find(t.Context(), key)
	wantErr(t, err, ledger.ErrNotFound)
}
