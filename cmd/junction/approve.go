package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"junction/cmd/junction/internal/view"
	"junction/cmd/junction/internal/wire"
	"junction/router"
	"junction/router/static"
)

// named sorts out the arguments of --approve: the first is a file where there is one
// of that name, and every other one is a server.
func (c *serversCmd) named() {
	if c.File == "" {
		return
	}
	if _, err := os.Stat(c.File); err != nil && !strings.ContainsAny(c.File, `/\`) {
		c.Only, c.File = append([]string{c.File}, c.Only...), ""
	}
}

// approve shows how the tools of pinned servers differ from what was approved, and
// writes them down as approved once somebody says so.
func (c *serversCmd) approve(ctx context.Context, con console, app *wire.App) error {
	statuses := app.Router.Servers(ctx)
	lock, err := static.ReadLock(static.LockPath(app.ConfigPath))
	if err != nil {
		return usage(err)
	}
	chosen, err := c.pinned(statuses)
	if err != nil {
		return err
	}
	list := view.Approval{Lock: lock.Path, Changes: []view.ToolChange{}}
	for _, st := range chosen {
		if st.Err != nil {
			list.Unreachable = append(list.Unreachable, view.Unreachable{Server: st.Server.ID, Error: clean(st.Err.Error())})
			continue
		}
		list.Add(st.Server.ID, lock.Changes(st.Server.ID, st.Description.Tools), st.Description.Tools)
		lock.Approve(st.Server.ID, st.Description.Tools)
	}
	if len(c.Only) == 0 {
		for _, id := range lock.Servers() {
			if !slices.ContainsFunc(chosen, func(st router.ServerStatus) bool { return st.Server.ID == id }) {
				list.Add(id, lock.Changes(id, nil), nil)
				lock.Approve(id, nil)
			}
		}
	}
	if !c.JSON {
		if err := view.Approvals(con.out, list, view.Style{Color: con.color}); err != nil {
			return err
		}
	}
	return c.settle(con, lock, list)
}

// pinned are the servers to approve: those named, else every pinned one.
func (c *serversCmd) pinned(statuses []router.ServerStatus) ([]router.ServerStatus, error) {
	var chosen []router.ServerStatus
	for _, st := range statuses {
		if st.Server.Approval != "" && (len(c.Only) == 0 || slices.Contains(c.Only, st.Server.ID)) {
			chosen = append(chosen, st)
		}
	}
	for _, id := range c.Only {
		i := slices.IndexFunc(statuses, func(st router.ServerStatus) bool { return st.Server.ID == id })
		switch {
		case i < 0:
			return nil, usage(fmt.Errorf("there is neither a file nor a server %q", id))
		case statuses[i].Server.Approval == "":
			return nil, usage(fmt.Errorf("server %s is not pinned, so that there is nothing to approve: write approval: %s beside its command or url", id, router.Pinned))
		}
	}
	if len(chosen) == 0 {
		return nil, usage(fmt.Errorf("no server of the servers file is pinned: write approval: %s beside its command or url", router.Pinned))
	}
	return chosen, nil
}

// settle asks, writes and reports. Servers that could not be reached keep what was
// approved of them, and the command fails.
func (c *serversCmd) settle(con console, lock *static.Lock, list view.Approval) error {
	agreed := len(list.Changes) > 0 && c.Yes
	if len(list.Changes) > 0 && !c.Yes && !c.JSON {
		var err error
		if agreed, err = confirmed(con); err != nil {
			return err
		}
	}
	if agreed {
		if err := lock.Write(); err != nil {
			return err
		}
		list.Written = true
	}
	if c.JSON {
		if err := view.JSON(con.out, list); err != nil {
			return err
		}
	} else if agreed {
		fmt.Fprintf(con.out, "approved: %s\n", clean(lock.Path))
	}
	switch {
	case len(list.Changes) > 0 && !agreed:
		fmt.Fprintln(con.err, "junction: nothing was approved")
		return &exitError{code: exitFailed, next: "junction servers --approve --yes, once you have read what changed"}
	case len(list.Unreachable) > 0:
		fmt.Fprintln(con.err, "junction: of servers that could not be reached nothing was approved")
		return &exitError{code: exitFailed}
	}
	return nil
}

// confirmed asks on stdout and reads one line.
func confirmed(con console) (bool, error) {
	fmt.Fprint(con.out, "Approve these tools as they are now? [y/N] ")
	answer, err := bufio.NewReader(io.LimitReader(con.in, 1024)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	if err != nil {
		fmt.Fprintln(con.out)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}
