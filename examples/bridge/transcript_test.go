package bridge_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/router/bridge"
	"junction/state"
)

var update = flag.Bool("update", false, "write the transcripts anew")

// transcript is what each side saw of a day, in parts. A line in it is
//
//	who  seconds since the part began  what — detail
//
// and has the same who and what each time the day is lived through, while seconds and
// details, and the order within a part, are this time's. What stands in parentheses
// may be missing.
type transcript struct {
	about string
	parts []part
}

type part struct {
	title string
	lines []line
}

type line struct {
	who          string // client, server or junction
	after        int    // s
	what, detail string
}

func (l line) String() string {
	text := fmt.Sprintf("%-9s %3d s  %s", l.who, l.after, l.what)
	if l.detail != "" {
		text += " — " + l.detail
	}
	return text + "\n"
}

func (v *transcript) String() string {
	var text strings.Builder
	text.WriteString(v.about + "\n")
	for _, p := range v.parts {
		text.WriteString("\n== " + p.title + "\n\n")
		for _, l := range p.lines {
			text.WriteString(l.String())
		}
	}
	return text.String()
}

// add puts a line after those that came before it. Of the same in parentheses, one
// after another, the latest stays.
func (p *part) add(who string, after int64, what, detail string) {
	l := line{who, int(max(after, 0) / 1000), masked(what), masked(detail)}
	last := len(p.lines) - 1
	if last >= 0 && p.lines[last].what == l.what && p.lines[last].who == who && strings.HasPrefix(l.what, "(") {
		p.lines[last] = l
		return
	}
	p.lines = append(p.lines, l)
}

var masks = []struct {
	of *regexp.Regexp
	as string
}{
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
	{regexp.MustCompile(`file=\S+`), "file=junction.yaml"},
	{regexp.MustCompile(`--load-duration \d+`), "--load-duration SECONDS"},
	{regexp.MustCompile(`(\d+)\.\d+s\b`), "${1}s"},
	{regexp.MustCompile(`\b\d+(\.\d+)?(ms|µs|ns)\b`), "0s"},
}

func masked(text string) string {
	for _, m := range masks {
		text = m.of.ReplaceAllString(text, m.as)
	}
	return text
}

var (
	keptLine = regexp.MustCompile(`^(\S+) +\d+ s  (.*?)(?: — .*)?$`)
	logLine  = regexp.MustCompile(`^\S+ ([A-Z]{3} .*?)( [a-z_]+=.*)?$`)
)

// shape is what of a transcript is the same each time, sorted within its parts.
func shape(text string) []string {
	var all, part []string
	for _, l := range append(strings.Split(text, "\n"), "== ") {
		if strings.HasPrefix(l, "== ") {
			slices.Sort(part)
			all = append(append(all, slices.Compact(part)...), l)
			part = nil
			continue
		}
		if m := keptLine.FindStringSubmatch(l); m != nil && !strings.HasPrefix(m[2], "(") {
			part = append(part, m[1]+" "+m[2])
		}
	}
	return all
}

// kept compares a transcript with the one in testdata, or writes that.
func kept(t *testing.T, name string, v *transcript) {
	t.Helper()
	path := filepath.Join("testdata", "transcripts", name+".txt")
	if *update {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(v.String()), 0o600)); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if diff := cmp.Diff(shape(string(text)), shape(v.String())); diff != "" {
		t.Errorf("not as %s has it (-kept +now; go test -run … -update writes it anew):\n%s\n%s", path, diff, v)
	}
}

// keep holds the day's transcript against the one that is kept.
func (d *day) keep(name, about string) {
	v := &transcript{about: about}
	told, seen := d.events(), d.shop.seen()
	told = told[:slices.IndexFunc(told, func(e event) bool { return e.What == "ended" })] // the rest is leave-taking
	for i, p := range d.phases {
		events, sightings := len(told), len(seen)
		if i+1 < len(d.phases) {
			events, sightings = d.phases[i+1].events, d.phases[i+1].sightings
		}
		v.parts = append(v.parts, p.shown(told[p.events:events], seen[p.sightings:sightings]))
	}
	d.tally(v)
	kept(d.t, name, v)
}

func unshown(id string) bool { return strings.HasPrefix(id, "p") }

// shown is what each side saw in that phase, without the background.
func (p phase) shown(told []event, seen []sighting) part {
	v := part{title: p.title}
	for _, e := range told {
		if e.ID != "" && !unshown(e.ID) {
			what, detail := e.shown()
			v.add("client", e.At-p.at, what, detail)
		}
	}
	for _, s := range seen {
		if !unshown(s.ID) {
			v.add("server", s.At-p.at, strings.TrimSpace(s.What+" "+s.ID), "")
		}
	}
	for _, e := range told {
		m := logLine.FindStringSubmatch(e.Text)
		if e.What != "told" || m == nil {
			continue
		}
		what := m[1]
		if strings.Contains(what, "cannot be reached") {
			what = "(" + what + ")"
		}
		v.add("junction", e.At-p.at, what, strings.TrimSpace(m[2]))
	}
	return v
}

func (e event) shown() (what, detail string) {
	what = e.Tool + " " + e.ID
	switch {
	case e.What == "asked":
		return "asks " + what, ""
	case e.What == "answered":
		return what + ": answered", e.Text
	case len(e.Data) == 0:
		return what + ": cancelled", ""
	}
	return fmt.Sprintf("%s: error %d, %s", what, e.Code, e.trouble().Execution), e.Text
}

// trouble is what the bridge says of an error, beside its text.
func (e event) trouble() (v bridge.Trouble) {
	_ = json.Unmarshal(e.Data, &v) // judge has looked at it
	return v
}

// tally sums up what is not shown one by one.
func (d *day) tally(v *transcript) {
	count := map[string]int{}
	for _, e := range d.events() {
		if !unshown(e.ID) {
			continue
		}
		count[e.What]++
		if e.What == "error" {
			count[string(e.trouble().Execution)]++
		}
	}
	charged := map[string]int{}
	for _, s := range d.shop.seen() {
		if s.What == "charge" {
			charged[s.ID]++
		}
	}
	v.parts = append(v.parts, part{"In all", []line{
		{"client", 0, "every request beside these had one end", fmt.Sprintf("%d asked: %d answered, %d refused before work, %d of unknown outcome",
			count["asked"], count["answered"], count[string(state.NotExecuted)], count[string(state.Unknown)])},
		{"server", 0, "nothing was charged twice", fmt.Sprintf("%d charges", len(charged))},
	}})
}
