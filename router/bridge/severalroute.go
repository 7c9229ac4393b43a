package bridge

import (
	"fmt"
	"slices"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
)

// routes find the server that a request is for, and the request as that server is to
// have it; nil: none that is known.
var routes = map[string]func(*several, *asked) (*peer, *asked){
	string(protocol.MethodToolsCall):            byName(toolKind),
	string(protocol.MethodPromptsGet):           byName(promptKind),
	string(protocol.MethodResourcesRead):        byURI,
	string(protocol.MethodResourcesSubscribe):   byURI,
	string(protocol.MethodResourcesUnsubscribe): byURI,
	string(protocol.MethodCompletionComplete):   byReference,
}

func byName(k *kind) func(*several, *asked) (*peer, *asked) {
	return func(s *several, a *asked) (*peer, *asked) {
		p, own := s.find(k, textIn(a.params, "name"))
		if p == nil {
			return nil, nil
		}
		request := *a
		request.params = setMember(a.params, "name", quote(own))
		if k == toolKind {
			request.tool = own
		}
		return p, &request
	}
}

// find is the server that a name was shown for, and its own name there. One with its
// server's before it always finds it, shown or not.
func (s *several) find(k *kind, name string) (*peer, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.shelf(k)
	for _, o := range []owned{h.shown[name], h.now[name]} {
		if p := s.called(o.server); p != nil {
			return p, o.name
		}
	}
	for _, p := range s.parts {
		for _, i := range p.items(k) {
			if join(owned{p.server.Name, i.key}) == name {
				return p, i.key
			}
		}
	}
	return nil, ""
}

// called is the server of a name. s.mu is held.
func (s *several) called(name string) *peer {
	at := slices.IndexFunc(s.parts, func(p *peer) bool { return p.server.Name == name })
	if at < 0 {
		return nil
	}
	return s.parts[at]
}

func byURI(s *several, a *asked) (*peer, *asked) {
	return s.having(textIn(a.params, "uri")), a
}

// having is the first server that lists a resource, else the one whose template fits
// best, else the only one that has resources at all.
func (s *several) having(uri string) *peer {
	parts := s.here()
	for _, p := range parts {
		if slices.ContainsFunc(p.items(resourceKind), func(i item) bool { return i.key == uri }) {
			return p
		}
	}
	var best *peer
	longest := -1
	for _, p := range parts {
		for _, i := range p.items(templateKind) {
			if n := fit(i.key, uri); n > longest {
				best, longest = p, n
			}
		}
	}
	if best != nil {
		return best
	}
	var able []*peer
	for _, p := range parts {
		if d := p.latest(); d != nil && d.has("resources", "") {
			able = append(able, p)
		}
	}
	if len(able) == 1 && len(parts) == 1 {
		return able[0]
	}
	return nil
}

// fit says how many characters of a URI a template (RFC 6570) has as they stand: before
// its first expression, and after its last; -1: it cannot be one of its.
func fit(template, uri string) int {
	before, rest, open := strings.Cut(template, "{")
	if !open {
		if template == uri {
			return len(uri)
		}
		return -1
	}
	after := rest[strings.LastIndexByte(rest, '}')+1:]
	if len(uri) < len(before)+len(after) || !strings.HasPrefix(uri, before) || !strings.HasSuffix(uri, after) {
		return -1
	}
	return len(before) + len(after)
}

// byReference finds the server of what completion/complete is about.
func byReference(s *several, a *asked) (*peer, *asked) {
	ref := member(a.params, "ref")
	if textIn(ref, "type") == "ref/resource" {
		uri := textIn(ref, "uri")
		for _, p := range s.here() {
			if slices.ContainsFunc(p.items(templateKind), func(i item) bool { return i.key == uri }) {
				return p, a
			}
		}
		return s.having(uri), a
	}
	p, own := s.find(promptKind, textIn(ref, "name"))
	if p == nil {
		return nil, nil
	}
	request := *a
	request.params = setMember(a.params, "ref", setMember(ref, "name", quote(own)))
	return p, &request
}

// resourceMissing is what MCP up to 2025-11-25 has for a resource that is not there.
const resourceMissing = -32002

// unknown is the answer where no server is known to have what was asked for.
func (s *several) unknown(a *asked) mcp.Reply {
	code := protocol.INVALID_PARAMS
	var what string
	switch protocol.MCPMethod(a.method) {
	case protocol.MethodToolsCall:
		what = fmt.Sprintf("tool %q", textIn(a.params, "name"))
	case protocol.MethodPromptsGet:
		what = fmt.Sprintf("prompt %q", textIn(a.params, "name"))
	case protocol.MethodCompletionComplete:
		what = "prompt or template of this name"
	default:
		what = fmt.Sprintf("resource %q", textIn(a.params, "uri"))
		if !a.modern {
			code = resourceMissing
		}
	}
	message := fmt.Sprintf("there is no %s at any server", clean(what))
	var away []string
	for _, p := range s.here() {
		if p.latest() == nil || p.line.Status().State != Connected {
			away = append(away, absent(p.server.Name, p.line.Status()))
		}
	}
	if len(away) > 0 {
		message += " that is here; " + strings.Join(away, "; ")
	}
	return mcp.Reply{Error: &mcp.RPCError{Code: code, Message: message}}
}
