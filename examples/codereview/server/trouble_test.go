package server

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestTroubleIsReadAnewForEachCall(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trouble")
	o := Options{Slow: 10 * time.Millisecond, Trouble: file}
	flags := trouble{slow: 10 * time.Millisecond}
	for _, c := range []struct {
		text  string // "-": there is no file
		want  trouble
		fails bool
	}{
		{text: "-", want: flags},
		{text: "", want: flags},
		{text: "slow=300ms\n", want: trouble{slow: 300 * time.Millisecond}},
		{text: "fail=0.5", want: trouble{slow: 10 * time.Millisecond, fail: 0.5}},
		{text: "fail=1.0 slow=0s hang", want: trouble{fail: 1, hang: true}},
		{text: "slow=fast", fails: true},
		{text: "fail=2.5", fails: true},
		{text: "die", fails: true},
		{text: "-", want: flags},
	} {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if c.text != "-" {
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		is, err := o.now()
		if (err != nil) != c.fails || err == nil && is != c.want {
			t.Errorf("%q: %+v, %v; want %+v, an error: %t", c.text, is, err, c.want, c.fails)
		}
	}
}

func TestAServerFollowsItsTrouble(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "trouble")
	f := newFaults(Options{Trouble: file, DieAfter: -1, LoseAfter: -1})
	strike := func() error {
		_, err := f.strike(t.Context(), "review")
		return err
	}
	if err := strike(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(file, []byte("fail=1.0"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := strike(); err == nil {
		t.Error("a call succeeds that the file says fails")
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := strike(); err != nil {
		t.Error(err)
	}
}
