package router

import "context"

// pin names a thread's session for one capability. Which server it is with is
// remembered as long as the process lives, as the session itself is.
type pin struct{ thread, capability string }

func (h *hop) pin() pin { return pin{h.info().Thread, h.call.Capability} }

// pinned is the server the thread is bound to, where the call asks for it.
func (h *hop) pinned() string {
	if h.call.Session != "thread" || h.journal == nil || h.alone {
		return ""
	}
	return h.r.pins.get(h.pin())
}

// usedBy says which thread uses which session.
type usedBy struct{ thread, session string }

// keepSession makes the server's session part of the thread's state when the
// thread first uses it, and again when it changed. It comes before the request:
// a store that fails must not hide a call that was made.
func (h *hop) keepSession(ctx context.Context, c *choice) error {
	s := c.entry.known.description.Session
	if h.alone || s.ID == "" {
		return nil
	}
	by := usedBy{h.info().Thread, s.ID}
	if h.r.kept.get(by) == s {
		return nil
	}
	if err := h.journal.KeepSession(ctx, s); err != nil {
		return err
	}
	h.r.kept.set(by, s)
	return nil
}
