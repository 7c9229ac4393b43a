package review

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// pair is a key of the servers file and its value, in YAML.
type pair struct{ key, value string }

// says is a pair whose value is text.
func says(key, text string) pair { return pair{key, scalar(text)} }

// offer is the place of a tool's offer in the servers file with the pairs in it.
func (l *look) offer(t *Tool, pairs ...pair) string {
	own := []pair{says("capability", t.Capability)}
	if !slices.ContainsFunc(pairs, func(p pair) bool { return p.key == "tool" }) {
		own = append(own, says("tool", t.Name))
	}
	return l.list(append(own, pairs...))
}

// newOffer is an offer for a tool that has none: what the server hints of it is
// for the operator to judge.
func (l *look) newOffer(t *Tool) string {
	effect := "unsafe"
	if t.reads() {
		effect = "safe"
	}
	capability := strings.Trim(unnameable.ReplaceAllString(t.Name, "-"), "-.")
	if capability == "" {
		capability = "NAME"
	}
	return l.list([]pair{says("capability", capability), says("tool", t.Name), says("effect", effect)})
}

// unnameable is what the name of a capability cannot hold.
var unnameable = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

func (l *look) list(pairs []pair) string {
	var b strings.Builder
	head, indent := l.head()
	b.WriteString(head + indent + "offers:\n")
	for i, p := range pairs {
		lead := "    "
		if i == 0 {
			lead = "  - "
		}
		b.WriteString(indent + lead + p.key + ": " + p.value + "\n")
	}
	return b.String()
}

// server is the server's place in the servers file with the pairs in it.
func (l *look) server(pairs ...pair) string {
	head, indent := l.head()
	for _, p := range pairs {
		head += indent + p.key + ": " + p.value + "\n"
	}
	return head
}

// head opens the server's mapping, or that of the service in Consul.
func (l *look) head() (text, indent string) {
	s := l.in.Server
	if s.Source == "consul" {
		return "discovery:\n  services:\n    " + scalar(s.Name) + ":\n", "      "
	}
	return "mcpServers:\n  " + scalar(s.ID) + ":\n", "    "
}

// ledger names a ledger after the server.
func (l *look) ledger() pair {
	name := strings.Trim(unnameable.ReplaceAllString(l.in.Server.Name, "-"), "-.")
	if name == "" {
		name = "NAME"
	}
	return pair{"ledger", "{name: " + name + ", keeps: 24h}"}
}

var (
	plain = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9._-]*$`)
	word  = regexp.MustCompile(`(?i)^(true|false|yes|no|on|off|null|y|n)$`) // mean something else than themselves
)

// scalar writes text so that YAML reads it as that text.
func scalar(text string) string {
	if plain.MatchString(text) && !word.MatchString(text) {
		return text
	}
	quoted, err := json.Marshal(text) // a double-quoted scalar of YAML
	if err != nil {
		return "NAME"
	}
	return string(quoted)
}
