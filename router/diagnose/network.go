package diagnose

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"

	"junction/router"
)

// mostAddresses bounds how many of a name's addresses are tried.
const mostAddresses = 8

// dialled is what came of one address.
type dialled struct {
	address netip.AddrPort
	took    time.Duration
	err     error
}

// network resolves the name and connects to each of its addresses.
func (p *patient) network(ctx context.Context) bool {
	l, began := p.layer(Network), time.Now()
	target, through := p.url, ""
	if p.via != nil {
		target, through = p.via, " through the proxy "+p.via.Host
	}
	host := target.Hostname()
	ctx, cancel := context.WithTimeout(ctx, p.o.Patience)
	defer cancel()
	addresses, err := p.resolve(ctx, host)
	if err != nil {
		l.pass(time.Since(began), "")
		l.add(p.nameless(host, err))
		return false
	}
	all := connect(ctx, addresses, portOf(target))
	var good, bad []string
	var reasons []error
	for _, d := range all {
		if d.err == nil {
			good = append(good, fmt.Sprintf("%s in %s", d.address, brief(d.took)))
			continue
		}
		bad = append(bad, fmt.Sprintf("%s %s", d.address, why(d.err)))
		reasons = append(reasons, d.err)
	}
	saw := strings.Join(append(good, bad...), ", ")
	if name := hostOf(host); name != "" {
		saw = name + " is " + saw
	}
	l.pass(time.Since(began), "%s%s", saw, through)
	if len(good) == 0 {
		l.Saw = ""
		l.add(p.unreachable(target, strings.Join(bad, ", "), reasons))
		return false
	}
	if len(bad) > 0 && !passable(all) {
		l.add(warned(fmt.Sprintf("%s of its addresses cannot be reached: %s", count(len(bad)), strings.Join(bad, ", ")),
			"take them out of the name's records, or have the server listen there: who draws one of them waits first"))
	}
	return true
}

// passable reports whether what fails costs callers nothing: they try both families
// of addresses, and hear at once that nothing is at one of them.
func passable(all []dialled) bool {
	works := map[bool]bool{}
	for _, d := range all {
		works[d.address.Addr().Is4()] = works[d.address.Addr().Is4()] || d.err == nil
	}
	for _, d := range all {
		refused := errors.Is(d.err, syscall.ECONNREFUSED) || errors.Is(d.err, syscall.ENETUNREACH) || errors.Is(d.err, syscall.EADDRNOTAVAIL)
		if d.err != nil && (works[d.address.Addr().Is4()] || !refused) {
			return false
		}
	}
	return true
}

// hostOf is a host that is a name; "" for an address.
func hostOf(host string) string {
	if _, err := netip.ParseAddr(host); err == nil {
		return ""
	}
	return clean(host)
}

func (p *patient) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if ip, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{ip}, nil
	}
	all, err := p.o.Lookup(ctx, host)
	if err == nil && len(all) == 0 {
		err = errors.New("it has no addresses")
	}
	return all[:min(len(all), mostAddresses)], err
}

func (p *patient) nameless(host string, err error) Trouble {
	name := quoted(host)
	d, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case isDNS && d.IsNotFound:
		return failed("the name "+name+" does not exist", "correct the host in its url, or add it to DNS or to the hosts file")
	case isDNS && d.IsTimeout, errors.Is(err, context.DeadlineExceeded):
		return failed("the name "+name+" was not resolved in time: the DNS server does not answer", "see that the machine's DNS server can be reached")
	case isDNS:
		return failed("the name "+name+" cannot be resolved: "+clean(d.Err), "see that the machine's DNS server works, and correct the host in its url")
	}
	return failed("the name "+name+" cannot be resolved: "+clean(err.Error()), "correct the host in its url")
}

// connect tries all addresses at once.
func connect(ctx context.Context, addresses []netip.Addr, port uint16) []dialled {
	all := make([]dialled, len(addresses))
	var wg sync.WaitGroup
	for i, a := range addresses {
		wg.Go(func() { all[i] = dial(ctx, netip.AddrPortFrom(a.Unmap(), port)) })
	}
	wg.Wait()
	return all
}

var errLinkLocal = errors.New("refused here: link-local addresses and others that serve machine metadata are not called")

func dial(ctx context.Context, to netip.AddrPort) dialled {
	if router.ServesMetadata(to.Addr()) {
		return dialled{address: to, err: errLinkLocal}
	}
	began := time.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", to.String())
	took := time.Since(began)
	if err == nil {
		conn.Close()
	}
	return dialled{to, took, err}
}

// why is what a failed connection means, in a word or two.
func why(err error) string {
	t, ok := errors.AsType[net.Error](err)
	switch {
	case errors.Is(err, errLinkLocal):
		return "is " + err.Error()
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused the connection"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "cannot be reached: there is no route"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset the connection"
	case ok && t.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return "did not answer in time"
	case errors.Is(err, context.Canceled):
		return "was not waited for"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok {
		err = op.Err
	}
	return "failed: " + clean(err.Error())
}

func (p *patient) unreachable(target *url.URL, what string, reasons []error) Trouble {
	port := portOf(target)
	if p.via != nil {
		what = "the proxy of the environment: " + what
	}
	for _, err := range reasons {
		t, timed := errors.AsType[net.Error](err)
		switch {
		case errors.Is(err, errLinkLocal):
			return failed(what, "give the server an address of another kind: such addresses serve credentials of machines")
		case errors.Is(err, syscall.ECONNREFUSED):
			return failed(what, fmt.Sprintf("nothing listens on port %d there: start the server, or correct the port; one that listens on 127.0.0.1 only is not seen from other machines", port))
		case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
			return failed(what, "this machine has no way there: see to the network, the VPN or the routing, or run this where the server is")
		case timed && t.Timeout(), errors.Is(err, context.DeadlineExceeded):
			return failed(what, fmt.Sprintf("what is sent to port %d is dropped: open it in the firewall or security group, or see whether the server is overwhelmed and accepts no connections", port))
		}
	}
	return failed(what, "see that the server runs and that this machine may reach it")
}
