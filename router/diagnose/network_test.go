package diagnose_test

import (
	"context"
	"net"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"junction/router/diagnose"
)

// closed is an address where nothing listens.
func closed(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return l.Addr().String()
}

func TestAClosedPortIsTheNetworks(t *testing.T) {
	t.Parallel()
	r := diagnosed(t, at("http://"+closed(t)+"/mcp"), nil)
	blames(t, r, diagnose.Network, "refused the connection", "nothing listens on port")
	has(t, r, "frrrrrr")
}

func TestANameThatDoesNotResolveIsTheNetworks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		says string
	}{
		{"unknown", &net.DNSError{Err: "no such host", Name: "nowhere.example", IsNotFound: true}, "does not exist"},
		{"no answer", &net.DNSError{Err: "i/o timeout", Name: "nowhere.example", IsTimeout: true}, "not resolved in time"},
		{"refused", &net.DNSError{Err: "server misbehaving", Name: "nowhere.example"}, "server misbehaving"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			lookup := func(context.Context, string) ([]netip.Addr, error) { return nil, tt.err }
			r := diagnosed(t, at("http://nowhere.example/mcp"), &diagnose.Options{Lookup: lookup})
			blames(t, r, diagnose.Network, `"nowhere.example"`, tt.says)
		})
	}
}

func TestLinkLocalAddressesAreNotCalled(t *testing.T) {
	t.Parallel()
	blames(t, diagnosed(t, at("http://169.254.169.254/mcp"), nil), diagnose.Network, "link-local")
	lookup := func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("169.254.169.254")}, nil
	}
	blames(t, diagnosed(t, at("http://metadata.example/mcp"), &diagnose.Options{Lookup: lookup}), diagnose.Network, "link-local")
}

func TestAnAddressOfSeveralThatDoesNotAnswerIsWarnedOf(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ts := &httptest.Server{Listener: l, Config: httptest.NewUnstartedServer(&scripted{}).Config}
	ts.Start()
	t.Cleanup(ts.Close)
	u, err := url.Parse(ts.URL)
	if err != nil {
		t.Fatal(err)
	}
	lookup := func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")}, nil
	}
	r := diagnosed(t, at("http://localhost:"+u.Port()+"/"), &diagnose.Options{Lookup: lookup})
	if l := r.Layer(diagnose.Network); l.Status != diagnose.Warned {
		t.Errorf("%+v", l)
	}
}

func TestAServerThatAcceptsAndNeverAnswersIsNoEndpoint(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	r := diagnosed(t, at("http://"+l.Addr().String()+"/mcp"), &diagnose.Options{Patience: 500 * time.Millisecond})
	blames(t, r, diagnose.Endpoint, "accepts connections, and does not answer within")
	has(t, r, "pfrrrrr")
}

// greeter says something to whoever connects, and hangs up.
func greeter(t *testing.T, text string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Write([]byte(text))
			_, _ = conn.Read(make([]byte, 4096))
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return l.Addr().String()
}
