package review

import (
	"maps"
	"slices"
	"strings"

	"junction/router"
)

// Transport is how the server is spoken to.
type Transport struct {
	Kind    Kind   `json:"kind"`
	Era     string `json:"era"`     // "2026-07-28 and later", "up to 2025-11-25", or that it is unknown
	Session string `json:"session"` // what one is, and what ends it
	Cancel  Signal `json:"cancel"`
	Secure  bool   `json:"secure"` // nobody on the way can read or change it
	// Credentials are the schemes held, in the order in which they are tried, then
	// the names of configured headers, and the url where it may hold one. What they
	// hold is printed nowhere.
	Credentials []string `json:"credentials"`
}

func transport(in *router.Inspection) Transport {
	k := KindOf(in.Server, in.Description)
	t := Transport{Kind: k, Era: "unknown, taken for the later one", Cancel: k.Cancel(), Secure: k == Stdio || strings.HasPrefix(strings.ToLower(in.Server.Dial.URL), "https://")}
	t.Credentials = []string{} // none is a list, too
	for i := range in.Server.Dial.Auth {
		t.Credentials = append(t.Credentials, in.Server.Dial.Auth[i].Scheme)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Server.Dial.Headers)) {
		t.Credentials = append(t.Credentials, "header "+name)
	}
	if in.Server.Endpoint() != in.Server.Dial.URL {
		t.Credentials = append(t.Credentials, "url")
	}
	if d := in.Description; d != nil {
		t.Era = "up to 2025-11-25"
		if d.Modern {
			t.Era = "2026-07-28 and later"
		}
	}
	switch k {
	case Stdio:
		t.Session = "the child process; it ends with it"
	case LegacyHTTP:
		t.Session = "Mcp-Session-Id, where the server gives one; a 404 ends it, and a request that it refused is made again, once"
	default:
		t.Session = "none on the wire: every request says the protocol version and what the client can do"
	}
	return t
}
