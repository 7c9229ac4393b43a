package consul

import (
	"net"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"junction/router"
	"junction/state"
)

// Problem is something an instance says that cannot be used, or may not be.
type Problem struct {
	Service  string // its name
	Instance string // the service's id
	Node     string
	What     string // what is wrong, and what to write instead
}

// instance is one of a service, as it was last believed.
type instance struct {
	entry    entry
	server   *router.Server // nil: it can get nothing
	problems []string
}

// hostRule is what a name of a host may look like; an address is read as one.
var hostRule = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9_.-]{0,251}[A-Za-z0-9_])?\.?$`)

// newInstance makes a server of what Consul says, with the operator's word, if
// any, above it.
func (o *Options) newInstance(service string, e entry) *instance {
	i := &instance{entry: e}
	weight := e.weight()
	if e.Service.Kind != "" || weight == 0 {
		return i // a sidecar has its service's tags, and speaks no MCP
	}
	word := o.Services[service]
	c := &claim{tags: e.Service.Tags, meta: e.Service.Meta, mark: o.tag(), trust: o.Trust}
	s := &router.Server{
		ID: e.Service.ID, Name: service, Source: "consul",
		Weight: float64(weight), Depth: e.Service.Meta[MetaDepth], Trusted: word.Trusted,
	}
	named := c.checkNames(s.ID, e.Node.Node)
	at, reachable := c.dial(&e, &s.Dial)
	latency, quick := c.number(MetaLatencyP95)
	concurrent, bounded := c.number(MetaConcurrent)
	s.LatencyP95, s.MaxConcurrent = time.Duration(latency)*time.Millisecond, concurrent
	if word.LatencyP95 > 0 {
		s.LatencyP95 = word.LatencyP95
	}
	if word.MaxConcurrent > 0 {
		s.MaxConcurrent = word.MaxConcurrent
	}
	if word.Offers == nil {
		s.Offers = c.offers()
	} else {
		s.Offers = c.completed(word.Offers)
	}
	ownLedgers(s.Offers, e.identity())
	c.credentials(&word, at, &s.Dial)
	i.problems = c.problems
	if named && reachable && quick && bounded {
		i.server = s
	}
	return i
}

// ownLedgers names the ledger of a conditional offer that names none. The node is
// part of it: an id that comes back on another node is a server that may never
// have seen the keys.
func ownLedgers(offers []router.Offer, id identity) {
	for i := range offers {
		if offers[i].Effect == state.Conditional && offers[i].Ledger.Name == "" {
			offers[i].Ledger.Name = id.id + "@" + id.node
		}
	}
}

// checkNames looks at what may become the server's ID and its ledger's name.
func (c *claim) checkNames(id, node string) bool {
	switch {
	case !presentable(id):
		c.problem("its id is empty, longer than %d bytes or holds control characters. The instance is left out", maxName)
		return false
	case node != "" && !presentable(node):
		c.problem("its node's name is longer than %d bytes or holds control characters. The instance is left out", maxName)
		return false
	}
	return true
}

// dial makes the URL. at is the address where it is none of a name.
func (c *claim) dial(e *entry, d *router.Dial) (at netip.Addr, ok bool) {
	host := e.address()
	at, err := netip.ParseAddr(host)
	at = at.Unmap()
	const left = "The instance is left out"
	switch {
	case err == nil && router.ServesMetadata(at):
		c.problem("its address %s is link-local or another at which machines keep their metadata and credentials: register another. %s", at.WithZone(""), left)
		return at, false
	case err == nil && (at.IsUnspecified() || at.IsMulticast()):
		c.problem("its address %s is none that can be called: register the one that others reach it at. %s", at.WithZone(""), left)
		return at, false
	case err != nil && !hostRule.MatchString(host):
		c.problem("its address %q is neither an IP address nor a host's name. %s", host, left)
		return at, false
	case e.Service.Port < 1 || e.Service.Port > 65535:
		c.problem("its port is %d; register the one that it listens on. %s", e.Service.Port, left)
		return at, false
	}
	scheme, said := c.meta[MetaScheme]
	if !said {
		scheme = "http"
	}
	if scheme != "http" && scheme != "https" {
		c.problem("Meta %s is %q; it can be http or https. %s", MetaScheme, scheme, left)
		return at, false
	}
	path, said := c.meta[MetaPath]
	if !said {
		path = "/mcp"
	}
	u, err := url.ParseRequestURI(path)
	if err != nil || !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || u.Host != "" || strings.ContainsAny(path, "?#\\") {
		c.problem("Meta %s is %q; it is a path such as /mcp, without ? and #. %s", MetaPath, path, left)
		return at, false
	}
	u.Scheme, u.Host = scheme, net.JoinHostPort(host, strconv.Itoa(e.Service.Port))
	d.URL = u.String()
	return at, true
}

// credentials gives the instance the operator's credentials where it is sure to be
// the service that they are for. Anybody who can register could otherwise have
// them sent to himself.
func (c *claim) credentials(word *router.Service, at netip.Addr, d *router.Dial) {
	secure := strings.HasPrefix(d.URL, "https://")
	if secure {
		d.CAFile = word.CAFile
	}
	verified := secure && word.ServerName != ""
	if verified {
		d.ServerName = word.ServerName
	}
	if len(word.Headers) == 0 && len(word.Auth) == 0 || d.URL == "" {
		return
	}
	within := at.IsValid() && slices.ContainsFunc(word.Addresses, func(p netip.Prefix) bool {
		return p.Contains(at.WithZone(""))
	})
	if within || verified {
		d.Headers, d.Auth = word.Headers, word.Auth
		return
	}
	c.problem("the credentials configured for the service are withheld from %s: it lies in none of the service's addresses, and is not https with its server name. List its range, or use https and say the name in its certificate", d.URL)
}
