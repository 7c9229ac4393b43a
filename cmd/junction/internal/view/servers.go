package view

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"junction/router"
	"junction/state"
	"junction/state/document"
)

// Server is a server as servers prints it.
type Server struct {
	ID       string            `json:"id"`
	Endpoint string            `json:"endpoint"`
	Source   string            `json:"source,omitempty"`
	Service  string            `json:"service,omitempty"` // in Consul, that it is an instance of
	Weight   float64           `json:"weight,omitempty"`  // against other instances, as Consul says
	Stale    bool              `json:"stale,omitempty"`   // last known: Consul cannot be read now
	Name     string            `json:"name,omitempty"`    // as the server calls itself
	Version  string            `json:"version,omitempty"` // of the server
	Protocol string            `json:"protocol,omitempty"`
	Modern   bool              `json:"modern"`
	Tools    []string          `json:"tools"`
	Offers   []Offer           `json:"offers"`
	Error    string            `json:"error,omitempty"` // why it cannot be used
	Held     map[string]string `json:"held,omitempty"`  // tools that are not called, and why

	Schemas map[string]Schemas `json:"schemas,omitempty"` // of the tools, where they were asked for
}

// Offer is a claim to a capability.
type Offer struct {
	Capability string              `json:"capability"`
	Tool       string              `json:"tool"`
	Attributes map[string][]string `json:"attributes,omitempty"`
	Effect     state.Effect        `json:"effect"`
	Error      string              `json:"error,omitempty"` // why it cannot be used at a server that answers
	Health     *Health             `json:"health,omitempty"`
}

// NewServers turns the router's view into what is printed. stale: Consul cannot
// be read now.
func NewServers(statuses []router.ServerStatus, stale bool) []Server {
	list := make([]Server, 0, len(statuses))
	for _, st := range statuses {
		s := Server{ID: st.Server.ID, Endpoint: st.Server.Endpoint(), Source: st.Server.Source, Tools: []string{}, Offers: []Offer{}}
		if st.Server.Source == fromConsul {
			s.Service, s.Weight, s.Stale = Clean(st.Server.Name), st.Server.Weight, stale
		}
		if d := st.Description; d != nil {
			s.Name, s.Version, s.Protocol, s.Modern = Clean(d.Name), Clean(d.Version), d.ProtocolVersion, d.Modern
			for _, t := range d.Tools {
				s.Tools = append(s.Tools, Clean(t.Name))
			}
			slices.Sort(s.Tools)
		}
		for tool, why := range st.Held {
			if s.Held == nil {
				s.Held = map[string]string{}
			}
			s.Held[Clean(tool)] = why
		}
		for _, o := range st.Offers {
			effect := o.Effect
			if effect == "" {
				effect = state.Unsafe
			}
			offer := Offer{Capability: o.Capability, Tool: o.Tool, Attributes: o.Attributes, Effect: effect}
			if st.Err == nil && !slices.Contains(s.Tools, Clean(o.Tool)) {
				offer.Error = "the server has no such tool"
				if near := document.Suggest(o.Tool, s.Tools); near != "" {
					offer.Error += fmt.Sprintf("; did you mean %q?", near)
				}
			}
			if why := st.Held[o.Tool]; why != "" {
				offer.Error = why
			}
			s.Offers = append(s.Offers, offer)
		}
		if st.Err != nil {
			s.Error = Clean(errorText(st.Err))
		}
		list = append(list, s)
	}
	return list
}

// fromConsul is the source of servers that were found there.
const fromConsul = "consul"

// Servers prints each server with its tools and offers, or why it cannot be used.
// An empty list says what to do in the words of none.
func Servers(w io.Writer, list []Server, none string, s Style) error {
	p := &printer{w: w}
	if len(list) == 0 {
		p.f("no servers: %s\n", none)
	}
	for _, sv := range list {
		if sv.Error != "" {
			p.f("%s %s  %s\n    %s\n", s.paint(bad, "✗"), s.paint(bold, sv.ID), sv.Endpoint, strings.ReplaceAll(sv.Error, "\n", "\n    "))
		} else {
			p.f("%s %s  %s %s  MCP %s  %s\n    tools: %s\n", s.paint(good, "✓"), s.paint(bold, sv.ID), sv.Name, sv.Version, sv.Protocol, sv.Endpoint, strings.Join(sv.Tools, ", "))
		}
		if sv.Source == fromConsul {
			p.f("    in Consul: service %s, weight %g%s\n", sv.Service, sv.Weight, last(sv.Stale))
		}
		for _, tool := range slices.Sorted(maps.Keys(sv.Held)) {
			p.f("    %s %s is held back: %s\n", s.paint(warn, "!"), tool, sv.Held[tool])
		}
		for _, o := range sv.Offers {
			p.f("    offers %s by %s (%s)%s%s\n", Clean(o.Capability), Clean(o.Tool), o.Effect, attributes(o.Attributes), o.Health.column(s))
			if o.Error != "" {
				p.f("      %s %s\n", s.paint(bad, "✗"), o.Error)
			}
		}
	}
	return p.err
}

func last(stale bool) string {
	if stale {
		return ", as last known: Consul cannot be read now"
	}
	return ""
}

func attributes(m map[string][]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "  %s=%s", Clean(k), Clean(strings.Join(m[k], "|")))
	}
	return b.String()
}
