package lab

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"strings"
)

//go:embed scenarios
var files embed.FS

// Gates are the names of the scenario files that come with the lab: what the default
// policy has to hold.
func Gates() []string {
	entries, err := files.ReadDir("scenarios")
	if err != nil {
		panic(err) // embedded
	}
	var all []string
	for _, e := range entries {
		all = append(all, strings.TrimSuffix(e.Name(), ".yaml"))
	}
	slices.Sort(all)
	return all
}

// Gate returns the scenarios of a file that comes with the lab.
func Gate(name string) ([]Scenario, error) {
	if !slices.Contains(Gates(), name) {
		return nil, fmt.Errorf("there is no gate %q (there are %s)", name, strings.Join(Gates(), ", "))
	}
	data, err := GateFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(name+".yaml", data)
}

// GateFile returns the text of that file.
func GateFile(name string) ([]byte, error) {
	return files.ReadFile(path.Join("scenarios", name+".yaml"))
}
