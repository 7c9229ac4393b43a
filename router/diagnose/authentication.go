package diagnose

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router/mcp"
)

// admitted reports whether the server answers us with what we hold.
func (p *patient) admitted() bool { return !p.known.last.refuses() }

// authentication judges what the server asks for against what is held.
func (p *patient) authentication(ctx context.Context) {
	l := p.layer(Authentication)
	held, asks := p.held(), p.hello.last.refuses()
	if !p.admitted() {
		began := time.Now()
		l.add(p.refused(ctx, held)...)
		l.TookMS = millis(p.known.last.took + time.Since(began))
		p.layer(Document).skip(NotReached, "shown to whom the server knows: layer %d", Authentication)
		return
	}
	took := time.Duration(0)
	if p.known != p.hello {
		took = p.known.last.took
	}
	switch worn := p.courier.Worn(); {
	case asks && worn != "":
		l.pass(took, "asks for %s; %s is shown, and taken", asked(demandOf(p.hello)), worn)
	case asks:
		l.pass(took, "asks for %s; %s is shown, and taken", asked(demandOf(p.hello)), kinds(fixed(held)))
	case len(held) > 0:
		l.pass(took, "none is asked for; held: %s", kinds(held))
	default:
		l.pass(took, "none is asked for")
	}
	l.add(p.outdated(held, false)...)
	if r := p.read[0]; !asks && r != nil && r.description != nil && r.description.Routing.RequiresAuth {
		l.add(warned("it says that it requires authentication, and answers without any", "see whether its gate is open by mistake"))
	}
}

func fixed(held []holding) []holding {
	return slices.DeleteFunc(slices.Clone(held), func(h holding) bool { return !h.fixed })
}

// demandOf is what the refusal of a handshake asks for.
func demandOf(g *greeting) mcp.Demand {
	d := mcp.Demanded(g.last.header)
	if d.Schemes == nil && g.discover != nil && g.discover.header != nil {
		d = mcp.Demanded(g.discover.header)
	}
	return d
}

// asked are a demand's schemes as the server writes them.
func asked(d mcp.Demand) string {
	if len(d.Schemes) == 0 {
		return "a credential, without saying of which scheme"
	}
	return clean(strings.Join(d.Schemes, ", "))
}

// refused says why a server that knows us by nothing refuses.
func (p *patient) refused(ctx context.Context, held []holding) []Trouble {
	d := demandOf(p.known)
	status := p.known.last.status
	if len(held) == 0 {
		if status == http.StatusForbidden && d.Schemes == nil {
			return []Trouble{failed("it refuses us (HTTP 403) and asks for no credential: "+p.says(p.known.last),
				"see whether it takes this host or address: many servers allow a list of them, or only local callers")}
		}
		t := p.without(ctx, d)
		t.Cause = fmt.Sprintf("it asks for %s (HTTP %d), and no credential is held for it", asked(d), status)
		return []Trouble{t}
	}
	if old := p.outdated(held, true); len(old) > 0 {
		return old
	}
	if t, ok := p.misspelt(ctx, d); ok {
		return []Trouble{t}
	}
	if !slices.ContainsFunc(held, func(h holding) bool { return d.Takes(h.kind) }) {
		t := p.without(ctx, d)
		t.Cause = fmt.Sprintf("it takes %s, and what is held is %s", asked(d), kinds(held))
		return []Trouble{t}
	}
	if d.Insufficient || status == http.StatusForbidden {
		fix := "have whoever runs the server allow it"
		if d.Scope != "" {
			fix = "ask for a token with the scope " + quoted(d.Scope) + ": scopes under oauth in the servers file, or another token"
		}
		return []Trouble{failed(fmt.Sprintf("it knows %s, and does not allow it in (HTTP %d): %s", kinds(held), status, p.says(p.known.last)), fix)}
	}
	said := ""
	if r := p.describe(ctx); r.err != nil && len(p.server.Dial.Auth) > 0 { // the client says what became of each
		said = ": " + p.mask(sayErr(r.err))
	}
	return []Trouble{failed(fmt.Sprintf("it takes %s, and refuses what it was shown (%s)%s", asked(d), kinds(held), said),
		"the value is wrong, was withdrawn, or is meant for another server: get a new one, and put it where the servers file reads it from")}
}

// outdated names tokens that say themselves that their time is over.
func (p *patient) outdated(held []holding, refused bool) []Trouble {
	var all []Trouble
	now := time.Now()
	for _, h := range held {
		from, to, ok := validity(h.token)
		if !ok {
			continue
		}
		what := "the " + h.kind + " token under " + h.where
		switch {
		case !to.IsZero() && now.After(to):
			t := warned(fmt.Sprintf("%s expired %s ago, on %s", what, ago(now.Sub(to)), to.UTC().Format(time.RFC3339)), "put a new one where the servers file reads it from; scheme: oauth renews tokens by itself")
			if refused {
				t.Level = Failed
			}
			all = append(all, t)
		case !from.IsZero() && now.Before(from.Add(-time.Second)) && refused:
			all = append(all, failed(fmt.Sprintf("%s is not valid before %s", what, from.UTC().Format(time.RFC3339)), "compare this machine's clock with that of whoever issued it"))
		case !to.IsZero() && to.Sub(now) < 24*time.Hour && !refused:
			all = append(all, warned(fmt.Sprintf("%s expires in %s", what, ago(to.Sub(now))), "put a new one where the servers file reads it from in time; scheme: oauth renews tokens by itself"))
		}
	}
	return all
}

var errNoToken = errors.New("no token is held for Authorization")

// misspelt tries the credential under other letters of its scheme: names of
// schemes have no case (RFC 9110, 11.1), and some servers compare them exactly.
func (p *patient) misspelt(ctx context.Context, d mcp.Demand) (Trouble, bool) {
	ours := "Bearer"
	for k, v := range p.server.Dial.Headers {
		if scheme, _, two := strings.Cut(v, " "); strings.EqualFold(k, "Authorization") && two {
			ours = scheme
		}
	}
	var tries []string
	for _, s := range append(slices.Clone(d.Schemes), "Bearer", "bearer", "BEARER") {
		if mcp.SchemeKind(s) == mcp.SchemeKind(ours) && s != ours && !slices.Contains(tries, s) {
			tries = append(tries, s)
		}
	}
	for _, spelling := range tries[:min(len(tries), 4)] {
		taken := false
		r := p.post(ctx, func(req *http.Request) (*http.Response, error) {
			resp, ok, err := p.courier.Respelt(req, spelling)
			taken = ok && err == nil
			if err == nil && !ok {
				err = errNoToken
			}
			return resp, err
		}, request{
			method: string(protocol.MethodServerDiscover), params: "{" + laterMeta + "}",
			header: map[string]string{protocol.HeaderMethod: string(protocol.MethodServerDiscover), protocol.HeaderProtocolVersion: laterEra},
		})
		if !taken || r.refuses() || r.status == 0 {
			continue
		}
		return failed(fmt.Sprintf("letter case: it takes the token as %s, and refuses it as %s, although names of schemes have no case", clean(spelling), clean(ours)),
			"have the server compare without case; until then, write the header as it wants it").
			paste(p.lines(`headers: {Authorization: "` + clean(spelling) + " " + p.variable("TOKEN") + `"}`)), true
	}
	return Trouble{}, false
}

// without says how to hold what the server asks for.
func (p *patient) without(ctx context.Context, d mcp.Demand) Trouble {
	t := failed("", "")
	protected, err := p.courier.Protected(ctx, d.Metadata)
	issued := ""
	if err == nil && len(protected.Issuers) > 0 {
		issued = clean(protected.Issuers[0])
	}
	for _, s := range d.Schemes {
		if mcp.Speaks(s) && (issued == "" || mcp.SchemeKind(s) != "bearer") {
			kind := mcp.SchemeKind(s)
			if kind == "oauth" {
				break
			}
			t.Fix = "get one from whoever runs the server, and name where it is"
			return t.paste(p.lines("auth:", "  - {scheme: "+kind+`, token: "`+p.variable(strings.ToUpper(strings.ReplaceAll(kind, "-", "_")))+`"}`))
		}
	}
	if issued != "" || slices.ContainsFunc(d.Schemes, func(s string) bool { return mcp.SchemeKind(s) == "oauth" }) {
		t.Fix = "have a client registered"
		if issued != "" {
			t.Fix += " at " + issued + ", which issues its tokens"
		}
		scopes := ""
		if protected != nil && len(protected.Scopes) > 0 {
			scopes = ", scopes: [" + clean(strings.Join(protected.Scopes, ", ")) + "]"
		}
		return t.paste(p.lines("auth:", `  - {scheme: oauth, oauth: {client_id: ID, client_secret: "`+p.variable("SECRET")+`"`+scopes+"}}"))
	}
	if len(d.Schemes) == 0 {
		t.Fix = "ask whoever runs the server what it takes"
		return t.paste(p.lines("auth:", `  - {scheme: bearer, token: "`+p.variable("TOKEN")+`"}`))
	}
	scheme := clean(d.Schemes[0])
	if strings.EqualFold(scheme, "basic") {
		t.Fix = "name and password, as base64 of NAME:PASSWORD, go with every request"
	} else {
		t.Fix = "the scheme " + scheme + " is not negotiated here (bearer, api-key, mcp-jwt and oauth are): ask for one of those, or, where a fixed value will do, send it with every request"
	}
	return t.paste(p.lines(`headers: {Authorization: "` + scheme + " " + p.variable("CREDENTIAL") + `"}`))
}
