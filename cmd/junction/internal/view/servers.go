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
	ID       string   `json:"id"`
	Endpoint string   `json:"endpoint"`
	Source   string   `json:"source,omitempty"`
	Name     string   `json:"name,omitempty"`    // as the server calls itself
	Version  string   `json:"version,omitempty"` // of the server
	Protocol string   `json:"protocol,omitempty"`
	Modern   bool     `json:"modern"`
	Tools    []string `json:"tools"`
	Offers   []Offer  `json:"offers"`
	Error    string   `json:"error,omitempty"` // why it cannot be used
}

// Offer is a claim to a capability.
type Offer struct {
	Capability string              `json:"capability"`
	Tool       string              `json:"tool"`
	Attributes map[string][]string `json:"attributes,omitempty"`
	Effect     state.Effect        `json:"effect"`
	Error      string              `json:"error,omitempty"` // why it cannot be used at a server that answers
}

// NewServers turns the router's view into what is printed.
func NewServers(statuses []router.ServerStatus) []Server {
	list := make([]Server, 0, len(statuses))
	for _, st := range statuses {
		s := Server{ID: st.Server.ID, Endpoint: st.Server.Endpoint(), Source: st.Server.Source, Tools: []string{}, Offers: []Offer{}}
		if d := st.Description; d != nil {
			s.Name, s.Version, s.Protocol, s.Modern = Clean(d.Name), Clean(d.Version), d.ProtocolVersion, d.Modern
			for _, t := range d.Tools {
				s.Tools = append(s.Tools, Clean(t.Name))
			}
			slices.Sort(s.Tools)
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
			s.Offers = append(s.Offers, offer)
		}
		if st.Err != nil {
			s.Error = Clean(errorText(st.Err))
		}
		list = append(list, s)
	}
	return list
}

// Servers prints each server with its tools and offers, or why it cannot be used.
func Servers(w io.Writer, list []Server, s Style) error {
	p := &printer{w: w}
	if len(list) == 0 {
		p.f("no servers: add some under mcpServers in the servers file\n")
	}
	for _, sv := range list {
		if sv.Error != "" {
			p.f("%s %s  %s\n    %s\n", s.paint(bad, "✗"), s.paint(bold, sv.ID), sv.Endpoint, strings.ReplaceAll(sv.Error, "\n", "\n    "))
		} else {
			p.f("%s %s  %s %s  MCP %s  %s\n    tools: %s\n", s.paint(good, "✓"), s.paint(bold, sv.ID), sv.Name, sv.Version, sv.Protocol, sv.Endpoint, strings.Join(sv.Tools, ", "))
		}
		for _, o := range sv.Offers {
			p.f("    offers %s by %s (%s)%s\n", Clean(o.Capability), Clean(o.Tool), o.Effect, attributes(o.Attributes))
			if o.Error != "" {
				p.f("      %s %s\n", s.paint(bad, "✗"), o.Error)
			}
		}
	}
	return p.err
}

func attributes(m map[string][]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "  %s=%s", Clean(k), Clean(strings.Join(m[k], "|")))
	}
	return b.String()
}
