package diagnose

import (
	"cmp"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// lines are those of the servers file that stand for this server, with some of its
// own.
func (p *patient) lines(own ...string) string {
	var b strings.Builder
	name, indent := cmp.Or(clean(p.server.Name), clean(p.server.ID)), "    "
	switch {
	case p.server.Source == "consul":
		b.WriteString("discovery:\n  services:\n")
		indent = "      "
		b.WriteString("    " + name + ":\n")
	case strings.Contains(name, "://") || name == "": // it is in no file
		b.WriteString("mcpServers:\n  NAME:\n")
		if !slices.ContainsFunc(own, func(l string) bool { return strings.HasPrefix(l, "url:") }) {
			b.WriteString(indent + "url: " + bareURL(p.url) + "\n")
		}
	default:
		b.WriteString("mcpServers:\n  " + name + ":\n")
	}
	for _, text := range own {
		for l := range strings.SplitSeq(text, "\n") {
			b.WriteString(indent + l + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// rather is a trouble that another URL ends.
func (p *patient) rather(cause, fix, url string) Trouble {
	t := failed(cause, fix)
	if p.server.Source == "consul" {
		t.Fix += "; in Consul that is the service's address and port, with mcp-path and mcp-scheme in its Meta"
		return t
	}
	return t.paste(p.lines("url: " + url))
}

// variable is the name of an environment variable for a server's secret.
func (p *patient) variable(what string) string {
	name := cmp.Or(p.server.Name, p.server.ID)
	if strings.Contains(name, "://") {
		name = p.url.Hostname()
	}
	upper := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
	if upper == "" || upper[0] >= '0' && upper[0] <= '9' {
		upper = "SERVER"
	}
	return "${" + upper + "_" + what + "}"
}

// joinPort is host and port of a URL.
func joinPort(u *url.URL) string {
	return net.JoinHostPort(u.Hostname(), strconv.Itoa(int(portOf(u))))
}
