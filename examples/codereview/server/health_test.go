package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"junction/examples/codereview/rustreview"
)

// ask looks at a server's health and says what it answered.
func ask(t *testing.T, h http.Handler, query string) (int, condition) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, healthPath+query, nil))
	var c condition
	if err := json.Unmarshal(w.Body.Bytes(), &c); err != nil {
		t.Fatalf("%s: %v", w.Body, err)
	}
	return w.Code, c
}

// started is a server made from flags.
func started(t *testing.T, args ...string) *Server {
	t.Helper()
	o, err := parse(args, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestEveryCapabilityIsExercised(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ reviewer, capability string }{
		{"go", "code-review"}, {"js", "code-review"}, {"python", "code-review"}, {"rust", "code-review"}, {"secrets", "code-review"},
		{"diff", "diff"}, {"report", "report"}, {"ledger", "publish"},
	} {
		t.Run(tt.reviewer, func(t *testing.T) {
			t.Parallel()
			if tt.reviewer == "rust" && rustreview.Available() != nil {
				t.Skip("rustc is not installed")
			}
			s := started(t, "--reviewer", tt.reviewer, "--dir", t.TempDir())
			s.health.bound = time.Minute // of a busy machine
			for range 2 {
				if code, c := ask(t, s.health, "?capability="+tt.capability); code != http.StatusOK || c.Status != "passing" || c.Capability != tt.capability {
					t.Errorf("%d %+v", code, c)
				}
			}
			if code, c := ask(t, s.health, "?capability=cooking"); code != http.StatusNotFound || !strings.Contains(c.Reason, tt.capability) {
				t.Errorf("a capability it lacks: %d %+v", code, c)
			}
		})
	}
}

func TestALookLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := started(t, "--reviewer", "ledger", "--dir", dir)
	if code, c := ask(t, s.health, ""); code != http.StatusOK {
		t.Errorf("%d %+v", code, c)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("it made %v, %v", left, err)
	}
}

func TestWhatDoesNotWorkSaysWhy(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("no database, by far"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", t.TempDir())
	for _, tt := range []struct {
		name, want string
		args       []string
	}{
		{"told so", "told to fail", []string{"--reviewer", "js", "--fail-health"}},
		{"no git", "git is not installed", []string{"--reviewer", "diff"}},
		{"ledger is a directory", "ledger", []string{"--reviewer", "ledger", "--ledger", dir}},
		{"ledger is another file", "ledger", []string{"--reviewer", "ledger", "--ledger", file}},
		{"ledger inside of a file", "not a directory", []string{"--reviewer", "ledger", "--ledger", filepath.Join(file, "l.db")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := started(t, tt.args...)
			code, c := ask(t, s.health, "")
			if code != http.StatusServiceUnavailable || c.Status != "critical" || !strings.Contains(c.Reason, tt.want) {
				t.Errorf("%d %+v", code, c)
			}
		})
	}
}

func TestFaultsOfCallsDoNotReachHealthButHangingDoes(t *testing.T) {
	t.Parallel()
	s := started(t, "--reviewer", "js", "--fail", "1.0", "--slow", "1h", "--die-after", "0")
	if code, c := ask(t, s.health, ""); code != http.StatusOK {
		t.Errorf("%d %+v", code, c)
	}
	synctest.Test(t, func(t *testing.T) {
		s := started(t, "--reviewer", "js", "--hang")
		begun := time.Now()
		code, c := ask(t, s.health, "")
		if code != http.StatusServiceUnavailable || time.Since(begun) != healthTime {
			t.Errorf("%d %+v after %v", code, c, time.Since(begun))
		}
	})
}

func TestThoseWhoAskTogetherShareOneLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		h := newHealth("x", func(context.Context) error {
			looks.Add(1)
			<-time.After(time.Second)
			return nil
		})
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if code, c := ask(t, h, ""); code != http.StatusOK || c.DurationMS != 1000 {
					t.Errorf("%d %+v", code, c)
				}
			})
		}
		all.Wait()
		if looks.Load() != 1 {
			t.Errorf("%d looks", looks.Load())
		}
		ask(t, h, "")
		if looks.Load() != 2 {
			t.Errorf("%d looks: what was answered earlier is no answer", looks.Load())
		}
		h.close()
	})
}

func TestALookThatDoesNotEndIsOneAndIsAnsweredInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		stuck := make(chan struct{})
		h := newHealth("x", func(context.Context) error {
			looks.Add(1)
			<-stuck // whatever its context says
			return nil
		})
		for range 3 {
			begun := time.Now()
			code, c := ask(t, h, "")
			if code != http.StatusServiceUnavailable || time.Since(begun) != healthTime || !strings.Contains(c.Reason, "did not finish") {
				t.Errorf("%d %+v after %v", code, c, time.Since(begun))
			}
		}
		if looks.Load() != 1 {
			t.Errorf("%d looks are stuck", looks.Load())
		}
		close(stuck)
		synctest.Wait()
		if code, c := ask(t, h, ""); code != http.StatusOK {
			t.Errorf("once it is free: %d %+v", code, c)
		}
		h.close()
	})
}

func TestALookEndsWithItsServerAndSurvivesAPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHealth("x", func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		})
		var asked sync.WaitGroup
		asked.Go(func() {
			if _, c := ask(t, h, ""); !strings.Contains(c.Reason, context.Canceled.Error()) {
				t.Errorf("%+v", c)
			}
		})
		synctest.Wait()
		h.close()
		asked.Wait()
		if code, c := ask(t, h, ""); code != http.StatusServiceUnavailable || !strings.Contains(c.Reason, "ending") {
			t.Errorf("%d %+v", code, c)
		}
	})
	h := newHealth("x", func(context.Context) error { panic(errors.New("choked")) })
	defer h.close()
	if code, c := ask(t, h, ""); code != http.StatusServiceUnavailable || !strings.Contains(c.Reason, "choked") {
		t.Errorf("%d %+v", code, c)
	}
}
