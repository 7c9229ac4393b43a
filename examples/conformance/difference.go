package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

// finding names one check of a run.
type finding struct {
	scenario, id, name string
	nth                int // of those that are named alike
}

func (f finding) compare(o finding) int {
	return cmp.Or(cmp.Compare(f.scenario, o.scenario), cmp.Compare(f.id, o.id), cmp.Compare(f.name, o.name), cmp.Compare(f.nth, o.nth))
}

func (f finding) String() string { return f.scenario + "/" + f.id }

// findings are the checks of a run with their status; those that only inform are none.
type findings map[finding]check

func (f findings) add(scenario string, checks []check) {
	made := false
	for _, c := range checks {
		if c.Status == "INFO" {
			continue
		}
		made = true
		at := finding{scenario: scenario, id: c.ID, name: c.Name, nth: 1}
		for f[at].Status != "" {
			at.nth++
		}
		f[at] = c
	}
	if !made { // a suite that looked at nothing is no proof
		f[finding{scenario: scenario, id: "none", nth: 1}] = check{ID: "none", Status: "FAILURE", Message: "no check was made"}
	}
}

// passed counts.
func (f findings) passed() (passed, scenarios int) {
	seen := map[string]bool{}
	for at, c := range f {
		seen[at.scenario] = true
		if c.Status == "SUCCESS" {
			passed++
		}
	}
	return passed, len(seen)
}

// absentCheck is the status of a check that a run does not have.
const absentCheck = "-"

// difference is a check that came out otherwise than it should: alone it should
// succeed, in the other ways it should be as it is alone.
type difference struct {
	run    *run
	at     finding
	should string
	is     check
}

func (d difference) String() string {
	s := fmt.Sprintf("%s, %s: %s: %s, should be %s", d.run.leg, d.run.way, d.at, d.is.Status, d.should)
	if d.is.Message != "" {
		s += ": " + oneLine(d.is.Message)
	}
	return s
}

// differences of a run from the one alone; nil: it is the one.
func (r *run) differences(alone findings) []difference {
	var all []difference
	every := maps.Clone(r.found)
	maps.Copy(every, alone)
	for _, at := range slices.SortedFunc(maps.Keys(every), finding.compare) {
		should, is := "SUCCESS", r.found[at]
		if alone != nil {
			should = cmp.Or(alone[at].Status, absentCheck)
		}
		if is.Status = cmp.Or(is.Status, absentCheck); is.Status != should {
			all = append(all, difference{r, at, should, is})
		}
	}
	return all
}

// allowed is an entry of expected-proxy.yaml: checks that come out otherwise, and why
// that is right.
type allowed struct {
	Ways    []string `yaml:"ways"`
	Suite   string   `yaml:"suite"`
	Version string   `yaml:"version"`
	Status  string   `yaml:"status"` // that they come out with
	Checks  []string `yaml:"checks"` // SCENARIO/ID
	Reason  string   `yaml:"reason"`
}

func (a allowed) covers(d difference) bool {
	return slices.Contains(a.Ways, d.run.way) && a.Suite == d.run.Suite && a.Version == d.run.Version &&
		a.Status == d.is.Status && slices.Contains(a.Checks, d.at.String())
}

func readDifferences(dir string) ([]allowed, error) {
	var file struct {
		Differs []allowed `yaml:"differs"`
	}
	path, err := readList(dir, "expected-proxy.yaml", &file)
	if err != nil {
		return nil, err
	}
	for _, a := range file.Differs {
		if len(a.Ways) == 0 || len(a.Checks) == 0 || a.Suite == "" || a.Status == "" || a.Reason == "" {
			return nil, fmt.Errorf("%s: an entry lacks its ways, suite, status, checks or reason: %+v", path, a)
		}
	}
	return file.Differs, nil
}

// report is what the runs come to.
type report struct {
	runs    []run
	differs [][]difference // of each run
	reasons []string       // of those that are expected, in order
	wrong   []error
}

// hold holds the runs against each other and against what is expected. They come with
// the one alone before those that are held against it.
func hold(runs []run, expected []allowed) *report {
	rep := &report{runs: runs}
	used := map[string]bool{}
	var base findings
	for i := range runs {
		r := &runs[i]
		if r.way == wayAlone {
			base = nil
		}
		found := r.differences(base)
		if r.way == wayAlone {
			base = r.found
		}
		rep.differs = append(rep.differs, found)
		for _, d := range found {
			at := slices.IndexFunc(expected, func(a allowed) bool { return a.covers(d) })
			if at < 0 {
				rep.wrong = append(rep.wrong, errors.New(d.String()))
				continue
			}
			used[fmt.Sprint(at, d.run.way, d.at)] = true
			if reason := oneLine(expected[at].Reason); !slices.Contains(rep.reasons, reason) {
				rep.reasons = append(rep.reasons, reason)
			}
		}
	}
	for i, a := range expected {
		for _, way := range a.Ways {
			for _, c := range a.Checks {
				if !used[fmt.Sprint(i, way, c)] {
					rep.wrong = append(rep.wrong, fmt.Errorf("%s is as it should be in the way %s, and expected-proxy.yaml says that it is not", c, way))
				}
			}
		}
	}
	return rep
}

// table prints a line for each run, and below it why some differ.
func (rep *report) table(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(tw, "suite\tversion\tway\tscenarios\tchecks\tother than alone")
	for i, r := range rep.runs {
		passed, scenarios := r.found.passed()
		differs := "-"
		if r.way != wayAlone {
			differs = fmt.Sprint(len(rep.differs[i]))
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%d\t%d/%d\t%s\n", r.Suite, cmp.Or(r.Version, "-"), r.way, scenarios, passed, len(r.found), differs)
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, strings.Join(append(slices.Clone(rep.reasons), ""), "\n"))
	return err
}

func (rep *report) verdict() error {
	if len(rep.wrong) > 0 {
		return fmt.Errorf("%d checks are not as expected:\n%w", len(rep.wrong), errors.Join(rep.wrong...))
	}
	return nil
}
