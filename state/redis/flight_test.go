package redis

import (
	"net"
	"strings"
	"testing"
	"time"

	"junction/state"
)

func TestATryOnAClusterThatIsSilentEndsInItsTime(t *testing.T) {
	t.Parallel()
	var hosts []string
	for range 8 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer l.Close() //nolint:errcheck // nothing was sent
		hosts = append(hosts, l.Addr().String())
	}
	// Each connection waits for the answer to its TLS handshake.
	to, err := parse("redis-cluster://" + strings.Join(hosts, ",") + "?tls=true&timeout=500ms&retry=0s")
	must(t, err)
	o, err := to.options(nil)
	must(t, err)
	var calls flights
	client, err := to.client(&calls, o.Timeout)
	must(t, err)
	s := newStore(client, "silent", o)
	s.tries.flights = &calls
	begun := time.Now()
	wantErr(t, s.Release(t.Context(), state.Lease{Thread: "t", Token: 1}), state.ErrUnavailable)
	if took := time.Since(begun); took > 5*o.Timeout {
		t.Errorf("it took %v", took)
	}
	must(t, s.Close())
}
