package main

import (
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"junction/router/review"
)

// TestMain makes the test binary the child that the labs start over stdio, too.
func TestMain(m *testing.M) {
	if address := os.Getenv(relayVar); address != "" {
		os.Exit(relay(address, os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m)
}

func TestEachLabShowsWhatTheRaceTableSays(t *testing.T) {
	t.Parallel()
	for _, l := range labs {
		t.Run(l.title, func(t *testing.T) {
			t.Parallel()
			rows, err := l.run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) != len(l.experiments)*len(ways) {
				t.Fatalf("%d rows of %d experiments in %d ways", len(rows), len(l.experiments), len(ways))
			}
			for _, r := range rows {
				if r.race != r.want {
					t.Errorf("%s:\nobserved %+v\nwant     %+v", r.way, r.race, r.want)
				}
			}
		})
	}
}

// A race of the table that no lab brings about would be prose.
func TestTheLabsBringAboutEveryRaceThatReachesAServer(t *testing.T) {
	t.Parallel()
	shown := map[string]bool{review.CancelQueued: true} // nothing is sent: there is nothing to show
	for _, l := range labs {
		for _, e := range l.experiments {
			shown[e.order] = true
		}
	}
	for _, r := range review.Races(review.Stdio) {
		if !shown[r.Order] {
			t.Errorf("no lab shows %q", r.Order)
		}
	}
}

// What the README shows of the labs is what they print.
func TestTheTablesOfTheReadmeAreThoseOfTheLabs(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range labs {
		if !strings.Contains(string(readme), "## "+l.title+"\n") {
			t.Errorf("no section %q", l.title)
		}
		for _, e := range l.experiments {
			for _, w := range ways {
				r := raceOf(w.kind, e.order)
				line := "| " + strings.Join([]string{r.Order, w.String(), r.Terminal(), r.Final, string(r.Wire), r.Loser()}, " | ") + " |\n"
				if !strings.Contains(string(readme), line) {
					t.Errorf("the README lacks\n%s", line)
				}
			}
		}
	}
}

// The skill file asks for the races that the table has, with the same winners.
func TestTheSkillFileHasTheRaceTable(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	skill := string(data)
	if !strings.HasPrefix(skill, "---\nname: mcp-reliability-review\ndescription: ") {
		t.Error("it does not begin with its name and description")
	}
	for _, r := range review.Races(review.Stdio) {
		row, found := "", false
		for line := range strings.Lines(skill) {
			if strings.HasPrefix(line, "| "+r.Order+" | ") {
				row, found = line, true
			}
		}
		if !found || !strings.HasSuffix(row, " | "+r.Final+" | "+r.Ignored+" |\n") {
			t.Errorf("%q: %q, want it to end with %s and %s", r.Order, row, r.Final, r.Ignored)
		}
	}
}
