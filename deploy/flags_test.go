//go:build unix

package deploy_test

import (
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"junction/state/redis/redistest"
)

// flags are those of junction's commands in the files that start it, by verb.
func flags(t *testing.T) map[string]map[string]string {
	t.Helper()
	verb, flag := regexp.MustCompile(`\b(serve|example-server)\b`), regexp.MustCompile(`--[a-z][a-z0-9-]*`)
	// A command goes from where a file begins it to the end of its list, or of its lines.
	command := regexp.MustCompile(`(?s)(?:command: (?:&serve )?\[|args:\n|start \S+ "\$JUNCTION" )[^\n]*?\b(?:serve|example-server)\b.*?(?:\]|\benv:|\n\n|\n\S)`)
	all := map[string]map[string]string{"serve": {}, "example-server": {}}
	for _, path := range []string{"compose.yaml", "kubernetes/workers.yaml", "kubernetes/review-servers.yaml", "local/up"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text = regexp.MustCompile(`(args:)\n\s+- (serve|example-server)\n`).ReplaceAll(text, []byte("$1\n $2 "))
		for _, c := range command.FindAllString(string(text), -1) {
			for _, f := range flag.FindAllString(c, -1) {
				all[verb.FindString(c)][f] = path
			}
		}
	}
	return all
}

func TestEveryFlagIsOneThatTheProgramTakes(t *testing.T) {
	redistest.Long(t)
	junction := program(t)
	for verb, used := range flags(t) {
		help, err := exec.CommandContext(t.Context(), junction, verb, "--help").CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, help)
		}
		if len(used) < 5 {
			t.Errorf("of %s only %v was found in the files", verb, used)
		}
		for _, f := range slices.Sorted(maps.Keys(used)) {
			if !regexp.MustCompile(regexp.QuoteMeta(f) + `\b`).MatchString(strings.ReplaceAll(string(help), "[no-]", "")) {
				t.Errorf("%s gives %s %s, which it does not take", used[f], verb, f)
			}
		}
	}
}
