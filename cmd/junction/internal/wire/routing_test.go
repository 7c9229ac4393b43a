package wire

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"junction/health"
	"junction/router"
	"junction/state"
	"junction/state/redis"
	"junction/state/redis/redistest"
)

// The servers file's policies are in force, and a program on a Redis is one of its
// fleet as long as it runs.
func TestAProgramOnARedisJoinsItsFleetAndAsksPrometheus(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	rates := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, _ = w.Write([]byte(`{"status":"success","data":{"resultType":"vector","result":[]}}`))
	}))
	defer rates.Close()
	file := filepath.Join(t.TempDir(), "junction.yaml")
	text := "routing: {score: linear, attempts: 7, retry_floor: 9, prometheus: \"" + rates.URL + "\"}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	address := redistest.Start(t).Address() + "?prefix=" + uuid.NewString()
	app, err := Open(t.Context(), Settings{Store: address, Config: file})
	if err != nil {
		t.Fatal(err)
	}
	var o router.Options
	if err := app.routing(app.config, Settings{}, &o); err != nil || o.Attempts != 7 || o.RetryFloor != 9 || o.Score != (health.Linear{}) || o.Rates == nil || o.Fleet == nil {
		t.Errorf("%v, options %+v, want those of the file", err, o)
	}
	closed := false
	defer func() {
		if !closed {
			_ = app.Close()
		}
	}()
	s, err := redis.Open(t.Context(), address, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	others := func() int {
		all, err := s.Exchange(t.Context(), "reader", []state.Share{}, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	eventually := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !done(); <-time.After(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("after 10s not: %s", what)
			}
		}
	}
	eventually("it is one of the fleet", func() bool { return others() == 1 })
	eventually("Prometheus was asked", func() bool { return asked.Load() > 0 })
	closed = true
	if err := app.Close(); err != nil {
		t.Error(err)
	}
	eventually("it has left the fleet", func() bool { return others() == 0 })
}
