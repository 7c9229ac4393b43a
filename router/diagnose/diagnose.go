package diagnose

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"junction/router"
	"junction/router/diagnose/debug"
	"junction/router/mcp"
)

// Options tune a diagnosis. The zero value of each field has the default named
// beside it.
type Options struct {
	Patience time.Duration // with one exchange: 5 s
	Start    time.Duration // of a process, which may be installed first: 50 s
	Idle     time.Duration // how long a quiet stream should hold, [debug.LongestQuiet] at most; 0: that is not measured
	Self     string        // the executable that the command "junction" stands for; "": the running one
	// Lookup resolves a host's name. nil: the system does.
	Lookup func(ctx context.Context, host string) ([]netip.Addr, error)
}

const (
	kindHTTP    = "http"
	kindProcess = "stdio"
)

func (o *Options) withDefaults() Options {
	var v Options
	if o != nil {
		v = *o
	}
	v.Patience = cmp.Or(v.Patience, 5*time.Second)
	v.Start = cmp.Or(v.Start, 50*time.Second)
	v.Idle = min(v.Idle, debug.LongestQuiet)
	if v.Lookup == nil {
		v.Lookup = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return v
}

// Server diagnoses one server. What is wrong with it is in the report, and so is
// that ctx ended first.
func Server(ctx context.Context, s *router.Server, o *Options) *Report {
	began := time.Now()
	p := &patient{server: s, o: o.withDefaults()}
	if s.Dial.URL == "" {
		p.report = newReport(s.ID, "", kindProcess, s.Source)
		p.process(ctx)
	} else {
		p.report = newReport(s.ID, s.Endpoint(), kindHTTP, s.Source)
		p.http(ctx)
	}
	p.report.TookMS = millis(time.Since(began))
	p.report.conclude()
	return p.report
}

// patient is a server under diagnosis.
type patient struct {
	server  *router.Server
	o       Options
	report  *Report
	url     *url.URL
	via     *url.URL      // the proxy that the environment asks for; nil: none
	courier *mcp.Courier  // shows credentials and checks the certificate
	bare    *http.Client  // does neither
	hello   *greeting     // without credentials, whoever answers
	known   *greeting     // with them; nil: they were not shown
	read    [2]*reading   // of the capability document
	again   []*reply      // requests in the session, each on a connection of its own
	debug   *measurement  // of what lies between
	took    time.Duration // of the session's requests
	ids     atomic.Int64  // of requests
}

func (p *patient) layer(n int) *Layer { return p.report.Layer(n) }

// http goes through the layers of a server with a URL.
func (p *patient) http(ctx context.Context) {
	if !p.prepare() || !p.network(ctx) {
		return
	}
	defer p.courier.Close()
	defer p.bare.CloseIdleConnections()
	p.hello = p.greet(ctx, p.bareDo)
	if !p.endpoint(ctx) {
		p.farewell(ctx, p.bareDo, p.hello)
		return
	}
	if !p.certificate() {
		p.untrusted()
		p.farewell(ctx, p.bareDo, p.hello)
		return
	}
	p.known = p.hello
	if len(p.held()) > 0 {
		p.farewell(ctx, p.bareDo, p.hello)
		p.known = p.greet(ctx, p.courier.Do)
	}
	defer p.farewell(ctx, p.courier.Do, p.known)
	if !p.admitted() {
		p.authentication(ctx)
		return
	}
	if p.known.ok {
		p.measure(ctx)
	} else if p.missesHeaders() {
		p.debug = p.probe(ctx)
	}
	p.headersMissed()
	documented := p.document()
	p.authentication(ctx)
	if !documented {
		return
	}
	p.session()
	p.contextHash()
	p.middleboxes()
}

// measure asks for all that is left at once.
func (p *patient) measure(ctx context.Context) {
	var wg sync.WaitGroup
	for i := range p.read {
		wg.Go(func() { p.read[i] = p.describe(ctx) })
	}
	wg.Go(func() {
		began := time.Now()
		p.again = p.repeat(ctx)
		p.took = time.Since(began)
	})
	wg.Go(func() { p.debug = p.probe(ctx) })
	wg.Wait()
}

// prepare reads the URL and makes the two ways to it.
func (p *patient) prepare() bool {
	u, err := url.Parse(p.server.Dial.URL)
	if err == nil {
		p.courier, err = mcp.NewCourier(&p.server.Dial)
	}
	if err != nil {
		p.layer(Network).add(failed("it cannot be called: "+bare(err).Error(), "correct its url, server_name or ca in the servers file"))
		return false
	}
	p.url = u
	if via, err := http.ProxyFromEnvironment(&http.Request{URL: u}); err == nil {
		p.via = via
	}
	p.bare = unchecked(u, p.courier.Certificate(), p.o.Patience)
	return true
}
