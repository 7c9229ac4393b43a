package static

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"

	"junction/router"
	"junction/state/document"
	"junction/state/value"
)

// Consul is what the file says of the registry that servers are found in besides
// this file, and of the services there. The files it names are not looked at
// when it is loaded; relative ones were made relative to the servers file.
type Consul struct {
	Address    string // http://, https:// or unix://, without a credential
	Token      string // a secret; "": TokenFile's, else none
	TokenFile  string
	Datacenter string // "": that of the agent asked
	CAFile     string // PEM; "": the system's authorities
	CertFile   string // PEM, set together with KeyFile: our own certificate
	KeyFile    string
	ServerName string                    // that Consul's certificate must be valid for; "": the address's host
	Tag        string                    // that servers are registered with; "": mcp
	Trust      bool                      // effects that services state of themselves in Consul count
	Services   map[string]router.Service // by the name in Consul; a ledger without name is each instance's own
}

// String tells where the registry is and nothing that may be secret.
func (c Consul) String() string {
	return fmt.Sprintf("consul at %s, %d services declared", c.Address, len(c.Services))
}

// GoString is String, so that %#v shows no secret either.
func (c Consul) GoString() string { return c.String() }

// consul reads the section discovery: nil where no registry is named.
func (r *reader) consul(n *document.Node) *Consul {
	m := n.Mapping("consul", "token", "token_file", "datacenter", "ca", "cert", "key", "server_name", "tag", "trust", "services")
	if len(m.Entries()) == 0 {
		return nil
	}
	c := &Consul{
		Address:    r.registry(m),
		Token:      r.token(m.Get("token")),
		TokenFile:  r.file(r.word(m.Get("token_file"))),
		Datacenter: r.word(m.Get("datacenter")),
		CAFile:     r.file(r.word(m.Get("ca"))),
		CertFile:   r.file(r.word(m.Get("cert"))),
		KeyFile:    r.file(r.word(m.Get("key"))),
		ServerName: certified(m.Get("server_name"), r.word(m.Get("server_name"))),
		Tag:        r.word(m.Get("tag")),
		Trust:      m.Get("trust").Bool(),
	}
	if m.Has("token") && m.Has("token_file") {
		m.Get("token_file").Fault("remove one of them", "the token stands here or in a file, not both")
	}
	for _, pair := range [][2]string{{"cert", "key"}, {"key", "cert"}} {
		if has := m.Get(pair[0]); has != nil && !m.Has(pair[1]) {
			has.Fault(fmt.Sprintf("add %s: …, or remove it", pair[1]), "%s is of no use without %s", pair[0], pair[1])
		}
	}
	if u, err := url.Parse(c.Address); err == nil && (u.Scheme == "http" || u.Scheme == "unix") {
		uncertified(m, "consul", "ca", "cert", "key", "server_name")
	}
	c.Services = r.services(m.Get("services"))
	return c
}

// registry checks Consul's address without quoting it: what should not be in it
// may be a credential.
func (r *reader) registry(m *document.Mapping) string {
	const like = "such as http://127.0.0.1:8500"
	if misspelt(m, "consul") {
		return ""
	}
	n := m.Require("consul")
	raw, ok := r.expanded(n)
	if !ok {
		return ""
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		n.Fault(like, "this is no URL")
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "unix":
		n.Fault(like, "the address of Consul begins with http://, https:// or unix://")
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		n.Fault("write token: ${CONSUL_HTTP_TOKEN} beside it, and datacenter: where that is meant",
			"the address of Consul is a scheme, a host and a port: addresses are shown, and what stands here may be a credential")
	case u.Scheme == "unix" && (u.Host != "" || u.Path == ""):
		n.Fault("such as unix:///run/consul.sock", "the address of Consul names no socket")
	case u.Scheme != "unix" && u.Hostname() == "":
		n.Fault(like, "the address of Consul names no host")
	}
	return raw
}

// misspelt reports whether m lacks the key and has one that was meant for it,
// which is a fault already.
func misspelt(m *document.Mapping, key string) bool {
	if m.Has(key) {
		return false
	}
	for _, e := range m.Entries() {
		if document.Suggest(e.Key, []string{key}) != "" {
			return true
		}
	}
	return false
}

// word reads text with variables that may not be empty.
func (r *reader) word(n *document.Node) string {
	text, ok := r.expanded(n)
	if ok && strings.TrimSpace(text) == "" {
		n.Fault("leave it out when nothing is said about it", "text that is not empty is expected here")
	}
	return text
}

// token reads a secret that goes into a header.
func (r *reader) token(n *document.Node) string {
	text := r.word(n)
	if strings.ContainsAny(text, "\r\n\x00") {
		n.Fault("a file's last line break often gets into a variable; token_file: leaves it out", "the token holds a line break")
	}
	return text
}

// file makes a relative path relative to the servers file; "" stays.
func (r *reader) file(path string) string {
	if path != "" && !filepath.IsAbs(path) {
		path = filepath.Join(r.dir, filepath.FromSlash(path))
	}
	return path
}

// certified checks that n's text can be what a certificate is valid for: a
// host's name or an address.
func certified(n *document.Node, name string) string {
	if _, err := netip.ParseAddr(name); err == nil {
		return name
	}
	if strings.ContainsAny(name, "/:*@ \t\r\n\x00") {
		n.Fault("such as reviewer.internal", "the name in a certificate is a host's, without scheme, port or *")
	}
	return name
}

// sum identifies what the file says, so that another version is noticed.
func sum(n *document.Node) string {
	data, err := value.Encode(n.Value())
	if err != nil {
		return fmt.Sprintf("%p", n) // like no other
	}
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:])
}
