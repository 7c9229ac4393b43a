package redis_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/state/redis"
	"junction/state/redis/redistest"
)

// says is a server that answers every request, whether it comes alone or with
// others, by what answer makes of it.
func says(t *testing.T, answer func(request string) string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			for request := make([]byte, 4096); ; {
				n, err := c.Read(request)
				if err != nil {
					break
				}
				if _, err := c.Write([]byte(answer(string(request[:n])))); err != nil {
					break
				}
			}
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

// nobody is an address at which nobody listens, and nobody else will.
func nobody(t *testing.T) string {
	t.Helper()
	p := redistest.NewProxy(t, "127.0.0.1:1")
	p.Refuse()
	return p.Addr()
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	server := redistest.Start(t)
	server.Do("ACL", "SETUSER", "full", "on", ">"+secret, "~*", "&*", "+@all")
	server.Do("ACL", "SETUSER", "nokeys", "on", ">"+secret, "~other:*", "&*", "+@all")
	server.Do("ACL", "SETUSER", "nochannel", "on", ">"+secret, "~*", "resetchannels", "+@all")
	server.Do("ACL", "SETUSER", "noscripts", "on", ">"+secret, "~*", "&*", "+@all", "-evalsha", "-eval")
	server.Do("ACL", "SETUSER", "nowrites", "on", ">"+secret, "~*", "&*", "+@all", "-@write")
	locked := redistest.Start(t, "requirepass", secret)
	files := redistest.Certify(t)
	secure := redistest.StartTLS(t, files)
	wantsCert := redistest.StartTLS(t, files, "tls-auth-clients", "yes")
	replica := redistest.Start(t, "replicaof", strings.Replace(server.Addr(), ":", " ", 1), "repl-diskless-sync-delay", "0")
	clustered := redistest.Start(t, "cluster-enabled", "yes")
	full := redistest.Start(t, "databases", "2")
	web := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(web.Close)
	as := func(user, addr string) string { return "redis://" + user + ":" + secret + "@" + addr }
	always := func(answer string) func(string) string {
		return func(string) string { return answer }
	}
	version6 := func(request string) string {
		if !strings.Contains(strings.ToLower(request), "hello") {
			return "+OK\r\n"
		}
		return "%7\r\n+server\r\n+redis\r\n+version\r\n+6.2.7\r\n+proto\r\n:3\r\n+id\r\n:1\r\n+mode\r\n+standalone\r\n+role\r\n+master\r\n+modules\r\n*0\r\n"
	}
	for name, c := range map[string]struct {
		address string
		want    []string
	}{
		"nobody listens":        {as("u", nobody(t)), []string{"refused", "is Redis running"}},
		"unknown host":          {as("u", "no-such-host.invalid"), []string{"no-such-host.invalid", "nobody knows this host"}},
		"wrong password":        {"redis://full:x" + secret + "@" + server.Addr(), []string{"WRONGPASS", "correct"}},
		"no password":           {locked.Address(), []string{"NOAUTH", "write USER:PASSWORD@"}},
		"no key permission":     {as("nokeys", server.Addr()), []string{"key", "~test:*"}},
		"no channel permission": {as("nochannel", server.Addr()), []string{"channel", "&test:cancel"}},
		"no scripts":            {as("noscripts", server.Addr()), []string{"evalsha", "ACL SETUSER"}},
		"no writes":             {as("nowrites", server.Addr()), []string{"ACL SETUSER"}},
		"a web server":          {"redis://" + web.Listener.Addr().String(), []string{"is a web server"}},
		"something else":        {"redis://" + says(t, always("220 mail.example ESMTP\r\n")), []string{"no protocol of Redis"}},
		"version 6":             {"redis://" + says(t, version6), []string{"version 6.2.7", "Redis 7"}},
		"version 5":             {"redis://" + says(t, always("-ERR unknown command `HELLO`\r\n")), []string{"Redis 7 or later"}},
		"a replica":             {replica.Address(), []string{"read-only replica of " + server.Addr(), "redis-sentinel://"}},
		"a database too many":   {full.Address() + "/7", []string{"out of range", "databases"}},
		"a cluster's node":      {clustered.Address(), []string{"write redis-cluster://"}},
		"no cluster":            {"redis-cluster://" + server.Addr(), []string{"write redis://"}},
		"no sentinel":           {"redis-sentinel://" + server.Addr() + "/mymaster", []string{"sentinel"}},
		"TLS to a plain port":   {"rediss://" + server.Addr(), []string{"speaks no TLS", "redis://"}},
		"plain to a TLS port":   {"redis://" + secure.Addr(), []string{"speaks TLS", "rediss://"}},
		"plain cluster to TLS":  {"redis-cluster://" + secure.Addr(), []string{"speaks TLS", "tls=true"}},
		"unknown authority":     {secure.Address(), []string{"certificate", "ca=FILE"}},
		"another name":          {secure.Address() + "?server_name=else.where&ca=" + url.QueryEscape(files.CA), []string{"else.where", "server_name"}},
		"no certificate":        {wantsCert.Address() + "?ca=" + url.QueryEscape(files.CA), []string{"cert=FILE"}},
		"no such file":          {secure.Address() + "?ca=/does/not/exist", []string{"setting ca", "/does/not/exist"}},
		"no certificate inside": {secure.Address() + "?ca=" + url.QueryEscape(files.Key), []string{"setting ca", "no certificate in PEM"}},
		"cert is no cert":       {secure.Address() + "?cert=" + url.QueryEscape(files.Key) + "&key=" + url.QueryEscape(files.Key), []string{"settings cert"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := redis.Open(t.Context(), c.address, &redis.Options{Prefix: "test", Timeout: 2 * time.Second, Retry: 300 * time.Millisecond})
			if err == nil {
				s.Close()
				t.Fatal("it was opened")
			}
			t.Log(err)
			for _, want := range append(c.want, strings.Split(redis.Redact(c.address), "?")[0]) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error does not say %q: %v", want, err)
				}
			}
			if strings.Contains(err.Error(), secret) {
				t.Errorf("error shows the password: %v", err)
			}
		})
	}
}

func TestOpenWaitsForAServerThatLoads(t *testing.T) {
	t.Parallel()
	addr := says(t, func(string) string { return "-LOADING Redis is loading the dataset in memory\r\n" })
	begun := time.Now()
	_, err := redis.Open(t.Context(), "redis://"+addr, &redis.Options{Retry: 300 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "LOADING") || !strings.Contains(err.Error(), "reading its data") {
		t.Errorf("error is %v", err)
	}
	if took := time.Since(begun); took < 30*time.Millisecond {
		t.Errorf("it gave up after %v", took)
	}
}

func TestOpenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := redis.Open(ctx, server.Address(), &redis.Options{Timeout: time.Second})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error is %v", err)
	}
}

func TestOpenIsBoundedWithoutAContext(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Stop()
	_, err := redis.Open(t.Context(), server.Address(), &redis.Options{Timeout: 200 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "does not answer in time") {
		t.Errorf("error is %v", err)
	}
}

func TestOpenTakesEachKindOfAddress(t *testing.T) {
	t.Parallel()
	const secret = "p@ss/w?rd#%"
	files := redistest.Certify(t)
	esc := url.QueryEscape
	locked := redistest.Start(t, "requirepass", secret)
	secure := redistest.StartTLS(t, files, "tls-auth-clients", "yes")
	passwords := filepath.Join(t.TempDir(), "password")
	must(t, os.WriteFile(passwords, []byte(secret+"\n"), 0o600))
	tlsFiles := fmt.Sprintf("?ca=%s&cert=%s&key=%s", esc(files.CA), esc(files.Cert), esc(files.Key))
	for name, c := range map[string]struct {
		address string
		o       redis.Options
	}{
		"a password":         {"redis://:" + url.PathEscape(secret) + "@" + locked.Addr(), redis.Options{}},
		"a user":             {"redis://default:" + url.PathEscape(secret) + "@" + locked.Addr() + "/3", redis.Options{}},
		"a password's file":  {locked.Address() + "?password_file=" + esc(passwords), redis.Options{}},
		"a password apart":   {locked.Address(), redis.Options{Password: secret}},
		"TLS both ways":      {secure.Address() + tlsFiles, redis.Options{}},
		"TLS by server name": {secure.Address() + tlsFiles + "&server_name=redis.test", redis.Options{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, c.address, c.o)
			must(t, s.Enqueue(t.Context(), "t", 0))
			if due, _, err := s.QueueLen(t.Context()); err != nil || due != 1 {
				t.Errorf("%d due (%v)", due, err)
			}
			if strings.Contains(s.Address(), "@") || !strings.Contains(s.Address(), "127.0.0.1") {
				t.Errorf("address is shown as %s", s.Address())
			}
		})
	}
}

// The rights that errors tell operators to grant are enough.
func TestGrantedRightsAreEnough(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do("ACL", "SETUSER", "j", "on", ">x", "~test:*", "&test:cancel", "+@all", "-@admin", "-@dangerous", "+info")
	s, err := redis.Open(t.Context(), "redis://j:x@"+server.Addr()+"?prefix=test", nil)
	must(t, err)
	defer s.Close()
	must(t, s.Enqueue(t.Context(), "t", 0))
	claims, _, err := s.Claim(t.Context(), 1, time.Minute)
	must(t, err)
	must(t, s.WaitQueued(t.Context(), time.Millisecond))
	must(t, s.Done(t.Context(), claims[0]))
	_, err = s.Unsafe(t.Context())
	must(t, err)
	_, stop := s.NotifyCancel("t")
	defer stop()
	eventually(t, "the subscription", func() bool { return subscribers(t, server, "test:cancel") == 1 })
}

func TestUnsafeSettingsAreFoundAndLogged(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "maxmemory-policy", "allkeys-lru")
	server.Do("ACL", "SETUSER", "blind", "on", ">x", "~*", "&*", "+@all", "-info")
	safe := redistest.Start(t, "appendonly", "yes")
	for name, c := range map[string]struct {
		address string
		want    []string
		refuse  bool
	}{
		"memory that runs over": {server.Address(), []string{"appendonly no", "maxmemory-policy allkeys-lru"}, true},
		"what may not be seen":  {"redis://blind:x@" + server.Addr(), []string{"INFO not permitted"}, false},
		"nothing":               {safe.Address(), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			s := opened(t, c.address, redis.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			findings, err := s.Unsafe(t.Context())
			must(t, err)
			var got []string
			refuse := false
			for _, f := range findings {
				got = append(got, f.Setting+" "+f.Value)
				refuse = refuse || f.Refuse
				if f.Risk == "" || !strings.Contains(log.String(), "setting="+f.Setting) {
					t.Errorf("%+v says no risk or was not logged: %s", f, &log)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" || refuse != c.refuse {
				t.Errorf("refuse %v, findings (−want +got):\n%s", refuse, d)
			}
		})
	}
}

func TestClosedStoreSaysSo(t *testing.T) {
	t.Parallel()
	s, err := redis.Open(t.Context(), redistest.Shared(t).Address(), &redis.Options{Prefix: "closed"})
	must(t, err)
	waiting := make(chan error, 1)
	go func() { waiting <- s.WaitQueued(t.Context(), time.Minute) }()
	must(t, s.Close())
	must(t, s.Close())
	for what, err := range map[string]error{
		"a call after it": s.Enqueue(t.Context(), "t", 0),
		"a wait under it": <-waiting,
	} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: error is %v", what, err)
		}
	}
}

func TestClusterIsOpenedAndLookedAt(t *testing.T) {
	t.Parallel()
	redistest.Long(t)
	c := redistest.SharedCluster(t)
	s := opened(t, c.Address(), redis.Options{})
	findings, err := s.Unsafe(t.Context())
	must(t, err)
	if len(findings) != 1 || findings[0].Setting != "appendonly" {
		t.Errorf("findings are %+v, want what all masters share, once", findings)
	}
	_, err = redis.Open(t.Context(), c.Masters()[1].Address(), nil)
	if err == nil || !strings.Contains(err.Error(), "write redis-cluster://") {
		t.Errorf("opened as a single server: %v", err)
	}
}
