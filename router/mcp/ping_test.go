package mcp_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"testing"
	"time"

	"junction/router"
)

// overheard keeps the methods of the requests that a server got.
type overheard struct {
	mu      sync.Mutex
	methods []string
}

func (o *overheard) listen(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		o.mu.Lock()
		for _, method := range []string{"ping", "server/discover", "initialize", "tools/call"} {
			if bytes.Contains(body, []byte(`"method":"`+method+`"`)) {
				o.methods = append(o.methods, method)
			}
		}
		o.mu.Unlock()
		r.Body = io.NopCloser(bytes.NewReader(body))
		h.ServeHTTP(w, r)
	})
}

// since returns what came after the first n, and how much came in all.
func (o *overheard) since(n int) ([]string, int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string(nil), o.methods[n:]...), len(o.methods)
}

func TestAPingIsOneRequestOfTheServersEra(t *testing.T) {
	t.Parallel()
	for method, modern := range map[string]bool{"ping": false, "server/discover": true} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			heard := &overheard{}
			s, _ := httpServer(t, modern, heard.listen)
			c := newClient(t, nil)
			if err := c.Ping(t.Context(), s); err != nil {
				t.Fatal(err) // it connects first
			}
			_, before := heard.since(0)
			if err := c.Ping(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if sent, _ := heard.since(before); fmt.Sprint(sent) != "["+method+"]" {
				t.Errorf("sent %v", sent)
			}
		})
	}
	for _, role := range []string{"modern", "legacy"} {
		t.Run("on a pipe, "+role, func(t *testing.T) {
			t.Parallel()
			if err := newClient(t, nil).Ping(t.Context(), stdioServer(t, role)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatAPingSaysOfAServer(t *testing.T) {
	t.Parallel()
	refuses := func(reply string) func(http.Handler) http.Handler {
		return func(h http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				if !bytes.Contains(body, []byte(`"method":"ping"`)) {
					h.ServeHTTP(w, r)
					return
				}
				if reply == "" {
					<-r.Context().Done()
					return
				}
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,%s}`, idOf(body), reply)
			})
		}
	}
	for _, c := range []struct {
		name, reply string
		want        router.Code
	}{
		{"one that does not know the method is there", `"error":{"code":-32601,"message":"no such method"}`, ""},
		{"one that fails is not well", `"error":{"code":-32603,"message":"out of memory"}`, router.ServerError},
		{"one that hangs is not waited for", "", router.Timeout},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, _ := httpServer(t, false, refuses(c.reply))
			client := newClient(t, nil)
			if _, err := client.Describe(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			within := 10 * time.Second
			if c.want == router.Timeout {
				within = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			err := client.Ping(ctx, s)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if e := callError(t, err); e.Code != c.want {
				t.Errorf("%v, want %s", e, c.want)
			}
			if _, err := client.Call(t.Context(), s, call("echo", map[string]any{"text": "still here"})); err != nil {
				t.Errorf("a call after it: %v", err)
			}
		})
	}
	t.Run("one that is off cannot be reached", func(t *testing.T) {
		t.Parallel()
		s, server := httpServer(t, false, func(h http.Handler) http.Handler { return h })
		client := newClient(t, nil)
		if err := client.Ping(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		server.CloseClientConnections()
		server.Close()
		if e := callError(t, client.Ping(t.Context(), s)); e.Code != router.Transport {
			t.Errorf("%v, want %s", e, router.Transport)
		}
	})
	t.Run("one that has forgotten the session is pinged in a new one", func(t *testing.T) {
		t.Parallel()
		var mu sync.Mutex
		first := true
		h := &scripted{session: "wire-session-1"}
		s, _ := raw(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			if !bytes.Contains(body, []byte(`"method":"ping"`)) {
				h.ServeHTTP(w, r)
				return
			}
			mu.Lock()
			gone := first
			first = false
			mu.Unlock()
			if gone {
				http.Error(w, "session not found", http.StatusNotFound)
				return
			}
			answer(w, string(idOf(body)), `{}`)
		}))
		if err := newClient(t, nil).Ping(t.Context(), s); err != nil || h.handshakes != 2 {
			t.Errorf("%v after %d handshakes", err, h.handshakes)
		}
	})
}
