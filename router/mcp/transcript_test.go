package mcp_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"junction/router/mcp"
)

var update = flag.Bool("update", false, "write the transcripts in testdata/transcripts anew")

// Each transport, in each era, with the two races of a cancel with an answer, as
// the server saw them. The files are compared byte by byte; ids are numbered in
// the order of their appearance, and times are masked.
func TestTheWireLooksAsInItsTranscripts(t *testing.T) {
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			got := &txtar.Archive{Comment: []byte(fmt.Sprintf(
				"A cancel's two races with the answer over %s, as the server saw them.\nC is the client, S a server that ignores cancels; = is what the client made of it.\nIds are numbered, times masked.\n", w.name))}
			for _, race := range []struct {
				name string
				run  func(*testing.T, wire) []string
			}{{"cancel then complete", cancelThenComplete}, {"complete then cancel", completeThenCancel}} {
				text := strings.Join(numbered(race.run(t, w)), "\n") + "\n"
				got.Files = append(got.Files, txtar.File{Name: race.name, Data: []byte(text)})
			}
			path := filepath.Join("testdata", "transcripts", w.name+".txtar")
			if *update {
				if err := os.WriteFile(path, txtar.Format(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(txtar.Format(got))); diff != "" {
				t.Error("the wire looks otherwise; if it should, run with -update:", diff)
			}
		})
	}
}

func cancelThenComplete(t *testing.T, w wire) []string {
	s, lines := w.roll(t)
	c := mcp.New(nil)
	if _, err := c.Describe(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := c.Call(ctx, s, held(cancel))
	e := callError(t, err)
	switch {
	case w.stdio: // the server hears of it, and answers all the same
		eventually(t, "the late answer", func() bool { return c.Strays(s.ID)[mcp.LateAnswer] == 1 })
	case w.modern:
		eventually(t, "the stream's end", func() bool { return len(containing(lines(), "S event")) == 2 })
	default:
		eventually(t, "notifications/cancelled", func() bool { return len(containing(lines(), "notifications/cancelled")) == 1 })
	}
	outcome := fmt.Sprintf("= %s, %s; ignored: %v", e.Code, e.Execution, c.Strays(s.ID))
	return append(afterwards(t, c, w, lines, func() error {
		_, err := c.Call(t.Context(), s, call("work", nil))
		return err
	}), outcome)
}

func completeThenCancel(t *testing.T, w wire) []string {
	s, lines := w.roll(t)
	c := mcp.New(nil)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := c.Call(ctx, s, call("work", nil))
	cancel()
	if err != nil {
		t.Fatal(err)
	}
	outcome := fmt.Sprintf("= result %q; ignored: %v", r.Text, c.Strays(s.ID))
	return append(afterwards(t, c, w, lines, func() error {
		_, err := c.Call(t.Context(), s, call("work", nil))
		return err
	}), outcome)
}

// afterwards makes one more call, which shows what was sent before it, closes the
// client, and returns all that was recorded.
func afterwards(t *testing.T, c *mcp.Client, w wire, lines func() []string, again func() error) []string {
	if err := again(); err != nil {
		t.Error("the next call: ", err)
	}
	if err := c.Close(context.Background()); err != nil {
		t.Error(err)
	}
	if w.stdio {
		eventually(t, "the server's end", func() bool { return len(containing(lines(), "closes the server's input")) == 1 })
	}
	return lines()
}

var (
	ids   = regexp.MustCompile(`"(id|requestId|progressToken)":(\d+)`)
	waits = regexp.MustCompile(`(X-Mcp-Timeout-Seconds: )[0-9.]+`)
)

// numbered replaces the ids by their order of appearance, and masks times.
func numbered(lines []string) []string {
	var seen []string
	for i, line := range lines {
		lines[i] = ids.ReplaceAllStringFunc(waits.ReplaceAllString(line, "${1}…"), func(id string) string {
			m := ids.FindStringSubmatch(id)
			at := slices.Index(seen, m[2])
			if at < 0 {
				at = len(seen)
				seen = append(seen, m[2])
			}
			return fmt.Sprintf(`"%s":#%d`, m[1], at+1)
		})
	}
	return lines
}
