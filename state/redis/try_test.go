package redis_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/state"
	"junction/state/redis"
	"junction/state/redis/redistest"
)

const password = "hunter2"

// wantTold wants an error to say all of it, where the store is, and no password.
func wantTold(t *testing.T, err error, s *redis.Store, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range append(want, s.Address()) {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error does not say %q: %v", w, err)
		}
	}
	if strings.Contains(err.Error(), password) {
		t.Errorf("error shows the password: %v", err)
	}
}

func TestOperationOutlastsAnOutage(t *testing.T) {
	t.Parallel()
	for name, outage := range map[string]struct{ begin, end func(p *redistest.Proxy) }{
		"refused connections": {(*redistest.Proxy).Refuse, (*redistest.Proxy).Accept},
		"a server that hangs": {(*redistest.Proxy).Hold, (*redistest.Proxy).Release},
		"a cut":               {(*redistest.Proxy).Cut, func(*redistest.Proxy) {}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := behindProxy(t, redis.Options{Timeout: 300 * time.Millisecond, Retry: time.Minute})
			outage.begin(p)
			done := make(chan error, 1)
			go func() { done <- s.Enqueue(t.Context(), "t", 0) }()
			if name != "a cut" {
				select {
				case err := <-done:
					t.Fatalf("it ended in the outage: %v", err)
				case <-time.After(500 * time.Millisecond): // more than one try
				}
			}
			outage.end(p)
			must(t, <-done)
			due, _, err := s.QueueLen(t.Context())
			must(t, err)
			if due != 1 {
				t.Errorf("%d threads are due, want 1", due)
			}
		})
	}
}

func TestOperationGivesUpInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin func(p *redistest.Proxy)
		want  string
	}{
		"refused connections": {(*redistest.Proxy).Refuse, "is Redis running"},
		"a server that hangs": {(*redistest.Proxy).Hold, "does not answer in time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, s := behindProxy(t, redis.Options{Timeout: 100 * time.Millisecond, Retry: 200 * time.Millisecond})
			c.begin(p)
			err := s.Enqueue(t.Context(), "t", 0)
			if !errors.Is(err, state.ErrUnavailable) {
				t.Errorf("error is %v, want unavailable", err)
			}
			wantTold(t, err, s, "enqueue thread t", "tries in", c.want)
			p.Release()
		})
	}
}

func TestContextEndsAnOperationThatHangs(t *testing.T) {
	t.Parallel()
	p, s := behindProxy(t, redis.Options{Timeout: time.Hour, Retry: time.Hour})
	must(t, s.Enqueue(t.Context(), "t", 0)) // a connection is open
	p.Hold()
	for name, end := range map[string]func(context.Context) (context.Context, context.CancelFunc){
		"cancelled": func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(20*time.Millisecond, cancel)
			return ctx, cancel
		},
		"timed out": func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 20*time.Millisecond)
		},
	} {
		ctx, cancel := end(t.Context())
		if err := s.Enqueue(ctx, "u", 0); !errors.Is(err, ctx.Err()) || ctx.Err() == nil {
			t.Errorf("%s: error is %v, want the context's", name, err)
		}
		if err := s.WaitQueued(ctx, time.Hour); !errors.Is(err, ctx.Err()) {
			t.Errorf("%s: waiting gives %v, want the context's", name, err)
		}
		cancel()
	}
	must(t, s.Close()) // while bytes are held: what hangs is cut
}

func TestCancelledCallLeavesItsNeighboursAlone(t *testing.T) {
	t.Parallel()
	s := opened(t, redistest.Shared(t).Address(), redis.Options{Retry: -1}) // a spoilt connection shows
	shared, end := context.WithTimeout(t.Context(), time.Hour)              // one deadline for all
	defer end()
	var all sync.WaitGroup
	for caller := range 16 {
		all.Go(func() {
			for i := range 50 {
				ctx, cancel := context.WithCancel(shared)
				leaves := caller%2 == 0
				if leaves {
					time.AfterFunc(time.Duration(i)*20*time.Microsecond, cancel)
				}
				err := s.Enqueue(ctx, "t", time.Hour)
				cancel()
				if err != nil && !(leaves && errors.Is(err, context.Canceled)) {
					t.Errorf("caller %d, call %d: %v", caller, i, err)
				}
			}
		})
	}
	all.Wait()
}

func TestRefusalsThatPassAreWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin, end []any
		want       string
	}{
		"out of memory":     {[]any{"CONFIG", "SET", "maxmemory", "1"}, []any{"CONFIG", "SET", "maxmemory", "0"}, "raise maxmemory"},
		"read-only":         {[]any{"REPLICAOF", "127.0.0.1", "1"}, []any{"REPLICAOF", "NO", "ONE"}, "read-only replica"},
		"too few replicas":  {[]any{"CONFIG", "SET", "min-replicas-to-write", "1"}, []any{"CONFIG", "SET", "min-replicas-to-write", "0"}, "min-replicas-to-write"},
		"clients are apart": {[]any{"CLIENT", "KILL", "TYPE", "normal"}, []any{"PING"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			server.Do("ACL", "SETUSER", "u", "on", ">"+password, "~*", "&*", "+@all")
			address := "redis://u:" + password + "@" + server.Addr()
			hasty, patient := opened(t, address, redis.Options{Retry: -1}), opened(t, address, redis.Options{Retry: time.Minute})
			server.Do(c.begin...)
			if c.want != "" {
				err := hasty.Enqueue(t.Context(), "t", 0)
				if !errors.Is(err, state.ErrUnavailable) {
					t.Errorf("error is %v, want unavailable", err)
				}
				wantTold(t, err, hasty, c.want)
			}
			done := make(chan error, 1)
			go func() { done <- patient.Enqueue(t.Context(), "t", 0) }()
			if c.want != "" {
				select {
				case err := <-done:
					t.Fatalf("it did not wait: %v", err)
				case <-time.After(100 * time.Millisecond):
				}
			}
			server.Do(c.end...)
			must(t, <-done)
		})
	}
}

func TestRefusalsThatStayAreToldAtOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do("ACL", "SETUSER", "u", "on", ">"+password, "~*", "&*", "+@all")
	for name, c := range map[string]struct {
		spoil func(prefix string)
		kind  error
		want  []string
	}{
		"a key of the wrong type": {func(prefix string) { server.Do("SET", prefix+":{queue}:due", "mine") },
			state.ErrCorrupt, []string{":{queue}:due is a string", "another prefix"}},
		"a permission taken away": {func(string) { server.Do("ACL", "SETUSER", "u", "resetkeys") }, nil, []string{"permission", "ACL SETUSER"}},
		"a user switched off":     {func(string) { server.Do("ACL", "SETUSER", "u", "off", "~*"); server.Do("CLIENT", "KILL", "USER", "u") }, nil, []string{"WRONGPASS", "correct"}},
	} {
		t.Run(name, func(t *testing.T) { // one after another: they share the user
			server.Do("ACL", "SETUSER", "u", "on", "~*")
			prefix := "at-once-" + strings.ReplaceAll(name, " ", "-")
			s, err := redis.Open(t.Context(), "redis://u:"+password+"@"+server.Addr(), &redis.Options{Prefix: prefix, Retry: time.Hour})
			must(t, err)
			defer s.Close()
			c.spoil(prefix)
			err = s.Enqueue(t.Context(), "t", 0)
			if name == "a user switched off" && err != nil && !strings.Contains(err.Error(), "WRONGPASS") {
				err = s.Enqueue(t.Context(), "t", 0)
			}
			if c.kind != nil && !errors.Is(err, c.kind) {
				t.Errorf("error is %v, want %v", err, c.kind)
			}
			if errors.Is(err, state.ErrUnavailable) {
				t.Errorf("it was waited for: %v", err)
			}
			wantTold(t, err, s, c.want...)
		})
	}
}

func TestScriptOfSomebodyElseThatRunsForLongIsTold(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "busy-reply-threshold", "1")
	s := opened(t, server.Address(), redis.Options{Retry: time.Hour})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		client := server.Client()
		defer client.Close()
		client.Eval(t.Context(), "while true do end", nil)
	}()
	eventually(t, "the server is busy", func() bool {
		err := s.Enqueue(t.Context(), "t", 0)
		if err != nil {
			wantTold(t, err, s, "BUSY", "SCRIPT KILL")
		}
		return err != nil
	})
	server.Do("SCRIPT", "KILL")
	<-ended
	must(t, s.Enqueue(t.Context(), "t", 0))
}

func TestStoreFollowsAFailover(t *testing.T) {
	t.Parallel()
	redistest.Long(t)
	set := redistest.StartSentinel(t)
	_, err := redis.Open(t.Context(), strings.Replace(set.Address(), redistest.MasterName, "nobody", 1), nil)
	if err == nil || !strings.Contains(err.Error(), "the sentinels know no master of this name") {
		t.Errorf("with a wrong name: %v", err)
	}
	s := opened(t, set.Address(), redis.Options{Retry: time.Minute})
	asked, stop := s.NotifyCancel("t")
	defer stop()
	must(t, s.Enqueue(t.Context(), "before", 0))
	woken := make(chan error, 1)
	dead := set.KillMaster()
	go func() { woken <- s.WaitQueued(t.Context(), time.Minute) }()
	must(t, s.Enqueue(t.Context(), "after", 0))
	must(t, <-woken)
	master := set.Master()
	if master.Addr() == dead.Addr() {
		t.Fatal("written to a master that is dead")
	}
	prefix, _, _ := strings.Cut(master.Do("KEYS", "test-*:due").([]any)[0].(string), ":")
	eventually(t, "a notice arrives from the new master", func() bool {
		master.Do("PUBLISH", prefix+":cancel", "t")
		select {
		case <-asked:
			return true
		default:
			return false
		}
	})
}

func TestStoreOutlastsARestartOfItsCluster(t *testing.T) {
	t.Parallel()
	redistest.Long(t)
	c := redistest.StartCluster(t)
	s := opened(t, c.Address(), redis.Options{Retry: time.Minute})
	for _, m := range c.Masters() {
		m.Kill()
	}
	done := make(chan error, 1)
	go func() { done <- s.Enqueue(t.Context(), "t", 0) }()
	for _, m := range c.Masters() {
		m.Restart()
	}
	must(t, <-done)
}
