package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"junction/cmd/junction/internal/view"
	"junction/state"
)

// watchEvery is how often a followed list is read again.
const watchEvery = time.Second

// watch follows the threads until the person stops it: on a terminal the list is
// redrawn, elsewhere there is a line for each change. A store that cannot be
// read is said once and tried again.
func (c *threadsCmd) watch(ctx context.Context, store state.Store, con console) error {
	if con.color {
		defer fmt.Fprint(con.out, "\x1b[?25h") // the cursor
		fmt.Fprint(con.out, "\x1b[?25l")
	}
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	w := watcher{cmd: c, con: con, seen: map[string]string{}, open: map[string]bool{}}
	var trouble string
	var listed []view.Thread
	for {
		threads, err := store.Threads(ctx, c.filter())
		if err == nil {
			listed, err = view.ListThreads(ctx, store, threads, listed)
		}
		if err == nil {
			err = w.miss(ctx, store, listed)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			trouble = ""
			err = w.show(listed)
		case trouble == err.Error():
			err = nil
		default:
			trouble = err.Error()
			fmt.Fprintf(con.err, "junction: %s; trying again\n", clean(trouble))
			err = nil
		}
		if err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// noMore is said of threads that have left the store before they ended.
const noMore = "is not in the store any more: it was deleted, or the store has lost its data"

// watcher shows what changed in a list of threads.
type watcher struct {
	cmd  *threadsCmd
	con  console
	seen map[string]string // thread → what was shown of it
	open map[string]bool   // thread of the list → whether it had not ended

	missed []string // not in the store any more; where lines are printed: and not told yet
}

func (w *watcher) show(threads []view.Thread) error {
	if !w.con.color || w.cmd.JSON {
		for _, id := range w.missed {
			fmt.Fprintf(w.con.err, "junction: thread %s %s\n", id, noMore)
		}
		w.missed = nil
	}
	switch {
	case w.cmd.JSON:
		return w.changes(threads, func(t view.Thread) error { return json.NewEncoder(w.con.out).Encode(t) })
	case w.con.color:
		var page strings.Builder
		if err := view.Threads(&page, threads, view.Style{Color: true}); err != nil {
			return err
		}
		if len(w.missed) > 0 {
			page.WriteString("thread " + strings.Join(w.missed, ", ") + " " + noMore + "\n")
		}
		_, err := fmt.Fprintf(w.con.out, "\x1b[H\x1b[2J%s\n%s · every %s · Ctrl-C ends\n", w.fit(page.String()), time.Now().Format(time.TimeOnly), watchEvery)
		return err
	}
	return w.changes(threads, func(t view.Thread) error {
		_, err := fmt.Fprintln(w.con.out, view.ThreadLine(t))
		return err
	})
}

// fit cuts a page to the terminal, for else its top would scroll away.
func (w *watcher) fit(page string) string {
	if w.con.size == nil {
		return page
	}
	const below = 4 // what is left out, an empty line, the last one and the cursor's
	columns, rows := w.con.size()
	lines := strings.Split(strings.TrimSuffix(page, "\n"), "\n")
	most := max(rows-below, 2)
	if left := len(lines) - most; left > 0 {
		lines = append(lines[:most], fmt.Sprintf("… and %s: --limit or --status shows fewer", view.Count(left, "more line")))
	}
	for i, l := range lines {
		if r := []rune(l); len(r) > columns {
			lines[i] = string(r[:columns-1]) + "…"
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// miss notices the threads that were shown, had not ended and are not in the
// store any more. What has only left the list is looked up once.
func (w *watcher) miss(ctx context.Context, store state.Store, listed []view.Thread) error {
	here := make(map[string]bool, len(listed))
	for _, t := range listed {
		here[t.ID] = true
		w.open[t.ID] = t.Status == state.StatusPending || t.Status == state.StatusRunning || t.Status == state.StatusInterrupted
	}
	for _, id := range slices.Sorted(maps.Keys(w.open)) {
		if here[id] {
			continue
		}
		if w.open[id] {
			_, err := store.Thread(ctx, id)
			if err != nil && !isNotFound(err) {
				return err
			}
			if err != nil {
				w.missed = append(w.missed, id)
			}
		}
		delete(w.open, id)
		delete(w.seen, id)
	}
	return nil
}

// changes prints the threads that do not stand as they did, oldest change first.
func (w *watcher) changes(threads []view.Thread, each func(view.Thread) error) error {
	for i := len(threads) - 1; i >= 0; i-- {
		t := threads[i]
		now := fmt.Sprintf("%s %d %d", t.Status, t.Step, t.Waiting)
		if w.seen[t.ID] == now {
			continue
		}
		w.seen[t.ID] = now
		if err := each(t); err != nil {
			return err
		}
	}
	return nil
}
