package redis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"junction/state/redis/redistest"
)

// eventually looks again until it is so.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within 30s", what)
		}
	}
}

// infoField reads one line of INFO behind the store's back; "" while the server
// does not answer.
func infoField(t *testing.T, server *redistest.Server, section, name string) string {
	t.Helper()
	client := server.Client()
	defer client.Close()
	text, err := client.Info(t.Context(), section).Result()
	if err != nil {
		return ""
	}
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
