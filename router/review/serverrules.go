package review

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// serverRules are the rules for the server as a whole; their tool is nil.
var serverRules = []rule{
	{"unreachable", Risk, unreachable},
	{"credential-in-the-clear", Risk, credentialInTheClear},
	{"credential-missing", Risk, credentialMissing},
	{"idle-above-maximum", Risk, idleAboveMaximum},
	{"stray-messages", Note, strayMessages},
	{"tools-not-pinned", Note, toolsNotPinned},
	{"concurrency-undeclared", Note, concurrencyUndeclared},
	{"tools-without-offer", Note, toolsWithoutOffer},
}

func unreachable(l *look, _ *Tool) *Finding {
	if l.in.Err == nil {
		return nil
	}
	return &Finding{
		Says: "the server cannot be described: " + l.rv.Server.Error,
		Then: "nothing below that comes from the server itself is known",
		Fix:  "see that it runs and can be reached, then review it again",
	}
}

func credentialInTheClear(l *look, _ *Tool) *Finding {
	d := &l.in.Server.Dial
	u, err := url.Parse(d.URL)
	if err != nil || u.Scheme != "http" || loopback(u.Hostname()) || len(d.Headers)+len(d.Auth) == 0 && u.User == nil && u.RawQuery == "" {
		return nil
	}
	return &Finding{
		Says: "it is reached over http:// and configured with headers, credentials or a query",
		Then: "whoever is on the way reads them",
		Fix:  "write https:// in its url",
	}
}

func loopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return strings.EqualFold(host, "localhost")
}

func idleAboveMaximum(l *look, _ *Tool) *Finding {
	if l.clocks.idle <= l.clocks.max {
		return nil
	}
	return &Finding{
		Says: fmt.Sprintf("the idle clock (%s) is above the maximum (%s)", span(l.clocks.idle), span(l.clocks.max)),
		Then: "it never runs out: a hung call is noticed at the maximum only",
		Fix:  fmt.Sprintf("timeout: {idle: %s, max: %s} in the workflow's calls", span(l.clocks.max/2), span(l.clocks.max)),
	}
}

func toolsNotPinned(l *look, _ *Tool) *Finding {
	if l.in.Server.Approval != "" {
		return nil
	}
	if !slices.ContainsFunc(l.rv.Tools, func(t Tool) bool { return t.offered() && t.Effect != state.Safe }) {
		return nil
	}
	f := &Finding{
		Says: "it is trusted with effects, and its tools may become others at any time",
		Then: "a tool that somebody approved as one thing is called as another",
		Fix:  "hold tools back that changed, until somebody approves them (junction servers --approve)",
	}
	if l.in.Server.Source == "consul" {
		f.Fix += "; only servers named under mcpServers can be pinned"
	} else {
		f.Paste = l.server(says("approval", router.Pinned))
	}
	return f
}

// credentialMissing believes a server that says that it wants to know who calls.
func credentialMissing(l *look, _ *Tool) *Finding {
	d, dial := l.in.Description, &l.in.Server.Dial
	if d == nil || !d.Routing.RequiresAuth || dial.URL == "" || len(dial.Headers)+len(dial.Auth) > 0 {
		return nil
	}
	return &Finding{
		Says: "it says that it wants credentials, and none are configured",
		Then: "calls are refused with " + string(router.AuthRequired) + ", and go to another server",
		Fix:  "give it headers, or auth as the servers file's documentation describes it",
	}
}

func strayMessages(l *look, _ *Tool) *Finding {
	var parts []string
	for _, kind := range mcp.StrayKinds() {
		if n := l.strays[kind]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(parts) == 0 {
		return nil
	}
	return &Finding{
		Says: "it sent messages that belong to no request: " + strings.Join(parts, ", "),
		Then: "they are dropped; a server that loses track of ids may answer the wrong call",
		Fix:  "report it to the server's author",
	}
}

func concurrencyUndeclared(l *look, _ *Tool) *Finding {
	if l.in.Err != nil || len(l.rv.Tools) == 0 {
		return nil
	}
	for _, t := range l.rv.Tools {
		if t.MaxConcurrent > 0 {
			return nil
		}
	}
	return &Finding{
		Says:  "nobody says how many calls it takes at once",
		Then:  "no call waits for a place here: an overload is noticed when calls fail",
		Fix:   "say what it can bear",
		Paste: l.server(pair{"max_concurrent", "8"}),
	}
}

func toolsWithoutOffer(l *look, _ *Tool) *Finding {
	var names []string
	var first *Tool
	for i := range l.rv.Tools {
		t := &l.rv.Tools[i]
		verifies := func(other Tool) bool { return other.Verify == t.Name }
		if t.offered() || slices.ContainsFunc(l.rv.Tools, verifies) {
			continue
		}
		names = append(names, t.Name)
		if first == nil || t.reads() && !first.reads() { // the likeliest to be wanted
			first = t
		}
	}
	if first == nil {
		return nil
	}
	const most = 8
	listed, more := names, ""
	if len(names) > most {
		listed, more = names[:most], fmt.Sprintf(" and %d more", len(names)-most)
	}
	has := "tools have"
	if len(names) == 1 {
		has = "tool has"
	}
	return &Finding{
		Says:  fmt.Sprintf("%d %s no offer: %s%s", len(names), has, strings.Join(listed, ", "), more),
		Then:  "they are never picked for a capability, and called by name they are unsafe",
		Fix:   "offer those that workflows need",
		Paste: l.newOffer(first),
	}
}
