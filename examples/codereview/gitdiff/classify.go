package gitdiff

import (
	"regexp"
	"slices"
	"strings"

	"junction/examples/codereview/reviewer"
)

var reviewed = []string{
	reviewer.Go, reviewer.JavaScript, reviewer.TypeScript, reviewer.Python, reviewer.Rust,
}

// generated is the line that marks a Go file as generated, and what other
// languages' generators write in its place.
var generated = regexp.MustCompile(`(?m)^(//|#|/\*) ?(Code generated .* DO NOT EDIT\.|@generated)`)

// unreviewable says why no language reviewer should see a file; "" when one
// should. Such files are still searched for secrets.
func unreviewable(f File, opts *Options) string {
	dirs := strings.Split(f.Path, "/")
	dirs = dirs[:len(dirs)-1]
	head := f.After[:min(len(f.After), 2048)]
	switch {
	case !slices.Contains(reviewed, f.Language):
		return "no reviewer for " + f.Language
	case opts != nil && opts.Unavailable[f.Language] != "":
		return "no reviewer for " + f.Language + ": " + opts.Unavailable[f.Language]
	case slices.Contains(dirs, "vendor") || slices.Contains(dirs, "node_modules") || slices.Contains(dirs, "third_party"):
		return "vendored"
	case slices.Contains(dirs, "testdata"):
		return "test data, which may be wrong on purpose"
	case generated.MatchString(head):
		return "generated"
	}
	return ""
}
