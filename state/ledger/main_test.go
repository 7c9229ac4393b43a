package ledger_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"junction/state/ledger"
	"junction/state/ledger/redis"
	"junction/state/ledger/sqlite"
	"junction/state/redis/redistest"
)

// victimOrder makes the test binary a process that executes one key and stops at
// a point, to be killed there.
const victimOrder = "LEDGER_TEST_ORDER"

func TestMain(m *testing.M) {
	if text := os.Getenv(victimOrder); text != "" {
		if err := obey(context.Background(), text); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1) // it was to be killed before
	}
	if text := os.Getenv(workerOrder); text != "" {
		var w worker
		err := json.Unmarshal([]byte(text), &w)
		if err == nil {
			err = w.work(context.Background(), os.Stdin, os.Stdout)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(redistest.Wrap(m))
}

// order is what a victim does.
type order struct {
	File  string // of SQLite; "": Redis
	Addr  string
	Place ledger.Place
	Key   string
	Stop  string // "before the effect", "after the effect", "after the commit"
}

// lease is short, for a dead owner's has to end within a test.
const lease = 400 * time.Millisecond

func (o order) connect(ctx context.Context) (*ledger.Ledger, func() error, error) {
	var store ledger.Store
	var shut func() error
	if o.File != "" {
		s, err := sqlite.Open(ctx, o.File, nil)
		if err != nil {
			return nil, nil, err
		}
		store, shut = s, s.Close
	} else {
		c := goredis.NewClient(&goredis.Options{Addr: o.Addr})
		store, shut = redis.New(c, ""), c.Close
	}
	l, err := ledger.New(store, &ledger.Options{Place: o.Place, Lease: lease, Wait: 20 * time.Second})
	if err != nil {
		return nil, nil, errors.Join(err, shut())
	}
	return l, shut, nil
}

func (o order) call() ledger.Call { return ledger.Call{Key: o.Key, Fingerprint: "f"} }

// effect writes into the file, where it is inside.
func (o order) effect(ctx context.Context, r ledger.Run) (any, error) {
	if o.Stop == "before the effect" {
		halt(r.Receipt)
	}
	if tx := sqlite.Tx(ctx); tx != nil {
		_, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS effect (receipt TEXT); INSERT INTO effect VALUES (?)", r.Receipt)
		if err != nil {
			return nil, err
		}
	}
	if o.Stop == "after the effect" {
		halt(r.Receipt)
	}
	return r.Receipt, nil
}

// halt tells that the point is reached, and waits for the end.
func halt(receipt string) {
	fmt.Println(receipt)
	select {}
}

func obey(ctx context.Context, text string) error {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	l, _, err := o.connect(ctx)
	if err != nil {
		return err
	}
	a, err := l.Do(ctx, o.call(), o.effect)
	if err != nil {
		return err
	}
	halt(a.Receipt)
	return nil
}

// kill has a process carry out an order and kills it at its point. It returns the
// receipt that the victim was given.
func (o order) kill(t *testing.T) (receipt string) {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	victim := exec.Command(os.Args[0])
	victim.Env = append(os.Environ(), victimOrder+"="+string(text))
	victim.Stderr = os.Stderr
	said, err := victim.StdoutPipe()
	if err := errors.Join(err, victim.Start()); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(said).ReadString('\n')
	if killErr := victim.Process.Kill(); err != nil || killErr != nil {
		t.Fatalf("the victim said %q, %v; %v", line, err, killErr)
	}
	victim.Wait() //nolint:errcheck // it was killed
	return strings.TrimSpace(line)
}
