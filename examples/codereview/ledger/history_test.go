package ledger_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// entry is what a ledger should know of one key.
type entry struct {
	text    string // "": nothing
	receipt int64  // 0: nobody was told yet
}

// onceModel is a ledger that executes each key once: the first text wins, and all
// who come with it get the same receipt. What was lost happened or did not.
var onceModel = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{entry{}} },
	Step: func(state, in, out any) []any {
		e, o, a := state.(entry), in.(order), out.(outcome)
		first := e.text == ""
		switch {
		case o.Text == "" && a.Failed != "":
			return []any{e}
		case o.Text == "":
			return when(a.Executions == 1 != first && a.Executions <= 1, e)
		case a.Failed == lost && first:
			return []any{e, entry{text: o.Text}}
		case a.Failed == lost || a.Failed == inProgress:
			return []any{e}
		case a.Failed == conflict:
			return when(!first && e.text != o.Text, e)
		}
		known := !first && e.receipt != 0
		fits := (first || e.text == o.Text) && a.SHA256 == sum(o.Text) && (!known || e.receipt == a.Receipt)
		return when(fits, entry{text: o.Text, receipt: a.Receipt})
	},
	Partition:         byKey,
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v → %+v", in, out) },
}).ToModel()

func when(fits bool, next entry) []any {
	if !fits {
		return nil
	}
	return []any{next}
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

func byKey(history []porcupine.Operation) [][]porcupine.Operation {
	at := make(map[string]int)
	var parts [][]porcupine.Operation
	for _, op := range history {
		key := op.Input.(order).Key
		i, known := at[key]
		if !known {
			i = len(parts)
			at[key] = i
			parts = append(parts, nil)
		}
		parts[i] = append(parts[i], op)
	}
	return parts
}

// trial is many processes on one ledger.
type trial struct {
	processes, lanes, turns int // lanes of each process, turns of each lane
	kills                   int // of each process
}

// history runs a trial and returns what was asked and answered.
func (tr trial) history(t *testing.T, dir string) []porcupine.Operation {
	var (
		mu   sync.Mutex
		all  []porcupine.Operation
		busy sync.WaitGroup
	)
	begun := time.Now()
	for n := range tr.processes {
		p := startProcess(t, filepath.Join(dir, "ledger.db"))
		var lanes sync.WaitGroup
		turns := make(chan struct{}, tr.lanes*tr.turns) // one for each that was taken
		for lane := range tr.lanes {
			lanes.Go(func() {
				draw := rand.New(rand.NewPCG(uint64(n), uint64(lane)))
				for turn := range tr.turns {
					o := draft(draw, dir, turn)
					o.Lane = lane
					op := porcupine.Operation{ClientId: n*tr.lanes + lane, Input: o, Call: time.Since(begun).Nanoseconds()}
					a := p.do(o)
					op.Output, op.Return = a, time.Since(begun).Nanoseconds()
					if a.Failed == lost {
						op.Return = math.MaxInt64 // it may still take effect
					}
					mu.Lock()
					all = append(all, op)
					mu.Unlock()
					turns <- struct{}{}
				}
			})
		}
		busy.Go(func() {
			every := tr.lanes * tr.turns / (tr.kills + 1)
			for range tr.kills {
				for range every {
					<-turns
				}
				p.kill()
			}
			lanes.Wait()
			p.stop()
		})
	}
	busy.Wait()
	return all
}

// draft is one order: all lanes come to a key at about the same time, with one of
// two texts, and some do not wait long.
func draft(draw *rand.Rand, dir string, turn int) order {
	key := "k" + strconv.Itoa(max(0, turn/3-draw.IntN(2)))
	o := order{Key: key, Text: key + " a", Path: filepath.Join(dir, "out", key), Patience: time.Minute}
	switch draw.IntN(6) {
	case 0:
		o.Text = ""
	case 1:
		o.Text = key + " b"
	}
	if draw.IntN(4) == 0 {
		o.Patience = time.Duration(draw.IntN(4000)) * time.Microsecond
	}
	return o
}

func TestManyProcessesThatAreKilledExecuteEachKeyOnce(t *testing.T) {
	t.Parallel()
	tr := trial{processes: 8, lanes: 2, turns: 24, kills: 2}
	if os.Getenv("JUNCTION_LONG") == "1" {
		tr.turns, tr.kills = 300, 12
	}
	dir := t.TempDir()
	history := tr.history(t, dir)
	if got := porcupine.CheckOperationsTimeout(onceModel, history, time.Minute); got != porcupine.Ok {
		t.Fatalf("the history of %d calls is %v: no order of single executions explains it", len(history), got)
	}
	l := open(t, filepath.Join(dir, "ledger.db"))
	e, err := l.Executions(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	keyOf, outcomes := make(map[int64]string), make(map[string]int)
	for _, op := range history {
		o, a := op.Input.(order), op.Output.(outcome)
		if a.Receipt == 0 {
			outcomes[a.Failed]++
			continue
		}
		outcomes["receipt"]++
		if other, taken := keyOf[a.Receipt]; taken && other != o.Key {
			t.Errorf("receipt %d is of %s and of %s", a.Receipt, other, o.Key)
		}
		keyOf[a.Receipt] = o.Key
		if e.Keys[o.Key] != 1 {
			t.Errorf("%s gave receipt %d and has %d executions", o.Key, a.Receipt, e.Keys[o.Key])
		}
		if got, err := os.ReadFile(o.Path); err != nil || string(got) != o.Text {
			t.Errorf("%s holds %q, %v; published was %q", o.Path, got, err, o.Text)
		}
	}
	if e.Total != len(e.Keys) {
		t.Errorf("%d executions of %d keys", e.Total, len(e.Keys))
	}
	for _, came := range []string{"receipt", conflict, lost} {
		if outcomes[came] == 0 {
			t.Errorf("nothing ended in %q, so nothing is shown: %v", came, outcomes)
		}
	}
	t.Logf("%d calls: %v", len(history), outcomes)
}
