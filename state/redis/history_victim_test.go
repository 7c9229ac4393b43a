//go:build unix

package redis

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"syscall"
	"time"

	"junction/state/childtest"
	"junction/state/redis/redistest"
)

// victim is a client process that is disturbed, killed and started again.
type victim struct {
	trial *trial
	proxy *redistest.Proxy
	draw  *rand.Rand
	place int
	life  int    // from 1
	name  string // of the process in this life
	child *exec.Cmd
	input io.Closer
}

func newVictim(tr *trial, place int) *victim {
	return &victim{trial: tr, place: place, proxy: redistest.NewProxy(tr.t, tr.server.Addr()), draw: rand.New(rand.NewPCG(tr.seed, uint64(place)))}
}

// turnsOfALife bounds the history of a process that is disturbed late.
const turnsOfALife = 60

// start runs the process and waits until it has opened its store.
func (v *victim) start() error {
	v.life++
	v.name = fmt.Sprintf("p%d.%d", v.place, v.life)
	r, err := json.Marshal(role{
		Address: v.proxy.Address(), Prefix: v.trial.prefix, Name: v.name, File: v.trial.file(v.name),
		Threads: v.trial.threads, Seed: v.draw.Uint64(), Turns: turnsOfALife,
	})
	if err != nil {
		return err
	}
	v.child = exec.Command(os.Args[0], "-test.run=^TestHistoryClient$", "-test.timeout=5m")
	v.child.Env = append(os.Environ(), envClient+"="+string(r))
	v.child.Stderr = os.Stderr
	// Should this process be killed, the group of a stopped child is left alone,
	// which ends it.
	v.child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	in, err := v.child.StdinPipe()
	out, err2 := v.child.StdoutPipe()
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if err := v.child.Start(); err != nil {
		return err
	}
	v.input = in
	v.trial.lives(v.name)
	var said []byte
	for scan := bufio.NewScanner(out); scan.Scan(); {
		if scan.Text() == ready {
			go io.Copy(io.Discard, out)
			return nil
		}
		said = append(append(said, scan.Bytes()...), '\n')
	}
	return fmt.Errorf("client %s did not open its store: %w\n%s", v.name, v.child.Wait(), said)
}

// suffer lets the process work and disturbs it.
func (v *victim) suffer() {
	if err := v.start(); err != nil {
		v.trial.t.Error(err)
		return
	}
	if err := v.disturb(); err != nil {
		v.trial.t.Errorf("disturb client %s: %v", v.name, err)
		v.child.Process.Kill()
	}
	v.input.Close()
	if err := v.child.Wait(); err != nil {
		v.trial.t.Errorf("client %s: %v", v.name, err)
	}
}

// disturb does each of the things that happen to processes, in an order drawn anew
// in each round.
func (v *victim) disturb() error {
	lose := func() error { v.proxy.DropReplies(1); return nil }
	loseTwo := func() error { v.proxy.DropReplies(2); return nil }
	cut := func() error { v.proxy.Cut(); return nil }
	stopUnanswered := func() error { v.unanswered(); return v.stop() }
	killUnanswered := func() error { v.unanswered(); return v.kill() }
	killHeld := func() error {
		v.proxy.Hold()
		v.wait(30*time.Millisecond, 60*time.Millisecond)
		return v.kill()
	}
	for range v.trial.rounds {
		what := []func() error{lose, lose, loseTwo, cut, cut, v.stop, stopUnanswered, killUnanswered, killHeld}
		v.draw.Shuffle(len(what), func(i, j int) { what[i], what[j] = what[j], what[i] })
		for _, do := range what {
			v.wait(20*time.Millisecond, 150*time.Millisecond)
			if err := do(); err != nil {
				return err
			}
		}
	}
	v.wait(100*time.Millisecond, 200*time.Millisecond)
	return nil
}

func (v *victim) wait(least, most time.Duration) {
	timer := time.NewTimer(least + time.Duration(v.draw.Int64N(int64(most-least))))
	defer timer.Stop()
	<-timer.C
}

// stop suspends the process, mostly for longer than its lease lasts.
func (v *victim) stop() error {
	if err := childtest.Stop(v.child.Process); err != nil {
		return err
	}
	v.wait(200*time.Millisecond, 600*time.Millisecond)
	return childtest.Cont(v.child.Process)
}

// unanswered waits until a reply to the process was lost, if it asks for any.
func (v *victim) unanswered() {
	before := v.proxy.Dropped()
	v.proxy.DropReplies(1)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for range 200 {
		if v.proxy.Dropped() > before {
			return
		}
		<-tick.C
	}
}

// kill ends the process and starts another. What it had asked for may reach the
// server when it is dead, but not for long.
func (v *victim) kill() error {
	if err := v.child.Process.Kill(); err != nil {
		return err
	}
	v.input.Close()
	v.child.Wait() //nolint:errcheck // it was killed
	v.proxy.Release()
	v.wait(time.Millisecond, 10*time.Millisecond)
	v.proxy.DropReplies(0)
	v.proxy.Cut()
	if err := v.bury(); err != nil {
		return err
	}
	return v.start()
}

// bury notes when nothing of a killed process can take effect any more: the server
// has read what came on its connections before it answers on one made since.
func (v *victim) bury() error {
	ctx, cancel := context.WithTimeout(v.trial.t.Context(), patience)
	defer cancel()
	client := v.trial.server.Client()
	defer client.Close()
	for client.Ping(ctx).Err() != nil { // it may be down
		if ctx.Err() != nil {
			return ctx.Err()
		}
		v.wait(time.Millisecond, 20*time.Millisecond)
	}
	v.trial.dies(v.name, time.Now())
	return nil
}
