package ledger_test

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
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/state/ledger"
	"junction/state/redis/redistest"
)

// workerOrder makes the test binary a process that executes the keys it reads.
const workerOrder = "LEDGER_TEST_WORKER"

// worker is what such a process does: its effects leave a line in a file for each
// key, which is the world outside.
type worker struct {
	order
	Dir string
}

// said is its answer about one key.
type said struct{ Key, Receipt, Failed string }

func (w worker) effect(_ context.Context, r ledger.Run) (any, error) {
	f, err := os.OpenFile(filepath.Join(w.Dir, r.Key), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	_, err = fmt.Fprintln(f, r.Receipt)
	return r.Receipt, errors.Join(err, f.Close())
}

func (w worker) work(ctx context.Context, in io.Reader, out io.Writer) error {
	l, _, err := w.connect(ctx)
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var busy sync.WaitGroup
	keys := bufio.NewScanner(in)
	for keys.Scan() {
		key := keys.Text()
		busy.Go(func() {
			a, err := l.Do(ctx, ledger.Call{Key: key, Fingerprint: "f"}, w.effect)
			s := said{Key: key, Receipt: a.Receipt}
			if err != nil {
				s.Failed = err.Error()
			}
			mu.Lock()
			defer mu.Unlock()
			json.NewEncoder(out).Encode(s) //nolint:errcheck,errchkjson // nobody is left to tell
		})
	}
	busy.Wait()
	return keys.Err()
}

// life has one process work on keys, in an order of its own, and kills it after so
// many answers (0: it may finish). It returns what was answered.
func (w worker) life(keys []string, after int) ([]said, error) {
	text, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), workerOrder+"="+string(text))
	process.Stdin = strings.NewReader(strings.Join(keys, "\n"))
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err := errors.Join(err, process.Start()); err != nil {
		return nil, err
	}
	var answers []said
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var s said
		if json.Unmarshal(lines.Bytes(), &s) != nil {
			break // cut off in the middle
		}
		if answers = append(answers, s); len(answers) == after {
			if err := process.Process.Kill(); err != nil {
				return nil, err
			}
		}
	}
	if err := process.Wait(); err != nil && after == 0 {
		return nil, err
	}
	return answers, nil
}

func TestKeysRunOnceAmongProcessesThatAreKilled(t *testing.T) {
	t.Parallel()
	stores := map[string]func(*testing.T) order{
		"a file": func(t *testing.T) order { return order{File: filepath.Join(t.TempDir(), "l.db")} },
		"Redis":  func(t *testing.T) order { return order{Addr: redistest.Shared(t).Addr()} },
	}
	for name, store := range stores {
		for place, promise := range map[ledger.Place]string{ledger.Elsewhere: "elsewhere", ledger.Idempotent: "idempotent"} {
			t.Run(promise+" in "+name, func(t *testing.T) {
				t.Parallel()
				w := worker{order: store(t), Dir: t.TempDir()}
				w.Place = place
				stress(t, w)
			})
		}
	}
}

func stress(t *testing.T, w worker) {
	const processes, lives, count = 3, 3, 20
	keys := make([]string, count)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s-%d", strings.ReplaceAll(filepath.Base(filepath.Dir(w.Dir)), " ", "-"), i)
	}
	var mu sync.Mutex
	var answers []said
	var busy sync.WaitGroup
	for p := range processes {
		busy.Go(func() {
			draw := rand.New(rand.NewPCG(uint64(p), 1))
			for life := range lives {
				mine := slices.Clone(keys)
				draw.Shuffle(count, func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
				after := 0
				if life < lives-1 {
					after = 1 + draw.IntN(count/2)
				}
				got, err := w.life(mine, after)
				if err != nil {
					t.Errorf("process %d: %v", p, err)
				}
				mu.Lock()
				answers = append(answers, got...)
				mu.Unlock()
			}
		})
	}
	busy.Wait()
	w.judge(t, keys, answers)
}

// judge holds what is there in the end against what was answered.
func (w worker) judge(t *testing.T, keys []string, answers []said) {
	l := survivor(t, w.order)
	receipts, unknown := map[string]string{}, 0
	for _, s := range answers {
		if s.Failed == "" {
			if first := receipts[s.Key]; first != "" && first != s.Receipt {
				t.Errorf("%s has receipts %s and %s", s.Key, first, s.Receipt)
			}
			receipts[s.Key] = s.Receipt
		}
	}
	for _, key := range keys {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		a, err := l.Do(ctx, ledger.Call{Key: key, Fingerprint: "f"}, w.effect)
		cancel()
		switch {
		case errors.Is(err, ledger.ErrUnknown) && w.Place == ledger.Elsewhere && receipts[key] == "":
			unknown++
		case err != nil:
			t.Errorf("%s: %v; it was answered %q", key, err, receipts[key])
		case receipts[key] != "" && receipts[key] != a.Receipt:
			t.Errorf("%s: receipt %s, and it was answered %s", key, a.Receipt, receipts[key])
		}
		data, err := os.ReadFile(filepath.Join(w.Dir, key))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		effects := strings.Fields(string(data))
		if len(effects) > 1 && w.Place == ledger.Elsewhere {
			t.Errorf("%s took effect %d times", key, len(effects))
		}
		for _, e := range effects {
			if e != effects[0] || a.Receipt != "" && e != a.Receipt {
				t.Errorf("%s took effect with receipts %v, and its own is %s", key, effects, a.Receipt)
			}
		}
	}
	t.Logf("%d answers, %d keys unknown", len(answers), unknown)
}
