package main

import (
	"regexp"
	"slices"
	"strings"
)

// The two suites, by the names that package.json gives them.
var packages = []string{"conformance-legacy", "conformance-modern"}

// scenario is one scenario of a suite at one version of the protocol.
type scenario struct {
	Suite   string // "legacy" or "modern"
	Name    string
	Version string // of the protocol, as --spec-version; "": the suite's choice
}

func (s scenario) String() string { return strings.TrimSuffix(s.Suite+"/"+s.Name+"@"+s.Version, "@") }

// listed is a line of what `list --client` prints: a name, and the versions or kinds
// that it belongs to.
var listed = regexp.MustCompile(`(?m)^  - (\S+) \[([^\]]*)\]$`)

// current are the versions of the protocol at which a scenario of the modern suite
// is run, where it belongs to them: the newest of each era.
var current = []string{"2025-11-25", "2026-07-28"}

// parseList reads what a suite prints of its client scenarios. The legacy suite runs
// each of its scenarios at one version only.
func parseList(suite, text string) []scenario {
	var all []scenario
	for _, m := range listed.FindAllStringSubmatch(text, -1) {
		before := len(all)
		for _, version := range current {
			if suite == "modern" && slices.Contains(strings.Split(m[2], ","), version) {
				all = append(all, scenario{Suite: suite, Name: m[1], Version: version})
			}
		}
		if len(all) == before {
			all = append(all, scenario{Suite: suite, Name: m[1]})
		}
	}
	return all
}

func choose(all []scenario, match *regexp.Regexp) []scenario {
	return slices.DeleteFunc(slices.Clone(all), func(s scenario) bool { return !match.MatchString(s.String()) })
}
