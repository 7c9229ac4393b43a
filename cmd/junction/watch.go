package main

import (
	"context"
	"encoding/json"
	"fmt"
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
	w := watcher{cmd: c, con: con, seen: map[string]string{}}
	var trouble string
	var listed []view.Thread
	for {
		threads, err := store.Threads(ctx, c.filter())
		if err == nil {
			listed, err = view.ListThreads(ctx, store, threads, listed)
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

// watcher shows what changed in a list of threads.
type watcher struct {
	cmd  *threadsCmd
	con  console
	seen map[string]string // thread → what was shown of it
}

func (w *watcher) show(threads []view.Thread) error {
	switch {
	case w.cmd.JSON:
		return w.changes(threads, func(t view.Thread) error { return json.NewEncoder(w.con.out).Encode(t) })
	case w.con.color:
		var page strings.Builder
		if err := view.Threads(&page, threads, view.Style{Color: true}); err != nil {
			return err
		}
		_, err := fmt.Fprintf(w.con.out, "\x1b[H\x1b[2J%s\n%s · every %s · Ctrl-C ends\n", page.String(), time.Now().Format(time.TimeOnly), watchEvery)
		return err
	}
	return w.changes(threads, func(t view.Thread) error {
		_, err := fmt.Fprintln(w.con.out, view.ThreadLine(t))
		return err
	})
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
