package static

import (
	"net/netip"

	"junction/router"
	"junction/state/document"
)

// services reads what the operator says of services in the registry, by name.
func (r *reader) services(n *document.Node) map[string]router.Service {
	entries := n.Mapping().Entries()
	if len(entries) == 0 {
		return nil
	}
	all := make(map[string]router.Service, len(entries))
	for _, e := range entries {
		if e.Key == "" {
			e.At.Fault("", "a service needs a name")
		}
		name(e.At, "service", e.Key)
		all[e.Key] = r.service(e)
	}
	return all
}

func (r *reader) service(e document.Entry) router.Service {
	m := e.Node.Mapping("offers", "trust", "headers", "auth", "addresses", "server_name", "ca", "latency_p95", "max_concurrent")
	s := router.Service{
		Trusted:       m.Get("trust").Bool(),
		LatencyP95:    m.Get("latency_p95").Duration(),
		MaxConcurrent: int(m.Get("max_concurrent").Int(1, maxConcurrent)),
		Headers:       r.expandedMap(m.Get("headers"), checkHeader),
		Auth:          r.credentials(m),
		ServerName:    certified(m.Get("server_name"), r.word(m.Get("server_name"))),
		CAFile:        r.file(r.word(m.Get("ca"))),
	}
	// Each instance has a ledger of its own, whose name only its registration tells.
	who := claimant{name: "service " + e.Key, ledger: func(*document.Node) string { return "" }}
	for _, n := range m.Get("offers").List() {
		s.Offers = append(s.Offers, r.offer(who, n))
	}
	repeated(s.Offers, m.Get("offers"))
	for _, n := range m.Get("addresses").List() {
		if p, ok := r.prefix(n); ok {
			s.Addresses = append(s.Addresses, p)
		}
	}
	bound(m, len(s.Headers) > 0, len(s.Auth) > 0)
	return s
}

// bound holds credentials to a place: whoever can register a service under this
// name must not be handed them.
func bound(m *document.Mapping, headers, auth bool) {
	addresses, what := m.Get("addresses"), "headers"
	if !headers {
		what = "auth"
	}
	switch {
	case (headers || auth) && len(addresses.List()) == 0 && !m.Has("server_name"):
		m.Get(what).Fault("add addresses: [10.0.0.0/8] with where its instances may be, or server_name: with the name in their certificates",
			"%s would go to whoever registers under this name", what)
	case addresses != nil && !m.Has("headers") && !m.Has("auth"):
		addresses.Fault("remove it", "addresses says where headers and auth may go, and there are none")
	}
}

// prefix reads an address or a range of addresses.
func (r *reader) prefix(n *document.Node) (p netip.Prefix, ok bool) {
	const like = "such as 10.0.0.0/8, 127.0.0.1 or fd00::/8"
	text, ok := r.expanded(n)
	if !ok {
		return p, false
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		a = a.Unmap()
		return netip.PrefixFrom(a, a.BitLen()), true
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		n.Fault(like, "this is no address and no range of addresses")
	case p.Addr().Is4In6():
		n.Fault(like, "write a range of IPv4 addresses as such")
	case p.Bits() == 0:
		n.Fault("say which network the instances are in, "+like, "a range of every address binds headers to nothing")
	case p != p.Masked():
		n.Fault("write the first address of the range, or one address without a length", "the address has bits beyond the length of its range")
	}
	return p, err == nil
}
