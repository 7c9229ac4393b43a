//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// secret is a credential that is meant for instances on 127.0.0.1 alone.
const secret = "s3cret-of-the-stall"

// overheard is every request that a server received, as text.
type overheard struct {
	mu       sync.Mutex
	requests []string
}

// record notes each request before next answers it.
func (o *overheard) record(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		o.mu.Lock()
		o.requests = append(o.requests, fmt.Sprintf("%s %s %v\n%s", r.Method, r.URL, r.Header, body))
		o.mu.Unlock()
		next.ServeHTTP(w, r)
	})
}

// has counts the requests that hold a text.
func (o *overheard) has(text string) (n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.requests {
		if strings.Contains(r, text) {
			n++
		}
	}
	return n
}

// demanding answers everything but the secret with 401, as the genuine service
// does, and as somebody would who is after the secret.
func demanding(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+secret {
			w.Header().Set("WWW-Authenticate", "Bearer")
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// elsewhere listens at an address of this machine that is not 127.0.0.1.
func elsewhere(t *testing.T) net.Listener {
	t.Helper()
	var failed error
	for _, address := range []string{"127.0.0.2:0", "[::1]:0"} {
		var listen net.ListenConfig
		l, err := listen.Listen(t.Context(), "tcp", address)
		if err == nil {
			return l
		}
		failed = err
	}
	t.Fatalf("this machine has no second address of its own: %v", failed)
	return nil
}

// TestASecretGoesOnlyToInstancesInTheServicesAddresses registers two impostors
// under the name of a service that has a credential: one that takes every call,
// and one that asks for the credential.
func TestASecretGoesOnlyToInstancesInTheServicesAddresses(t *testing.T) {
	if testing.Short() {
		t.Skip("runs workers in processes of their own; -short leaves it out")
	}
	t.Setenv("STALL_TOKEN", secret) // the workers' processes have it, too
	f := newFound(t, `headers: {Authorization: "Bearer ${STALL_TOKEN}"}`, "addresses: [127.0.0.1]")
	var heard, welcomed, demanded overheard
	genuine := f.newMember(t, nil, func(h http.Handler) http.Handler { return heard.record(demanding(h)) })
	welcoming := f.newMember(t, elsewhere(t), welcomed.record)
	greedy := f.newMember(t, elsewhere(t), func(h http.Handler) http.Handler { return demanded.record(demanding(h)) })
	for _, m := range []*member{genuine, welcoming, greedy} {
		f.register(t, m, nil)
	}
	w := f.start(t)
	ids := f.queueAs(t, rounds, []string{"t0", "t1"})
	more(t, "the genuine server and the one that takes every call are called", 50, genuine, welcoming)
	until(t, "the one that asks for the credential has been spoken to", func() bool { return demanded.has("POST") > 0 })
	f.end(t, ids, w)

	if n := greedy.calls.Load(); n != 0 {
		t.Errorf("a server that wants a credential it was not given let %d calls in", n)
	}
	for _, method := range []string{`"server/discover"`, `"tools/list"`, `"tools/call"`} {
		if heard.has(method) == 0 || welcomed.has(method) == 0 {
			t.Errorf("%s was sent %d times to the genuine server and %d times to the impostor: the test shows little", method, heard.has(method), welcomed.has(method))
		}
	}
	if heard.has(secret) != heard.has("POST") {
		t.Errorf("of %d requests to the genuine server %d held the secret", heard.has("POST"), heard.has(secret))
	}
	for who, o := range map[string]*overheard{"that takes every call": &welcomed, "that asks for the credential": &demanded} {
		if n := o.has(secret); n != 0 || o.has("Authorization") != 0 {
			t.Errorf("the impostor %s received the secret %d times, and an Authorization header %d times", who, n, o.has("Authorization"))
		}
	}
	said := w.log.String()
	for _, args := range [][]string{{"servers", ".", "--json"}, {"servers", "."}, {"route", ".", "--capability", "step"}, {"explain", ids[0], "--store", f.address}} {
		stdout, stderr, _ := junctionIn(t, f.dir, args...)
		said += stdout + stderr
	}
	if strings.Contains(said, secret) {
		t.Error("the secret stands in what was printed or logged")
	}
	if !strings.Contains(said, "withheld") {
		t.Error("nobody is told that the credential is withheld from two instances")
	}
}
