package static

import (
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"

	"junction/router"
	"junction/state/document"
)

// reader decodes one file. Faults are recorded in the document; what a reader
// returns is used only when there were none.
type reader struct {
	dir    string // of the file, absolute
	host   string // "": not asked for yet
	env    lookup
	shared []sharing // conditional offers in the file's order
}

func (r *reader) config(root *document.Node) *Config {
	top := root.Mapping("store", "discovery", "routing", "proxy", "mcpServers", "capabilities")
	c := &Config{Contracts: contracts(top.Get("capabilities")), Proxy: proxy(top.Get("proxy")), prints: map[string]string{}}
	c.Store, _ = r.expanded(top.Get("store"))
	if top.Has("mcpServers") {
		for _, e := range top.Get("mcpServers").Mapping().Entries() {
			if s := r.server(e); s != nil {
				c.Servers = append(c.Servers, s)
				c.prints[s.ID] = digest(s, e.Node)
			}
		}
	}
	slices.SortFunc(c.Servers, func(a, b *router.Server) int { return cmp.Compare(a.ID, b.ID) })
	if c.Consul = r.consul(top.Get("discovery")); c.Consul != nil {
		c.found = sum(top.Get("discovery"))
	}
	if n := top.Get("routing"); n != nil {
		c.Routing, c.routed = r.routing(n), sum(n)
	}
	r.checkLedgers()
	return c
}

// text returns a node's text as it stands. A number or a truth value is told to
// stand in quotes, because YAML would not keep how it was written.
func (r *reader) text(n *document.Node) string {
	if n != nil && (n.Kind == document.Number || n.Kind == document.Boolean) {
		n.Fault("put it in quotes", "text is expected here, not %s", n.Kind)
		return ""
	}
	return n.Text()
}

// literal reads text in which variables do not expand.
func (r *reader) literal(n *document.Node) string {
	text := r.text(n)
	if strings.Contains(text, "${") {
		n.Fault("write it out; a relative path is relative to this file", "variables do not expand in %s", n.Path[strings.LastIndexByte(n.Path, '.')+1:])
	}
	return text
}

// expanded returns a node's text with its environment variables replaced, and
// whether there was nothing wrong with it.
func (r *reader) expanded(n *document.Node) (text string, ok bool) {
	if n == nil || n.Kind != document.Text {
		return r.text(n), false
	}
	text, err := expand(n.Text(), r.env)
	if err != nil {
		n.Fault("", "%v", err)
	}
	return text, err == nil
}

// expandedMap reads a mapping of texts; keys are as check wants them.
func (r *reader) expandedMap(n *document.Node, check func(key *document.Node, name, value string)) map[string]string {
	entries := n.Mapping().Entries()
	if len(entries) == 0 {
		return nil
	}
	m := make(map[string]string, len(entries))
	for _, e := range entries {
		m[e.Key], _ = r.expanded(e.Node)
		check(e.At, e.Key, m[e.Key])
	}
	return m
}

// hostname returns this machine's name, or records why it is not known.
func (r *reader) hostname(at *document.Node) string {
	if r.host == "" {
		name, err := os.Hostname()
		if err != nil {
			at.Fault("name one, as in ledger: {name: billing}", "the default ledger has this host's name in it, which is not known: %v", err)
			return ""
		}
		r.host = name
	}
	return r.host
}

var nameRule = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

var nameRest = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// name checks that n's text can be a name in records, metrics and commands.
func name(n *document.Node, what, s string) {
	if n == nil || s == "" || nameRule.MatchString(s) {
		return
	}
	hint := ""
	if like := nameRest.ReplaceAllString(s, "-"); nameRule.MatchString(like) {
		hint = "call it " + like
	}
	n.Fault(hint, "%q cannot name a %s: letters, digits, '.', '_' and '-' can, up to 64, beginning with a letter or digit", s, what)
}
