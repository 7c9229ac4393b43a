package ledger_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"junction/examples/codereview/ledger"
)

// publisherFile makes the test binary a process that publishes in this ledger.
const publisherFile = "LEDGER_TEST_FILE"

func TestMain(m *testing.M) {
	if path := os.Getenv(publisherFile); path != "" {
		if err := publisher(path, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// order is what a process is told to do.
type order struct {
	Lane     int           `json:"lane"` // whose it is, to answer to
	Key      string        `json:"key"`
	Text     string        `json:"text"` // "": only count the key's executions
	Path     string        `json:"path"`
	Patience time.Duration `json:"patience"`
}

// The outcomes of an order besides a receipt or a count.
const (
	conflict   = "conflict"
	inProgress = "in progress"
	lost       = "lost" // nobody knows whether it happened
)

// outcome is what came of an order.
type outcome struct {
	Lane       int    `json:"lane"`
	Receipt    int64  `json:"receipt,omitempty"`
	SHA256     string `json:"sha256,omitempty"`
	Executions int    `json:"executions,omitempty"`
	Failed     string `json:"failed,omitempty"` // "": done
	Why        string `json:"why,omitempty"`    // of lost
}

// publisher carries out orders, all that it is given at once.
func publisher(path string, in io.Reader, out io.Writer) (err error) {
	l, err := ledger.Open(context.Background(), path)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var under sync.WaitGroup
	defer func() {
		under.Wait()
		err = errors.Join(err, l.Close())
	}()
	answers := json.NewEncoder(out)
	for orders := json.NewDecoder(in); ; {
		var o order
		if err := orders.Decode(&o); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		under.Go(func() {
			a := carryOut(l, o)
			mu.Lock()
			defer mu.Unlock()
			if err := answers.Encode(a); err != nil {
				fmt.Fprintln(os.Stderr, err) // nobody is left to tell
			}
		})
	}
}

func carryOut(l *ledger.Ledger, o order) outcome {
	ctx, cancel := context.WithTimeout(context.Background(), o.Patience)
	defer cancel()
	a := outcome{Lane: o.Lane}
	if o.Text == "" {
		e, err := l.Executions(ctx)
		if err != nil {
			return outcome{Lane: o.Lane, Failed: lost, Why: err.Error()}
		}
		a.Executions = e.Keys[o.Key]
		return a
	}
	r, err := l.Publish(ctx, o.Key, ledger.Publication{Text: o.Text, Path: o.Path})
	switch {
	case errors.Is(err, ledger.ErrConflict):
		a.Failed = conflict
	case errors.Is(err, ledger.ErrInProgress):
		a.Failed = inProgress
	case err != nil:
		a.Failed, a.Why = lost, err.Error()
	default:
		a.Receipt, a.SHA256 = r.ID, r.SHA256
	}
	return a
}

// process is one publisher, killed and replaced as often as is asked for.
type process struct {
	t    *testing.T
	path string

	turn   sync.Mutex // to give an order, or to replace the child
	child  *exec.Cmd
	orders io.WriteCloser
	ended  chan struct{} // closed when the child's last answer is handed out

	mu      sync.Mutex
	waiting map[int]chan outcome // by lane
}

func startProcess(t *testing.T, path string) *process {
	t.Helper()
	p := &process{t: t, path: path, waiting: make(map[int]chan outcome)}
	p.start()
	return p
}

func (p *process) start() {
	p.child = exec.Command(os.Args[0])
	p.child.Env = append(os.Environ(), publisherFile+"="+p.path)
	p.child.Stderr = os.Stderr
	in, err := p.child.StdinPipe()
	out, err2 := p.child.StdoutPipe()
	if err := errors.Join(err, err2, p.child.Start()); err != nil {
		panic(err) // nothing here can go on, and not every caller may end the test
	}
	p.orders, p.ended = in, make(chan struct{})
	go p.listen(out, p.ended)
}

// listen hands out answers; with the process, those that are due are lost.
func (p *process) listen(out io.Reader, ended chan struct{}) {
	defer close(ended)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		var a outcome
		if err := json.Unmarshal(lines.Bytes(), &a); err != nil {
			continue // cut off in the middle
		}
		p.answer(a)
	}
	p.mu.Lock()
	lanes := make([]int, 0, len(p.waiting))
	for lane := range p.waiting {
		lanes = append(lanes, lane)
	}
	p.mu.Unlock()
	for _, lane := range lanes {
		p.answer(outcome{Lane: lane, Failed: lost, Why: "killed"})
	}
}

func (p *process) answer(a outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if to, due := p.waiting[a.Lane]; due {
		delete(p.waiting, a.Lane)
		to <- a
	}
}

// do has an order carried out. Each lane has one at a time.
func (p *process) do(o order) outcome {
	answered := make(chan outcome, 1)
	p.turn.Lock()
	p.mu.Lock()
	p.waiting[o.Lane] = answered
	p.mu.Unlock()
	err := json.NewEncoder(p.orders).Encode(o)
	p.turn.Unlock()
	if err != nil {
		p.t.Errorf("a publisher ended by itself: %v", err)
		return outcome{Lane: o.Lane, Failed: lost, Why: err.Error()}
	}
	return <-answered
}

// kill ends the process as kill -9 does, in the middle of whatever it does, and
// starts another.
func (p *process) kill() {
	p.turn.Lock()
	defer p.turn.Unlock()
	if err := p.child.Process.Kill(); err != nil {
		p.t.Errorf("a publisher ended by itself: %v", err)
	}
	<-p.ended
	p.child.Wait() //nolint:errcheck // it was killed
	p.start()
}

// stop lets the process end.
func (p *process) stop() {
	p.turn.Lock()
	defer p.turn.Unlock()
	p.orders.Close()
	<-p.ended
	if err := p.child.Wait(); err != nil {
		p.t.Errorf("a publisher ended with %v", err)
	}
}
