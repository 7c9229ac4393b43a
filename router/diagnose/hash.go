package diagnose

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"junction/router"
)

// toolset is what the documents of two servers, or two readings, are compared by.
type toolset struct {
	name, version, protocol string
	tools                   map[string]router.ToolPrint
}

func toolsOf(d *router.Description) *toolset {
	t := &toolset{clean(d.Name), clean(d.Version), clean(d.ProtocolVersion), map[string]router.ToolPrint{}}
	for i := range d.Tools {
		t.tools[d.Tools[i].Name] = d.Tools[i].Print()
	}
	return t
}

// differences names what another document has otherwise.
func (t *toolset) differences(o *toolset) []string {
	var all []string
	for _, v := range []struct{ what, mine, other string }{
		{"name", t.name, o.name}, {"version", t.version, o.version}, {"protocol", t.protocol, o.protocol},
	} {
		if v.mine != v.other {
			all = append(all, fmt.Sprintf("%s %s, then %s", v.what, quoted(v.mine), quoted(v.other)))
		}
	}
	names := slices.Sorted(maps.Keys(t.tools))
	for name := range o.tools {
		if _, both := t.tools[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		mine, inMine := t.tools[name]
		other, inOther := o.tools[name]
		switch {
		case !inOther:
			all = append(all, "tool "+clean(name)+" is gone")
		case !inMine:
			all = append(all, "tool "+clean(name)+" is new")
		case mine != other:
			all = append(all, "tool "+clean(name)+" has another "+strings.Join(parts(mine, other), " and "))
		}
	}
	return all
}

// parts are those in which two prints of a tool differ.
func parts(a, b router.ToolPrint) []string {
	var all []string
	if a.Description != b.Description {
		all = append(all, "description")
	}
	if a.InputSchema != b.InputSchema {
		all = append(all, "inputSchema")
	}
	if a.OutputSchema != b.OutputSchema {
		all = append(all, "outputSchema")
	}
	if a.Annotations != b.Annotations {
		all = append(all, "annotations")
	}
	return all
}

// contextHash judges whether the server says the same in two sessions.
func (p *patient) contextHash() {
	l, a, b := p.layer(ContextHash), p.read[0], p.read[1]
	if a == nil || b == nil {
		return
	}
	if a.err != nil {
		return // said of another layer
	}
	if b.err != nil {
		l.TookMS = millis(b.took)
		l.add(failed("it was read once, and not a second time at once after that: "+p.mask(sayErr(b.err)), "look at the server's log: it bears no second session, or one of its replicas is ill"))
		return
	}
	x, y := a.description, b.description
	if x.Fingerprint == y.Fingerprint && x.Session.ContextHash == y.Session.ContextHash {
		l.pass(max(a.took, b.took), "the same in two sessions: %s", short(x.Session.ContextHash))
		return
	}
	l.TookMS = millis(max(a.took, b.took))
	all := toolsOf(x).differences(toolsOf(y))
	if len(all) == 0 {
		all = []string{"what it declares beside its tools, such as its capabilities"}
	}
	l.add(failed("its capability document is another one in each session: "+some(all),
		"take out of it what changes by itself (times, counters, chance, an order of maps), or, behind a balancer, have all replicas run the same version; sessions are made anew at every change"))
}

// short is the beginning of a hash, to be compared by eye.
func short(hash string) string {
	const most = len("sha256:") + 12
	return hash[:min(len(hash), most)]
}
