package router

import (
	"context"
	"hash/maphash"

	"junction/state"
)

// bond names what of a thread stays with one session: its hops for a
// capability, or those at a server that is called by name.
type bond struct{ thread, what string }

func (h *hop) bond() bond {
	what := h.call.Capability
	switch {
	case h.call.Server != "":
		what = "server " + h.call.Server
	case what == "":
		what = "tool " + h.call.Tool
	}
	return bond{h.info().Thread, what}
}

// staysWithSession reports whether the call asks for its thread's own session.
func (h *hop) staysWithSession() bool {
	return h.call.Session == "thread" && h.journal != nil && !h.alone
}

// findBound looks up which session the hop must use. It is part of the thread's
// state, so that a run resumed in another process, where no session lives on,
// says that it is lost rather than go on without it.
func (h *hop) findBound(ctx context.Context) error {
	if !h.staysWithSession() {
		return nil
	}
	if h.bound = h.r.bonds.get(h.bond()); h.bound.Server != "" {
		return nil
	}
	s, err := h.journal.BoundSession(ctx, h.bond().what)
	if err != nil {
		return err
	}
	if h.bound = s; s.Server != "" {
		h.r.bonds.set(h.bond(), s)
	}
	return nil
}

// bind makes later hops stay with the session that answered this one.
func (h *hop) bind(ctx context.Context, c *choice) error {
	s := c.entry.known.description.Session
	s.Server = c.entry.server.ID
	if !h.staysWithSession() || h.bound == s {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordWithin)
	defer cancel()
	if err := h.journal.BindSession(ctx, h.bond().what, s); err != nil {
		return err
	}
	h.r.bonds.set(h.bond(), s)
	h.bound = s
	return nil
}

// unbind frees later hops: the session is lost, and the node is told so once.
func (h *hop) unbind(ctx context.Context) error {
	if err := h.journal.BindSession(ctx, h.bond().what, state.Session{}); err != nil {
		return err
	}
	h.r.bonds.drop(h.bond())
	h.bound = state.Session{}
	return nil
}

// sessionLost frees the thread of a session that has ended and says so.
func (h *hop) sessionLost(ctx context.Context) error {
	lost := &SessionLostError{Capability: h.what, HopID: h.id(), ServerID: h.bound.Server}
	if err := h.unbind(ctx); err != nil {
		return err
	}
	return lost
}

// keeps reports whether the server still has the session that the hop is bound
// to. A server of the stateless protocol behind a URL has none to lose; but one
// from a registry that is at another address now is another one, since whoever
// registers chooses the id.
func (h *hop) keeps(k *known) bool {
	if k.server.Source == "consul" && h.bound.Endpoint != "" && h.bound.Endpoint != k.server.Endpoint() {
		return false
	}
	return stateless(k) || h.bound.ID == "" || k.description.Session.ID == h.bound.ID
}

func stateless(k *known) bool { return k.description.Modern && k.server.Dial.URL != "" }

// sessionOf is the handle of the session that the request must be part of.
func (h *hop) sessionOf(c *choice) string {
	if !h.staysWithSession() || stateless(c.entry.known) {
		return ""
	}
	return c.entry.known.description.Session.ID
}

// use is a digest of which thread uses which session, by two hashes: there are many
// of them, and no two are to be taken for one.
type use [2]uint64

// uses remembers which sessions are part of which thread's state, each by a digest
// of what was stored: a worker sees many more threads than it has in hand.
type uses struct {
	seeds  [2]maphash.Seed
	stored recent[use, uint64]
}

func newUses() uses { return uses{seeds: [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}} }

func (u *uses) of(thread, session string) use {
	by := [2]string{thread, session}
	return use{maphash.Comparable(u.seeds[0], by), maphash.Comparable(u.seeds[1], by)}
}

// keepSession makes the server's session part of the thread's state when the
// thread first uses it, and again when it changed. It comes before the request:
// a store that fails must not hide a call that was made.
func (h *hop) keepSession(ctx context.Context, c *choice) error {
	s := c.entry.known.description.Session
	if h.alone || s.ID == "" {
		return nil
	}
	u := &h.r.uses
	by, is := u.of(h.info().Thread, s.ID), maphash.Comparable(u.seeds[0], s)
	if u.stored.get(by) == is {
		return nil
	}
	if err := h.journal.KeepSession(ctx, s); err != nil {
		return err
	}
	u.stored.set(by, is)
	return nil
}
