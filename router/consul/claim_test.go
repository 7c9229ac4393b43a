package consul

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/state"
)

// told makes an entry of what an instance says.
func told(meta map[string]string, tags ...string) entry {
	var e entry
	e.Node.Node, e.Node.Address = "n1", "10.0.0.9"
	e.Service.ID, e.Service.Port = "i1", 8080
	e.Service.Tags, e.Service.Meta = append([]string{"mcp"}, tags...), meta
	return e
}

func TestTagsAndMetaBecomeOffers(t *testing.T) {
	t.Parallel()
	go1 := map[string][]string{"language": {"go"}}
	for _, c := range []struct {
		name string
		o    Options
		e    entry
		want []router.Offer
	}{
		{"plain tags are capabilities", Options{}, told(nil, "review", "diff"), []router.Offer{{Capability: "review"}, {Capability: "diff"}}},
		{"another mark", Options{Tag: "ours"}, told(nil, "ours", "review"), []router.Offer{{Capability: "review"}}},
		{"tags with = are attributes", Options{}, told(nil, "review", "language=go"), []router.Offer{{Capability: "review", Attributes: go1}}},
		{"attributes come together", Options{}, told(map[string]string{"language": "go, rust", "depth": "deep"}, "review", "language=c", "language=go"),
			[]router.Offer{{Capability: "review", Attributes: map[string][]string{"language": {"go", "rust", "c"}, "depth": {"deep"}}}}},
		{"a list of capabilities", Options{}, told(map[string]string{MetaCapabilities: "review, ,diff,review"}, "v2"), []router.Offer{{Capability: "review"}, {Capability: "diff"}}},
		{"none at all", Options{}, told(map[string]string{MetaCapabilities: ""}, "v2"), nil},
		{"a tool", Options{}, told(map[string]string{MetaTool: "lint"}, "review"), []router.Offer{{Capability: "review", Tool: "lint"}}},
		{"a tool for each", Options{}, told(map[string]string{MetaTool + "-review": "lint", MetaTool + "-diff": "show"}, "review", "diff"),
			[]router.Offer{{Capability: "review", Tool: "lint"}, {Capability: "diff", Tool: "show"}}},
		{"effects do not count unasked", Options{}, told(map[string]string{MetaEffect: "safe", MetaKey: "k", MetaLedger: "pay"}, "review"), []router.Offer{{Capability: "review"}}},
		{"trusted, they do", Options{Trust: true}, told(map[string]string{MetaEffect: "safe", MetaEffect + "-charge": "conditional", MetaKey + "-charge": "_meta.k", MetaLedger + "-charge": "pay", MetaKeeps + "-charge": "2h"}, "review", "charge"),
			[]router.Offer{{Capability: "review", Effect: state.Safe}, {Capability: "charge", Effect: state.Conditional, Key: "_meta.k", Ledger: router.Ledger{Name: "pay", Keeps: 2 * time.Hour}}}},
		{"a ledger of its own", Options{Trust: true}, told(map[string]string{MetaEffect: "conditional", MetaKey: "k"}, "charge"),
			[]router.Offer{{Capability: "charge", Effect: state.Conditional, Key: "k", Ledger: router.Ledger{Name: "i1@n1"}}}},
		{"the operator's offers replace them", Options{Services: map[string]router.Service{"s": {Offers: []router.Offer{{Capability: "x", Tool: "y"}}}}},
			told(nil, "review"), []router.Offer{{Capability: "x", Tool: "y"}}},
		{"attributes that the operator does not name stay", Options{Services: map[string]router.Service{"s": {Offers: []router.Offer{{Capability: "x", Tool: "y"}}}}},
			told(nil, "review", "language=go"), []router.Offer{{Capability: "x", Tool: "y", Attributes: go1}}},
		{"those that he names are his", Options{Services: map[string]router.Service{"s": {Offers: []router.Offer{{Capability: "x", Attributes: go1}, {Capability: "y"}}}}},
			told(map[string]string{"Language": "rust", "depth": "deep"}, "language=c"),
			[]router.Offer{{Capability: "x", Attributes: map[string][]string{"language": {"go"}, "depth": {"deep"}}},
				{Capability: "y", Attributes: map[string][]string{"Language": {"rust"}, "depth": {"deep"}, "language": {"c"}}}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			i := c.o.newInstance("s", c.e)
			if i.server == nil || len(i.problems) > 0 {
				t.Fatalf("server %v, problems %q", i.server, i.problems)
			}
			if d := cmp.Diff(c.want, i.server.Offers); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestWhatCannotBeUsedIsAProblemThatSaysWhatToWrite(t *testing.T) {
	t.Parallel()
	at := func(address string, port int) entry {
		e := told(nil, "review")
		e.Service.Address, e.Service.Port = address, port
		return e
	}
	id := func(id string) entry { e := told(nil, "review"); e.Service.ID = id; return e }
	for _, c := range []struct {
		name   string
		e      entry
		says   string
		offers int // -1: the instance is left out
	}{
		{"an unknown effect", told(map[string]string{MetaEffect + "-a": "saef"}, "a", "b"), `mcp-effect-a is "saef"`, 1},
		{"a key is missing", told(map[string]string{MetaEffect: "conditional"}, "a"), "carries the key", 0},
		{"how long keys are kept", told(map[string]string{MetaEffect: "conditional", MetaKey: "k", MetaKeeps: "long"}, "a"), `"long"`, 0},
		{"a tool of whom?", told(map[string]string{MetaTool: "lint", MetaTool + "-b": "x"}, "a", "b"), "mcp-tool-a", 1},
		{"a misspelt key", told(map[string]string{"mcp-efect": "safe"}, "a"), "mcp-efect means nothing", 1},
		{"of no capability", told(map[string]string{MetaTool + "-b": "x"}, "a"), "it offers a", 1},
		{"a number that is none", told(map[string]string{MetaConcurrent: "many"}, "a"), `"many"`, -1},
		{"a number below one", told(map[string]string{MetaLatencyP95: "0"}, "a"), `"0"`, -1},
		{"a scheme", told(map[string]string{MetaScheme: "ftp"}, "a"), `"ftp"`, -1},
		{"a path without /", told(map[string]string{MetaPath: "mcp"}, "a"), `"mcp"`, -1},
		{"a path to another host", told(map[string]string{MetaPath: "//evil.example/mcp"}, "a"), "path such as /mcp", -1},
		{"a path with a query", told(map[string]string{MetaPath: "/mcp?x"}, "a"), "without ?", -1},
		{"an empty path", told(map[string]string{MetaPath: ""}, "a"), "path such as /mcp", -1},
		{"machine metadata", at("169.254.169.254", 80), "link-local", -1},
		{"in its other spelling", at("::ffff:169.254.169.254", 80), "link-local", -1},
		{"for IPv6", at("fe80::1%eth0", 80), "link-local", -1},
		{"of a cloud, for IPv6", at("fd00:ec2::254", 80), "link-local", -1},
		{"everywhere", at("0.0.0.0", 80), "0.0.0.0", -1},
		{"no host", at("evil.example/x?", 80), "neither an IP address", -1},
		{"a user in it", at("user@evil.example", 80), "neither an IP address", -1},
		{"no port", at("10.0.0.1", 0), "port is 0", -1},
		{"no id", id(""), "its id is empty", -1},
		{"control characters", id("a\x1b[2J"), "control characters", -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := Options{Trust: true}
			i := o.newInstance("s", c.e)
			if !slices.ContainsFunc(i.problems, func(p string) bool { return strings.Contains(p, c.says) }) {
				t.Errorf("problems %q, want %q", i.problems, c.says)
			}
			if (i.server == nil) != (c.offers < 0) || i.server != nil && len(i.server.Offers) != c.offers {
				t.Errorf("server %+v, want %d offers", i.server, c.offers)
			}
		})
	}
}

func TestTheURLComesFromAddressPortAndMeta(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, scheme, path, want string }{
		{"", "", "", "http://10.0.0.9:8080/mcp"},
		{"10.1.1.1", "https", "/a/b", "https://10.1.1.1:8080/a/b"},
		{"2001:db8::1", "", "", "http://[2001:db8::1]:8080/mcp"},
		{"billing.service.consul", "", "/", "http://billing.service.consul:8080/"},
	} {
		e := told(map[string]string{}, "a")
		e.Service.Address = c.address
		for key, v := range map[string]string{MetaScheme: c.scheme, MetaPath: c.path} {
			if v != "" {
				e.Service.Meta[key] = v
			}
		}
		i := (&Options{}).newInstance("s", e)
		if i.server == nil || i.server.Dial.URL != c.want {
			t.Errorf("%+v: %+v, %q; want %s", c, i.server, i.problems, c.want)
		}
	}
}

func TestHeadersGoOnlyToWhoTheyAreFor(t *testing.T) {
	t.Parallel()
	ten := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, c := range []struct {
		name, address, scheme string
		word                  router.Service
		sent                  bool
		serverName            string
	}{
		{"in range", "10.0.0.1", "http", router.Service{Addresses: ten}, true, ""},
		{"in range, mapped", "::ffff:10.0.0.1", "http", router.Service{Addresses: ten}, true, ""},
		{"out of range", "11.0.0.1", "https", router.Service{Addresses: ten}, false, ""},
		{"a name is no address", "ten.example", "http", router.Service{Addresses: ten}, false, ""},
		{"https with a name to check", "11.0.0.1", "https", router.Service{ServerName: "pay.example"}, true, "pay.example"},
		{"http has nothing to check", "11.0.0.1", "http", router.Service{ServerName: "pay.example"}, false, ""},
		{"neither", "10.0.0.1", "https", router.Service{}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := told(map[string]string{MetaScheme: c.scheme}, "a")
			e.Service.Address = c.address
			c.word.Headers, c.word.CAFile = map[string]string{"Authorization": "Bearer s3cret"}, "ca.pem"
			o := Options{Services: map[string]router.Service{"s": c.word}}
			i := o.newInstance("s", e)
			if got := maps.Equal(i.server.Dial.Headers, c.word.Headers); got != c.sent || i.server.Dial.ServerName != c.serverName || (len(i.problems) == 0) != c.sent {
				t.Errorf("sent %t with server name %q, problems %q", got, i.server.Dial.ServerName, i.problems)
			}
			if signed := i.server.Dial.CAFile == "ca.pem"; signed != (c.scheme == "https") {
				t.Errorf("over %s its certificate is held to %q", c.scheme, i.server.Dial.CAFile)
			}
		})
	}
}

func TestASidecarIsNoServer(t *testing.T) {
	t.Parallel()
	e := told(nil, "review")
	e.Service.Kind = "connect-proxy"
	if i := (&Options{}).newInstance("s", e); i.server != nil || len(i.problems) > 0 {
		t.Errorf("%+v", i)
	}
}
