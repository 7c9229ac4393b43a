package consul

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// look is a fresh one at everything, that all who ask for one while it lasts
// share.
type look struct {
	done chan struct{} // closed at its end
	err  error         // set before
}

// Refresh looks at the catalogue and at each service at once, by reads that the
// leader confirms, and returns when the snapshot shows what they brought: within
// ctx and the options' Timeout. Of those who ask in a row all but a few wait for
// their turn, see [Discovery.pause]; who asks meanwhile shares the look. Its error says what could not be read, or not be
// believed; what was known stays.
func (d *Discovery) Refresh(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	if d.life.Err() != nil {
		d.mu.Unlock()
		return errClosed
	}
	l := d.looking
	if l == nil {
		l = &look{done: make(chan struct{})}
		d.looking = l
		d.running.Go(func() { d.lookAt(l) })
	}
	d.mu.Unlock()
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return fmt.Errorf("a fresh look into Consul at %s was cut short: %w", d.reader.shown, ctx.Err())
	}
}

var errClosed = errors.New("the discovery in Consul is closed")

// pause is how long the next look has to wait: every hop that finds no candidate
// wants one, and the leader of Consul confirms each read of it. d.mu is held.
func (d *Discovery) pause() time.Duration {
	reads := 1 + len(d.services)
	apart := min(time.Duration(reads)*time.Second/looksReads, lookCap)
	return d.looks.next(time.Now(), max(pace, apart))
}

func (d *Discovery) lookAt(l *look) {
	d.mu.Lock()
	turn := time.NewTimer(d.pause())
	d.mu.Unlock()
	select {
	case <-turn.C:
	case <-d.life.Done():
		turn.Stop()
	}
	ctx, cancel := context.WithTimeout(d.life, d.options.timeout())
	defer cancel()
	l.err = d.lookAll(ctx)
	d.mu.Lock()
	d.publish()
	d.looking = nil
	d.mu.Unlock()
	close(l.done)
}

func (d *Discovery) lookAll(ctx context.Context) error {
	all := d.await(ctx, d.catalogue.look())
	if _, doubted := errors.AsType[*doubt](all); all != nil && !doubted {
		return all
	}
	d.mu.Lock()
	var looks []<-chan error
	for _, name := range slices.Sorted(maps.Keys(d.services)) {
		looks = append(looks, d.services[name].look())
	}
	d.mu.Unlock()
	for _, done := range looks {
		if err := d.await(ctx, done); err != nil && all == nil {
			all = err
		}
	}
	return all
}

func (d *Discovery) await(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		if d.life.Err() != nil {
			return errClosed
		}
		return fmt.Errorf("a fresh look into Consul at %s did not end within %s", d.reader.shown, d.options.timeout())
	}
}
