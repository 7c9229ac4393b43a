package static

import (
	"errors"
	"regexp"
	"strings"

	"junction/state/document"
)

// secret matches the paths of values that may be credentials.
var secret = regexp.MustCompile(`^(store$|discovery$|discovery\.(consul|token)([.\[]|$)|discovery\.services[.\[].*[.\]](headers|auth)([.\[]|$)|mcpServers[.\[].*[.\]](env|headers|auth|args|url|command)([.\[]|$))`)

// concealed remembers the faults of reading the text, before anything was
// decoded: they may quote a value, as one that looks like a broken number. The
// function it returns replaces their messages where the value may be secret.
func concealed(early error) func(error) error {
	quoting := map[document.Fault]bool{}
	var fs document.Faults
	if errors.As(early, &fs) {
		for _, f := range fs {
			if secret.MatchString(f.Path) && !strings.HasPrefix(f.Message, "the key ") {
				quoting[f] = true
			}
		}
	}
	return func(err error) error {
		var all document.Faults
		if len(quoting) == 0 || !errors.As(err, &all) {
			return err
		}
		for i, f := range all {
			if quoting[f] {
				all[i].Message, all[i].Hint = "this value cannot be read as text", "put it in quotes"
			}
		}
		return all
	}
}

// concealSyntax does the same for a fault that ended the reading: text that
// begins with * is taken for an alias, and its name is quoted.
func concealSyntax(err error) error {
	var fs document.Faults
	if !errors.As(err, &fs) {
		return err
	}
	for i, f := range fs {
		if strings.Contains(f.Message, "anchor") {
			fs[i].Message, fs[i].Hint = "not YAML: an alias (*) that stands for nothing", "put quotes around text that begins with *"
		}
	}
	return fs
}
