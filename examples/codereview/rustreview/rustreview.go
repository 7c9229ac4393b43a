// Package rustreview checks the syntax of Rust with the machine's own rustc.
//
// Invariant: the code is parsed and nothing else happens to it. No macro is
// expanded, so nothing is included from the machine and no environment is read;
// no other file of its crate is looked for; no build script or procedural macro
// runs, and no toolchain is chosen or fetched because a repository asks for it.
package rustreview

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"junction/examples/codereview/reviewer"
	"junction/examples/codereview/scratch"
)

// Available says, by its error, why Rust cannot be reviewed here.
func Available() error {
	path, err := exec.LookPath("rustc")
	if err != nil {
		return errors.New("rustc is not installed, or not in PATH")
	}
	// A version manager's stand-in may be there without a compiler behind it.
	ctx, cancel := context.WithTimeout(context.Background(), probeTime)
	defer cancel()
	if out, err := exec.CommandContext(ctx, path, "--version").CombinedOutput(); err != nil {
		return fmt.Errorf("%s does not run: %w: %s", path, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// probeTime is how long rustc may take to say its version.
const probeTime = 20 * time.Second

// Reviewer runs rustc.
type Reviewer struct{ rustc string }

// New returns a Rust reviewer, or an error when there is no rustc.
func New() (*Reviewer, error) {
	if err := Available(); err != nil {
		return nil, err
	}
	path, err := exec.LookPath("rustc")
	if err != nil {
		return nil, err
	}
	return &Reviewer{rustc: path}, nil
}

// Name implements reviewer.Reviewer.
func (*Reviewer) Name() string { return "rust" }

// Languages implements reviewer.Reviewer.
func (*Reviewer) Languages() []string { return []string{reviewer.Rust} }

// Close implements reviewer.Reviewer.
func (*Reviewer) Close() error { return nil }

// editions are tried from the newest; what one of them accepts is no fault,
// since the file alone does not say which edition it is written in.
var editions = []string{"2024", "2021", "2018", "2015"}

// Review implements reviewer.Reviewer.
func (v *Reviewer) Review(ctx context.Context, r reviewer.Request) (_ reviewer.Review, err error) {
	dir, err := scratch.Dir() // empty, so that no file beside the code chooses a toolchain
	if err != nil {
		return reviewer.Review{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	var first []reviewer.Finding
	for i, edition := range editions {
		found, err := v.parse(ctx, dir, r, edition)
		if err != nil {
			return reviewer.Review{}, fmt.Errorf("review %s: %w", r.Path(), err)
		}
		if len(found) == 0 {
			return reviewer.Conclude(v.Name(), nil), nil
		}
		if i == 0 {
			first = found
		}
	}
	return reviewer.Conclude(v.Name(), first), nil
}

// message is one of rustc's, as JSON.
type message struct {
	Text  string `json:"message"`
	Level string `json:"level"`
	Spans []struct {
		Line    int  `json:"line_start"`
		Column  int  `json:"column_start"`
		Primary bool `json:"is_primary"`
	} `json:"spans"`
}

// parse stops rustc after parsing, which only its unstable options can; they
// are unlocked by an environment variable of the child.
func (v *Reviewer) parse(ctx context.Context, dir string, r reviewer.Request, edition string) ([]reviewer.Finding, error) {
	cmd := exec.CommandContext(ctx, v.rustc, "-Zparse-crate-root-only", "--error-format=json",
		"--crate-type=lib", "--crate-name=reviewed", "--edition="+edition, "-")
	cmd.Dir = dir
	cmd.Env = environment()
	cmd.Stdin = strings.NewReader(r.Code)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	found, odd := read(r.Path(), stderr.Bytes())
	if err != nil && len(found) == 0 {
		return []reviewer.Finding{{
			Path: r.Path(), Severity: reviewer.Info, Rule: "not-reviewed",
			Message: strings.TrimSpace("not reviewed: this rustc cannot parse without compiling: " + odd),
		}}, nil
	}
	return found, nil
}

// read takes the errors out of rustc's output; odd is the last line that is no
// message.
func read(path string, out []byte) (found []reviewer.Finding, odd string) {
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, len(out)+1)
	for lines.Scan() {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil {
			odd = lines.Text()
			continue
		}
		if m.Level != "error" || len(m.Spans) == 0 {
			continue // a summary, or advice
		}
		f := reviewer.Finding{Path: path, Severity: reviewer.High, Rule: "syntax", Message: m.Text}
		for _, s := range m.Spans {
			if s.Primary {
				f.Line, f.Column = s.Line, s.Column
			}
		}
		found = append(found, f)
	}
	return found, odd
}

func environment() []string {
	env := []string{"RUSTC_BOOTSTRAP=1", "RUSTUP_AUTO_INSTALL=0", "LC_ALL=C"}
	for _, name := range []string{"PATH", "HOME", "USERPROFILE", "SYSTEMROOT", "RUSTUP_HOME", "CARGO_HOME", "TMPDIR", "TEMP"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
