package redistest_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"junction/state/redis/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(redistest.Wrap(m)) }

func TestServerKeepsItsPortAndItsFileOverARestart(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "appendonly", "yes", "appendfsync", "always")
	before := s.Addr()
	s.Do("SET", "k", "v")
	s.Kill()
	if c, err := net.Dial("tcp", s.Addr()); err == nil {
		c.Close()
		t.Fatal("a killed server accepts connections")
	}
	s.Restart()
	if got := s.Do("GET", "k"); got != "v" || s.Addr() != before {
		t.Errorf("after a restart %s holds %v, want %s and v", s.Addr(), got, before)
	}
}

func TestStoppedServerAnswersNothingUntilItGoesOn(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	s.Stop()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := io.WriteString(c, "PING\r\n"); err != nil {
		t.Fatal(err)
	}
	answer := make(chan string, 1)
	go func() {
		line, err := bufio.NewReader(c).ReadString('\n')
		if err != nil {
			line = err.Error()
		}
		answer <- line
	}()
	select {
	case got := <-answer:
		t.Fatalf("a stopped server says %q", got)
	case <-time.After(50 * time.Millisecond):
	}
	s.Cont()
	if got := <-answer; got != "+PONG\r\n" {
		t.Errorf("after going on it says %q", got)
	}
}

func TestSharedServerIsOne(t *testing.T) {
	t.Parallel()
	a, b := redistest.Shared(t), redistest.Shared(t)
	a.Do("SET", "shared:x", "1")
	if got := b.Do("GET", "shared:x"); got != "1" {
		t.Errorf("the second user sees %v", got)
	}
}

// proxied returns a client whose server is behind a proxy.
func proxied(t *testing.T) (*redistest.Proxy, *redistest.Server, *goredis.Client) {
	t.Helper()
	s := redistest.Start(t)
	p := redistest.NewProxy(t, s.Addr())
	client := goredis.NewClient(&goredis.Options{Addr: p.Addr(), MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { client.Close() })
	return p, s, client
}

func TestDroppedReplyIsOfAScriptThatRan(t *testing.T) {
	t.Parallel()
	p, s, client := proxied(t)
	p.DropReplies(1)
	pipe := client.Pipeline()
	pipe.Set(t.Context(), "other", 1, 0)
	pipe.Get(t.Context(), "other")
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatalf("a pipeline without a script: %v", err)
	}
	count := goredis.NewScript("return redis.call('INCR', KEYS[1])")
	if err := count.Run(t.Context(), client, []string{"n"}).Err(); err == nil {
		t.Error("the reply arrived")
	}
	if got := s.Do("GET", "n"); got != "1" || p.Dropped() != 1 {
		t.Errorf("the script ran %v times with %d replies lost, want once and one", got, p.Dropped())
	}
	if got, err := count.Run(t.Context(), client, []string{"n"}).Int(); err != nil || got != 2 {
		t.Errorf("the next script gives %d (%v), want 2", got, err)
	}
}

func TestProxyCutsHoldsAndRefuses(t *testing.T) {
	t.Parallel()
	p, _, client := proxied(t)
	sub := client.Subscribe(t.Context(), "c")
	defer sub.Close()
	if _, err := sub.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	p.Cut()
	if _, err := sub.Receive(t.Context()); err == nil {
		t.Error("a subscription lives on after a cut")
	}
	p.Hold()
	held := make(chan error, 1)
	fresh := goredis.NewClient(&goredis.Options{Addr: p.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true})
	defer fresh.Close()
	go func() { held <- fresh.Ping(t.Context()).Err() }()
	select {
	case err := <-held:
		t.Errorf("an answer passes while bytes are held: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	p.Release()
	if err := <-held; err != nil {
		t.Errorf("after release: %v", err)
	}
	p.Refuse()
	var refused *net.OpError
	if _, err := net.Dial("tcp", p.Addr()); !errors.As(err, &refused) {
		t.Errorf("a refusing proxy gives %v", err)
	}
	p.Accept()
	c, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatalf("after accepting again: %v", err)
	}
	c.Close()
}

func TestClusterServesEverySlot(t *testing.T) {
	t.Parallel()
	redistest.Long(t)
	c := redistest.SharedCluster(t)
	var addrs []string
	for _, s := range c.Masters() {
		addrs = append(addrs, s.Addr())
	}
	client := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: addrs})
	defer client.Close()
	for _, key := range []string{"a", "b", "c", "d", "e", "f"} {
		if err := client.Set(t.Context(), key, 1, 0).Err(); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestSentinelsMakeTheReplicaMaster(t *testing.T) {
	t.Parallel()
	redistest.Long(t)
	s := redistest.StartSentinel(t)
	dead := s.KillMaster()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for s.Master().Addr() == dead.Addr() {
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("no failover within 30 s")
		}
	}
}

func TestServerSpeaksTLS(t *testing.T) {
	t.Parallel()
	s := redistest.StartTLS(t, redistest.Certify(t), "tls-auth-clients", "yes")
	if got := s.Do("PING"); got != "PONG" {
		t.Errorf("over TLS it says %v", got)
	}
}
