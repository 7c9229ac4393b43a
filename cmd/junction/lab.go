package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"junction/cmd/junction/internal/plot"
	"junction/cmd/junction/internal/view"
	"junction/router/lab"
)

type labCmd struct {
	Scenario    string        `arg:"" optional:"" help:"Scenario file (YAML), or a gate that comes along: G1 to G8."`
	All         bool          `help:"All gates."`
	Policy      []string      `placeholder:"NAME,…" help:"Policies to compare; the first is the one that has to hold the gate. Default: the scenario's own."`
	Seeds       int           `default:"20" help:"How many seeds; figures are their means."`
	Seed        *uint64       `placeholder:"N" help:"Only this seed."`
	Plot        string        `placeholder:"FILE.svg" help:"Draw share, P99 and errors over time. Of several scenarios each gets a file: FILE-NAME.svg."`
	Print       bool          `help:"Print the scenario file and run nothing."`
	FromHistory bool          `help:"Make a scenario of the calls that were recorded, and ask what other policies would have done."`
	Since       time.Duration `default:"1h" placeholder:"D" help:"With --from-history: of the last D."`
	Capability  string        `placeholder:"NAME" help:"With --from-history: of this capability. Default: the one with most calls."`
	Server      []string      `placeholder:"NAME,…" help:"With --from-history: these servers alone. The first is followed in figures and plot."`
	storeFlags
}

func (*labCmd) Help() string {
	return `Simulates servers and callers on a virtual clock, around the code that chooses servers in
earnest, and compares ways of choosing. A gate is a scenario with conditions that the first policy
has to hold.

Policies:
` + policyHelp() + `
Examples:
  junction lab G3 --plot g3.svg
  junction lab --all --seeds 5
  junction lab G1 --print > mine.yaml
  junction lab mine.yaml --policy default,linear,two-choice --json
  junction lab --from-history --since 1h --store redis://127.0.0.1:6379
  junction lab --from-history --print > friday.yaml

Exit codes: 0 every gate is held, 1 one is not, 2 bad usage or file.`
}

func policyHelp() string {
	var b strings.Builder
	for _, p := range lab.Policies() {
		fmt.Fprintf(&b, "  %-14s %s\n", p.Name, p.About)
	}
	return b.String()
}

func (c *labCmd) Run(ctx context.Context, con console) error {
	if err := c.check(); err != nil {
		return usage(err)
	}
	ctx, cancel := untilDrain(ctx)
	defer cancel()
	if c.FromHistory {
		return c.withStore(ctx, con, c.onHistory(con))
	}
	scenarios, text, err := c.scenarios()
	if err != nil {
		return usage(err)
	}
	if c.Print {
		_, err := io.WriteString(con.out, text)
		return err
	}
	return c.compare(ctx, con, scenarios, nil)
}

func (c *labCmd) check() error {
	var faults []error
	given := 0
	for _, is := range []bool{c.Scenario != "", c.All, c.FromHistory} {
		if is {
			given++
		}
	}
	if given != 1 {
		faults = append(faults, fmt.Errorf("give one of a scenario file, a gate (%s), --all and --from-history", strings.Join(lab.Gates(), ", ")))
	}
	if c.Seeds < 1 || c.Seeds > 1000 {
		faults = append(faults, fmt.Errorf("--seeds %d: from 1 to 1000", c.Seeds))
	}
	for i, name := range c.Policy {
		if !slices.Contains(lab.PolicyNames(), name) {
			faults = append(faults, fmt.Errorf("--policy %s: there are %s", name, strings.Join(lab.PolicyNames(), ", ")))
		} else if slices.Contains(c.Policy[:i], name) {
			faults = append(faults, fmt.Errorf("--policy %s is given twice", name))
		}
	}
	if c.Plot != "" && filepath.Ext(c.Plot) != ".svg" {
		faults = append(faults, fmt.Errorf("--plot %s: an SVG image is drawn, so its name ends in .svg (rsvg-convert makes a PNG of one)", c.Plot))
	}
	if !c.FromHistory && (len(c.Server) > 0 || c.Capability != "") {
		faults = append(faults, errors.New("--server and --capability select from a history: add --from-history"))
	}
	if c.FromHistory && c.Since <= 0 {
		faults = append(faults, fmt.Errorf("--since %s: above 0", c.Since))
	}
	return errors.Join(faults...)
}

// scenarios are those that are asked for, and the text of their files.
func (c *labCmd) scenarios() (all []lab.Scenario, text string, err error) {
	names := []string{c.Scenario}
	if c.All {
		names = lab.Gates()
	}
	for _, name := range names {
		data, file, err := scenarioFile(name)
		if err != nil {
			return nil, "", err
		}
		some, err := lab.Parse(file, data)
		if err != nil {
			return nil, "", err
		}
		all, text = append(all, some...), text+string(data)
	}
	return all, text, nil
}

// scenarioFile reads a gate, or else a file: one that is there wins over a gate of
// its name only when it is written as a path.
func scenarioFile(name string) (data []byte, file string, err error) {
	if slices.Contains(lab.Gates(), strings.ToUpper(name)) {
		name = strings.ToUpper(name)
		data, err = lab.GateFile(name)
		return data, name + ".yaml", err
	}
	data, err = os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("there is no scenario file %s, and no gate of that name (gates are %s)", name, strings.Join(lab.Gates(), ", "))
	}
	return data, name, err
}

func (c *labCmd) seeds() []uint64 {
	if c.Seed != nil {
		return []uint64{*c.Seed}
	}
	return lab.Seeds(1, c.Seeds)
}

// labResult is what lab prints with --json.
type labResult struct {
	Reports  []lab.Report `json:"reports"`
	Held     bool         `json:"held"` // every gate, by the first policy
	Recorded *recorded    `json:"recorded,omitempty"`
}

// compare runs the scenarios, prints what they came to and says whether the gates
// are held. past is what a scenario was made from; nil: it was not.
func (c *labCmd) compare(ctx context.Context, con console, scenarios []lab.Scenario, past *recorded) error {
	var reports []lab.Report
	for _, s := range scenarios {
		tell := progressOf(con, s.Name)
		r, err := lab.RunWith(ctx, s, c.Policy, c.seeds(), tell)
		tell(0, 0)
		if ctx.Err() != nil {
			return &exitError{code: exitCancelled, err: errors.New("the lab was stopped")}
		}
		if err != nil {
			return usage(err)
		}
		if err := c.draw(&r, len(scenarios) > 1); err != nil {
			return err
		}
		reports = append(reports, r)
	}
	held, err := c.show(con, reports, past)
	if err == nil && !held {
		return &exitError{code: exitFailed}
	}
	return err
}

func (c *labCmd) show(con console, reports []lab.Report, past *recorded) (held bool, err error) {
	style := view.Style{Color: con.color}
	if c.JSON {
		held, err = view.LabSummary(io.Discard, reports, style)
		return held, errors.Join(err, view.JSON(con.out, labResult{Reports: reports, Held: held, Recorded: past}))
	}
	if err := view.Lab(con.out, reports, style); err != nil {
		return false, err
	}
	if past != nil {
		if err := past.print(con.out, &reports[0]); err != nil {
			return false, err
		}
	}
	return view.LabSummary(con.out, reports, style)
}

// progressOf tells a terminal how far a scenario is, and wipes that at (0, 0).
func progressOf(con console, name string) func(finished, all int) {
	if con.width == nil {
		return func(int, int) {}
	}
	return func(finished, all int) {
		if all == 0 {
			fmt.Fprint(con.err, "\r\x1b[K")
			return
		}
		fmt.Fprintf(con.err, "\r\x1b[K%s: %d of %d runs", view.Clean(name), finished, all)
	}
}

func (c *labCmd) draw(r *lab.Report, several bool) (err error) {
	if c.Plot == "" {
		return nil
	}
	file := c.Plot
	if several {
		file = strings.TrimSuffix(file, ".svg") + "-" + strings.ReplaceAll(r.Scenario, "/", "-") + ".svg"
	}
	f, err := os.Create(file)
	if err != nil {
		return usage(fmt.Errorf("--plot: %w", err))
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return plot.Draw(f, r)
}
