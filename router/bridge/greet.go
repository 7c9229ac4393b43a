package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
)

// document is how whoever is behind the bridge has introduced itself: the result of
// initialize, or of server/discover.
type document struct {
	raw    json.RawMessage
	modern bool
	name   string // where the server does not say what it is called
}

// info is what the server is called, a JSON object.
func (d *document) info() json.RawMessage {
	info := member(d.raw, "serverInfo")
	if d.modern {
		info = member(member(d.raw, "_meta"), protocol.MetaKeyServerInfo)
	}
	if !isObject(info) {
		info = marshal(map[string]string{"name": d.name, "version": "0"})
	}
	return info
}

func (d *document) capabilities() json.RawMessage {
	if c := member(d.raw, "capabilities"); isObject(c) {
		return c
	}
	return json.RawMessage(`{}`)
}

// has reports whether the server declares the capability, and the flag of it where
// one is named.
func (d *document) has(capability, flag string) bool {
	c := member(d.capabilities(), capability)
	return isObject(c) && (flag == "" || flagIn(c, flag))
}

// initialize is the document as the answer to a handshake of the earlier era. wanted
// is the version that the client asked for: it is the answer where both know it, else
// the older one decides.
func (d *document) initialize(wanted string) json.RawMessage {
	version := protocol.LATEST_LEGACY_PROTOCOL_VERSION
	if theirs := textIn(d.raw, "protocolVersion"); !d.modern && theirs != "" {
		version = theirs
	}
	if wanted < version && slices.Contains(versions, wanted) {
		version = wanted
	}
	if !d.modern {
		return setMember(d.raw, "protocolVersion", quote(version))
	}
	out := struct {
		Version      string          `json:"protocolVersion"`
		Capabilities json.RawMessage `json:"capabilities"`
		Info         json.RawMessage `json:"serverInfo"`
		Instructions json.RawMessage `json:"instructions,omitempty"`
	}{version, earlier(d.capabilities()), d.info(), member(d.raw, "instructions")}
	return marshal(out)
}

// discover is the document as the answer to server/discover.
func (d *document) discover() json.RawMessage {
	if d.modern {
		return setMember(d.raw, "supportedVersions", marshal(versions))
	}
	out := struct {
		Type         string                     `json:"resultType"`
		Versions     []string                   `json:"supportedVersions"`
		Capabilities json.RawMessage            `json:"capabilities"`
		Instructions json.RawMessage            `json:"instructions,omitempty"`
		TTL          int                        `json:"ttlMs"`
		Scope        string                     `json:"cacheScope"`
		Meta         map[string]json.RawMessage `json:"_meta"`
	}{
		"complete", versions, dropMembers(d.capabilities(), "tasks"), member(d.raw, "instructions"),
		0, "private", map[string]json.RawMessage{protocol.MetaKeyServerInfo: d.info()},
	}
	return marshal(out)
}

// ownDocument introduces the bridge itself, for servers that are away: what they can
// do shows when they come.
func ownDocument(name, version string, away []string) *document {
	changes := map[string]bool{"listChanged": true}
	raw := marshal(struct {
		Version      string            `json:"protocolVersion"`
		Capabilities map[string]any    `json:"capabilities"`
		Info         map[string]string `json:"serverInfo"`
		Instructions string            `json:"instructions"`
	}{
		protocol.LATEST_LEGACY_PROTOCOL_VERSION,
		map[string]any{
			"tools": changes, "prompts": changes,
			"resources": map[string]bool{"listChanged": true, "subscribe": true},
			"logging":   struct{}{}, "completions": struct{}{},
		},
		map[string]string{"name": name, "version": version},
		"Not reached yet: " + strings.Join(away, "; ") + ". What it offers is announced when it is there; until then requests wait for it.",
	})
	return &document{raw: raw, name: name}
}

// greet answers initialize and server/discover: with the document of whoever is
// behind, or after a while with the bridge's own.
func (b *Bridge) greet(ctx context.Context, a *asked) func() mcp.Reply {
	return func() mcp.Reply {
		within, cancel := context.WithTimeout(ctx, b.options.Greet)
		defer cancel()
		d := b.middle.document(within)
		if a.modern {
			return mcp.Reply{Result: d.discover()}
		}
		return mcp.Reply{Result: d.initialize(textIn(a.params, "protocolVersion"))}
	}
}

// absent says of a server that it is away, for people.
func absent(server string, s Status) string {
	said := fmt.Sprintf("server %s is away", clean(server))
	if s.State == Reconnecting && !s.Since.IsZero() {
		said += " since " + s.Since.UTC().Format(time.RFC3339)
	}
	if s.Why != nil {
		said += " (" + clean(s.Why.Error()) + ")"
	}
	return said
}

// clean is a text of a peer as it may stand in a message: without control characters and
// those that turn the direction of what follows, and bounded.
func clean(s string) string {
	const most = 1000
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == unicode.ReplacementChar {
			return ' '
		}
		return r
	}, s)
	if r := []rune(s); len(r) > most {
		s = string(r[:most]) + "…"
	}
	return s
}
