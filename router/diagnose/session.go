package diagnose

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"junction/router"
)

// repeats is how many requests go through a session that was just begun.
const repeats = 4

// repeat makes them at once, each on a connection of its own, as if several workers
// did: behind a balancer they reach several replicas.
func (p *patient) repeat(ctx context.Context) []*reply {
	all := make([]*reply, repeats)
	var wg sync.WaitGroup
	for i := range all {
		wg.Go(func() {
			r := p.known.heartbeat()
			r.alone = true
			all[i] = p.post(ctx, p.courier.Do, r)
		})
	}
	wg.Wait()
	return all
}

// accepted reports whether a heartbeat was understood, if only as a method that is
// not known.
func accepted(r *reply) bool {
	e := rpcErrorOf(r)
	return r.answered() || e != nil && e.Code == -32601 || r.err == nil && r.status/100 == 2
}

// lost are the heartbeats that were not.
func (p *patient) lost() []*reply {
	return slices.DeleteFunc(slices.Clone(p.again), accepted)
}

// forgotten reports whether requests fail in a session that was begun a moment ago.
func (p *patient) forgotten() bool {
	return !p.known.modern && slices.ContainsFunc(p.lost(), func(r *reply) bool { return r.status != http.StatusTooManyRequests })
}

// culprit is the layer that is to blame for a session that does not hold.
func (p *patient) culprit() int {
	if p.known.session != "" && p.debug != nil && p.debug.report != nil && p.debug.report.Headers[headerSession] == "" {
		return Middleboxes
	}
	return Session
}

// session judges how the session and the connection hold.
func (p *patient) session() {
	l, g := p.layer(Session), p.known
	if !g.ok {
		return
	}
	if p.forgotten() && p.culprit() == Middleboxes {
		l.skip(NotReached, "%s; the session's id does not arrive: layer %d", p.secured(), Middleboxes)
		return
	}
	l.pass(p.took, "%s; %s", p.secured(), p.kept())
	lost := p.lost()
	var said []string
	for _, r := range lost {
		if text := p.says(r); !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	what := fmt.Sprintf("%d of %s on connections of their own: %s", len(lost), counted(len(p.again), "request"), some(said))
	switch {
	case len(lost) == 0 && p.read[0].code() == router.SessionExpired:
		l.add(failed("it forgets its sessions: "+p.mask(sayErr(p.read[0].err)), "have its replicas share their sessions, or let each client stay with one of them"))
	case len(lost) == 0:
	case !slices.ContainsFunc(lost, func(r *reply) bool { return r.status != http.StatusTooManyRequests }):
		l.add(warned("it limits how often it is asked; it refused "+what, "have its limit raised: a few callers at once reach it"))
	case g.session != "" && len(lost) == len(p.again):
		l.add(failed("it gives a session id, and does not know it in the next request; it refused "+what,
			"it restarts between requests, has replicas that share no sessions, or something on the way takes Mcp-Session-Id out (layer 7)"))
	case g.session != "":
		l.add(failed("it forgets the session now and then; it refused "+what,
			"there are replicas that share no sessions: have the balancer send a session to one of them (in nginx: hash $http_mcp_session_id consistent;), have them share a store, or list each as a server of its own"))
	case !g.modern && len(lost) == len(p.again):
		l.add(failed("it gives no session id, and takes no requests without one; it refused "+what,
			"the header Mcp-Session-Id of its answers is removed on the way, or the server leaves it out: have it passed on"))
	default:
		l.add(failed("it fails now and then; it refused "+what, "one of several replicas is ill: look at each of them; in Consul, or listed one by one, a replica that fails is passed over"))
	}
	if g.session != "" && strings.ContainsFunc(g.session, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		l.add(warned("its session id has characters other than visible ASCII", "have it make ids of letters and digits: headers cannot carry others everywhere"))
	}
}

// kept is what is known of the session.
func (p *patient) kept() string {
	g := p.known
	switch {
	case g.modern:
		return fmt.Sprintf("stateless, %d of %s answered", len(p.again)-len(p.lost()), counted(len(p.again), "request"))
	case g.session == "":
		return "no session id"
	case len(p.lost()) > 0:
		return "session id given"
	}
	text := "session id known in " + counted(len(p.again), "further request")
	if ttl := g.welcome.header.Get("X-Mcp-Session-Ttl"); ttl != "" {
		if d, err := time.ParseDuration(ttl + "s"); err == nil {
			text += ", lives for " + brief(d)
		}
	}
	return text
}
