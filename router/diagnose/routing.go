package diagnose

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"junction/router"
	"junction/state/document"
)

// routed is what a server declares of how to route to it.
func routed(r *router.Routing) string {
	var all []string
	if r.Capability != "" {
		all = append(all, clean(r.Capability))
	}
	for _, k := range slices.Sorted(maps.Keys(r.Attributes)) {
		all = append(all, clean(k)+"="+clean(strings.Join(r.Attributes[k], "|")))
	}
	if r.MaxConcurrent > 0 {
		all = append(all, fmt.Sprintf("%d at once", r.MaxConcurrent))
	}
	if r.LatencyP95MS > 0 {
		all = append(all, fmt.Sprintf("p95 %d ms", r.LatencyP95MS))
	}
	return strings.Join(all, " ")
}

// routing names what stands under the extension and cannot be read.
func (p *patient) routing(offers json.RawMessage) []Trouble {
	var c struct {
		Extensions   map[string]json.RawMessage `json:"extensions"`
		Experimental map[string]json.RawMessage `json:"experimental"`
	}
	if json.Unmarshal(offers, &c) != nil {
		return nil
	}
	const key = "dev.junction/routing"
	raw, ok := c.Extensions[key]
	if !ok {
		raw, ok = c.Experimental[key]
	}
	if !ok {
		return nil
	}
	var fields map[string]any
	if json.Unmarshal(raw, &fields) != nil {
		return []Trouble{warned("its routing metadata ("+key+") is no object", "declare {\"capability\": …, \"max_concurrent_requests\": …}")}
	}
	var all []Trouble
	odd := func(name, want string) {
		all = append(all, warned(fmt.Sprintf("its routing metadata: %s is %s, and has to be %s; it is left out", name, clean(fmt.Sprint(fields[name])), want), "correct it in the server"))
	}
	for _, name := range []string{"latency_p95_ms", "max_concurrent_requests"} {
		if n, isNumber := fields[name].(float64); fields[name] != nil && (!isNumber || n < 0 || n != float64(int(n))) {
			odd(name, "a whole number")
		}
	}
	if _, isText := fields["capability"].(string); fields["capability"] != nil && !isText {
		odd("capability", "text")
	}
	if _, isBool := fields["requires_auth"].(bool); fields["requires_auth"] != nil && !isBool {
		odd("requires_auth", "true or false")
	}
	return all
}

// registered holds what Consul says of an instance against what that says itself.
func (p *patient) registered(d *router.Description) []Trouble {
	s := p.server
	if s.Source != "consul" {
		return nil
	}
	var all []Trouble
	differ := func(what string, consul, own any) {
		all = append(all, warned(fmt.Sprintf("Consul says %s %v, and the server %v; Consul's word counts", what, consul, own),
			"register it with what the server declares, or have it declare what is registered"))
	}
	if n := d.Routing.MaxConcurrent; n > 0 && s.MaxConcurrent > 0 && n != s.MaxConcurrent {
		differ("calls at once:", s.MaxConcurrent, n)
	}
	if ms := d.Routing.LatencyP95MS; ms > 0 && s.LatencyP95 > 0 && int64(ms) != s.LatencyP95.Milliseconds() {
		differ("p95:", s.LatencyP95, fmt.Sprintf("%dms", ms))
	}
	for _, o := range s.Offers {
		if d.Routing.Capability == "" || o.Capability != d.Routing.Capability {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(d.Routing.Attributes)) {
			own, registered := slices.Sorted(slices.Values(d.Routing.Attributes[name])), slices.Sorted(slices.Values(o.Attributes[name]))
			if len(registered) > 0 && !slices.Equal(own, registered) {
				differ(clean(name), clean(strings.Join(registered, "|")), clean(strings.Join(own, "|")))
			}
		}
	}
	return all
}

// misbound names offers whose tools the server does not have.
func (p *patient) misbound(d *router.Description) []Trouble {
	var tools []string
	for _, t := range d.Tools {
		tools = append(tools, t.Name)
	}
	var all []Trouble
	for _, o := range p.server.Offers {
		if o.Tool == "" || slices.Contains(tools, o.Tool) {
			continue
		}
		fix := "name one of its tools"
		if near := document.Suggest(o.Tool, tools); near != "" {
			fix = fmt.Sprintf("did you mean %s?", clean(near))
		}
		all = append(all, warned(fmt.Sprintf("the offer of %s names the tool %s, which it does not have", clean(o.Capability), clean(o.Tool)), fix))
	}
	return all
}
