package static_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/router/static"
	"junction/state"
	"junction/state/document"
)

// samePrefix compares ranges of addresses, whose fields cannot be seen.
var samePrefix = cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })

func TestARegistryNeedsItsAddressOnly(t *testing.T) {
	for _, text := range []string{
		"discovery: {consul: \"http://127.0.0.1:8500\"}\n",
		"discovery:\n  consul: ${CONSUL:-http://127.0.0.1:8500}\nmcpServers: {}\n",
	} {
		c := parse(t, text, nil)
		if diff := cmp.Diff(&static.Consul{Address: "http://127.0.0.1:8500"}, c.Consul); diff != "" || len(c.Servers) != 0 {
			t.Errorf("%s(-want +got):\n%s", text, diff)
		}
	}
	for _, text := range []string{"mcpServers: {}\n", "discovery: {}\nmcpServers: {}\n"} {
		if c := parse(t, text, nil); c.Consul != nil {
			t.Errorf("%q names a registry: %v", text, c.Consul)
		}
	}
}

func TestAFileSaysWhatServicesInConsulOffer(t *testing.T) {
	c := parse(t, `
discovery:
  consul: https://${CONSUL_HOST}:8501
  token: ${TOKEN}
  datacenter: ${DC:-dc1}
  ca: tls/ca.pem
  cert: /etc/tls/cert.pem
  key: ../key.pem
  server_name: server.${DC:-dc1}.consul
  tag: mcp
  trust: true
  services:
    review-go:
      offers:
        - {capability: review, tool: review, effect: safe, attributes: {language: go}, with: {code: "${with.path}"}}
        - {capability: charge, tool: charge, effect: conditional, key: id}
        - {capability: refund, tool: refund, effect: conditional, key: id, ledger: {name: billing, keeps: 1h}}
      trust: true
      headers: {Authorization: "Bearer ${TOKEN}"}
      addresses: [10.0.0.0/8, "${POD_IP}", "::ffff:192.0.2.7", "fd00::/8"]
      server_name: reviewer.internal
      ca: tls/reviewers.pem
      latency_p95: 850ms
      max_concurrent: 120
    review-js: {}
`, map[string]string{"CONSUL_HOST": "consul.internal", "TOKEN": "s3cret", "POD_IP": "127.0.0.1"})
	want := &static.Consul{
		Address: "https://consul.internal:8501", Token: "s3cret", Datacenter: "dc1",
		CAFile: "/etc/junction/tls/ca.pem", CertFile: "/etc/tls/cert.pem", KeyFile: "/etc/key.pem",
		ServerName: "server.dc1.consul", Tag: "mcp", Trust: true,
		Services: map[string]router.Service{
			"review-go": {
				Offers: []router.Offer{{
					Capability: "review", Tool: "review", Effect: state.Safe, Attributes: map[string][]string{"language": {"go"}},
					With: template(t, map[string]any{"code": "${with.path}"}, "with"),
				}, {
					Capability: "charge", Tool: "charge", Effect: state.Conditional, Key: "id",
					Ledger: router.Ledger{Keeps: 24 * time.Hour},
				}, {
					Capability: "refund", Tool: "refund", Effect: state.Conditional, Key: "id",
					Ledger: router.Ledger{Name: "billing", Keeps: time.Hour},
				}},
				Trusted: true, LatencyP95: 850 * time.Millisecond, MaxConcurrent: 120,
				Headers: map[string]string{"Authorization": "Bearer s3cret"},
				Addresses: []netip.Prefix{
					netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.1/32"),
					netip.MustParsePrefix("192.0.2.7/32"), netip.MustParsePrefix("fd00::/8"),
				},
				ServerName: "reviewer.internal", CAFile: "/etc/junction/tls/reviewers.pem",
			},
			"review-js": {},
		},
	}
	if diff := cmp.Diff(want, c.Consul, templates, samePrefix); diff != "" {
		t.Errorf("consul (-want +got):\n%s", diff)
	}
	if c := parse(t, "discovery: {consul: \"unix:///run/consul.sock\"}\n", nil); c.Consul.Address != "unix:///run/consul.sock" {
		t.Errorf("socket %q", c.Consul.Address)
	}
	file := parse(t, "discovery: {consul: \"http://h:1\", token_file: secrets/token}\n", nil)
	if file.Consul.TokenFile != "/etc/junction/secrets/token" || file.Consul.Token != "" {
		t.Errorf("token file %q", file.Consul.TokenFile)
	}
}

// registry puts lines of the section discovery, from line 3 on, into a file.
func registry(lines string) string {
	return "discovery:\n  consul: http://h:8500\n" + indent(lines, 2)
}

// service puts lines of one service, from line 5 on, into a file.
func service(lines string) string {
	return registry("services:\n  s:\n" + indent(lines, 4))
}

func TestFaultsOfTheRegistryNamePlaceAndRemedy(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"no mapping", "discovery: http://h:8500\n", "1:12: a mapping is expected here, not text"},
		{"no address", "discovery: {tag: mcp}\n", `1:12: the key "consul" is missing (add consul: …)`},
		{"misspelt address", "discovery: {consull: \"http://h\"}\n", `1:13: unknown key "consull" (did you mean "consul"?)`},
		{"misspelt key", registry("tokenfile: x"), `3:3: unknown key "tokenfile" (did you mean "token_file"?)`},
		{"address without scheme", "discovery: {consul: \"127.0.0.1:8500\"}\n", "1:21: this is no URL (such as http://127.0.0.1:8500)"},
		{"other scheme", "discovery: {consul: \"redis://h\"}\n", "1:21: the address of Consul begins with http://, https:// or unix://"},
		{"no host", "discovery: {consul: \"http://:8500\"}\n", "1:21: the address of Consul names no host"},
		{"no socket", "discovery: {consul: \"unix://run/consul.sock\"}\n", "1:21: the address of Consul names no socket (such as unix:///run/consul.sock)"},
		{"token in the query", "discovery: {consul: \"http://h:8500/?token=x\"}\n", "1:21: the address of Consul is a scheme, a host and a port: addresses are shown, and what stands here may be a credential (write token: ${CONSUL_HTTP_TOKEN} beside it"},
		{"password", "discovery: {consul: \"http://:x@h:8500\"}\n", "1:21: the address of Consul is a scheme, a host and a port"},
		{"unset token", registry("token: ${TOKEN}"), "3:10: environment variable TOKEN is not set"},
		{"empty token", registry("token: ${TOKEN:-}"), "3:10: text that is not empty is expected here"},
		{"line break in the token", registry(`token: "a\n"`), "3:10: the token holds a line break"},
		{"two tokens", registry("token: a\ntoken_file: b"), "4:15: the token stands here or in a file, not both (remove one of them)"},
		{"certificate without key", "discovery: {consul: \"https://h\", cert: c.pem}\n", "1:40: cert is of no use without key (add key: …, or remove it)"},
		{"key without certificate", "discovery: {consul: \"https://h\", key: k.pem}\n", "1:39: key is of no use without cert"},
		{"authority without TLS", registry("ca: ca.pem"), "3:3: ca means nothing for an address that does not begin with https:// (write https:// in consul, or remove it)"},
		{"name without TLS", registry("server_name: x"), "3:3: server_name means nothing for an address that does not begin with https://"},
		{"trust in quotes", registry(`trust: "yes"`), "3:10: true or false is expected here, not text"},
		{"services as a list", registry("services: [a]"), "3:13: a mapping is expected here, not a list"},
		{"name of a service", registry("services: {a b: {}}"), `3:14: "a b" cannot name a service`},
		{"nameless service", registry(`services: {"": {}}`), "3:14: a service needs a name"},
		{"misspelt key of a service", service("offer: []"), `5:7: unknown key "offer" (did you mean "offers"?)`},
		{"key of a server", service("url: http://h"), `5:7: unknown key "url"`},
		{"offer without tool", service("offers: [{capability: c}]"), `5:16: the key "tool" is missing`},
		{"same tool twice", service("offers: [{capability: c, tool: t}, {capability: c, tool: t}]"), "5:42: t is offered for c twice"},
		{"no concurrency", service("max_concurrent: 0"), "5:23: a whole number from 1 to"},
		{"headers for anybody", service("headers: {A: b}"), "5:16: headers would go to whoever registers under this name (add addresses: [10.0.0.0/8]"},
		{"headers for no address", service("headers: {A: b}\naddresses: []"), "5:16: headers would go to whoever registers under this name"},
		{"addresses for nothing", service("addresses: [10.0.0.0/8]"), "5:18: addresses says where headers and auth may go, and there are none (remove it)"},
		{"header of the protocol's", service("headers: {Host: b}\nserver_name: x"), "5:17: the header Host is set for each request by itself"},
		{"address that is a name", service("headers: {A: b}\naddresses: [reviewer.internal]"), "6:19: this is no address and no range of addresses (such as 10.0.0.0/8, 127.0.0.1 or fd00::/8)"},
		{"range without end", service("headers: {A: b}\naddresses: [10.0.0.0/33]"), "6:19: this is no address and no range"},
		{"zone", service("headers: {A: b}\naddresses: [\"fe80::1%eth0\"]"), "6:19: this is no address and no range"},
		{"every address", service("headers: {A: b}\naddresses: [0.0.0.0/0]"), "6:19: a range of every address binds headers to nothing"},
		{"every address of the other kind", service("headers: {A: b}\naddresses: [\"::/0\"]"), "6:19: a range of every address binds headers to nothing"},
		{"bits beyond the length", service("headers: {A: b}\naddresses: [10.1.2.3/8]"), "6:19: the address has bits beyond the length of its range"},
		{"IPv4 range as IPv6", service("headers: {A: b}\naddresses: [\"::ffff:10.0.0.0/104\"]"), "6:19: write a range of IPv4 addresses as such"},
		{"number as address", service("headers: {A: b}\naddresses: [10]"), "6:19: text is expected here, not a number"},
		{"name with a scheme", service("server_name: https://x"), "5:20: the name in a certificate is a host's, without scheme, port or * (such as reviewer.internal)"},
		{"name of many", service(`server_name: "*.internal"`), "5:20: the name in a certificate is a host's"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := static.Parse("/etc/j.yaml", []byte(c.text), options(nil))
			var fs document.Faults
			if !errors.As(err, &fs) {
				t.Fatalf("Parse = %v, want faults", err)
			}
			if !strings.Contains(err.Error(), "/etc/j.yaml:"+c.want) {
				t.Errorf("faults:\n%v\nwant one with\n%s", err, c.want)
			}
			if len(fs) != 1 {
				t.Errorf("%d faults for one mistake:\n%v", len(fs), err)
			}
		})
	}
}

func TestAServiceAndAServerOnOneLedgerMustMapAlike(t *testing.T) {
	const offer = `{capability: charge, tool: t, effect: conditional, key: %s, ledger: {name: l}}`
	text := func(serverKey, serviceKey string) []byte {
		return fmt.Appendf(nil, "mcpServers: {a: {command: a, offers: ["+offer+"]}}\n"+
			"discovery: {consul: \"http://h\", services: {a: {offers: ["+offer+"]}}}\n", serverKey, serviceKey)
	}
	if _, err := static.Parse("j.yaml", text("id", "id"), options(nil)); err != nil {
		t.Errorf("alike: %v", err)
	}
	_, err := static.Parse("j.yaml", text("id", "ref"), options(nil))
	const want = "server a and service a share the ledger l for charge and carry the key in different places"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("faults: %v\nwant one with %q", err, want)
	}
}

func TestNoSecretOfTheRegistryIsInAFaultOrAString(t *testing.T) {
	const secret = "hunter2"
	env := map[string]string{"SECRET": secret, "LINES": secret + "\nx"}
	for _, text := range []string{
		"discovery: {consul: \"http://h/?token=${SECRET}\"}",
		"discovery: {consul: \"${SECRET}://h\"}",
		"discovery: {consul: \"http://[${SECRET}\"}",
		"discovery: {consul: \"http://h\", token: \"${LINES}\"}",
		"discovery: {consul: \"http://h\", server_name: \"${SECRET}/\"}",
		"discovery: {consul: \"http://h\", services: {s: {headers: {A: \"${LINES}\"}, addresses: [\"${SECRET}\"]}}}",
		"discovery: {consul: \"http://h\", token: !hunter2 x}",
		"discovery: {consul: \"http://h\", services: {s: {headers: {A: !hunter2 x}, server_name: s}}}",
	} {
		if _, err := static.Parse("j.yaml", []byte(text), options(env)); err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s\ngives %v", text, err)
		}
	}
	c := parse(t, "discovery: {consul: \"http://h:8500\", token: \"${SECRET}\", services: {s: {headers: {A: \"${SECRET}\"}, server_name: s}}}", env)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{c, c.Consul, *c.Consul} {
			if s := fmt.Sprintf(verb, v); strings.Contains(s, secret) || !strings.Contains(s, "consul at http://h:8500, 1 services declared") {
				t.Errorf("%s of a %T gives %s", verb, v, s)
			}
		}
	}
}

func TestAChangedRegistryNeedsARestart(t *testing.T) {
	const section = "discovery: {consul: \"http://h:8500\", tag: mcp}\n"
	f := newFile(t, section+"mcpServers: {a: {command: x}}\n")
	d := f.discovery()

	f.write("# the same\n" + section + "mcpServers: {b: {command: x}}\n")
	if err := d.Refresh(t.Context()); err != nil {
		t.Fatalf("Refresh after another server came = %v", err)
	}
	for _, changed := range []string{"discovery: {consul: \"http://h:8500\", tag: other}\n", "", "discovery: {consul: \"http://h:8500\", tag: mcp, services: {s: {}}}\n"} {
		f.write(changed + "mcpServers: {c: {command: x}}\n")
		for range 2 {
			if err := d.Refresh(t.Context()); !errors.Is(err, static.ErrRestart) || !strings.Contains(err.Error(), f.path) {
				t.Errorf("Refresh with %q = %v", changed, err)
			}
		}
		if s := d.Snapshot(); ids(s) != "c" || s.Stale {
			t.Errorf("servers %q, stale %v; want the new ones", ids(s), s.Stale)
		}
	}
	f.write(section + "mcpServers: {c: {command: x}}\n")
	if err := d.Refresh(t.Context()); err != nil {
		t.Errorf("Refresh after the section was put back = %v", err)
	}
	f.write("mcpServers: {c: {command: x}}\ndiscovery: {}\n")
	if err := d.Refresh(t.Context()); !errors.Is(err, static.ErrRestart) {
		t.Errorf("Refresh with an empty section = %v", err)
	}
}
