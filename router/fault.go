package router

import (
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

// firstFault says where a value breaks its schema: up to three places, each
// with its path.
func firstFault(e *jsonschema.ValidationError) string {
	const most = 3
	var faults []string
	p := message.NewPrinter(language.English)
	var walk func(*jsonschema.ValidationError)
	walk = func(e *jsonschema.ValidationError) {
		if len(e.Causes) == 0 {
			if len(faults) < most {
				faults = append(faults, fmt.Sprintf("at %s: %s", pathOf(e.InstanceLocation), e.ErrorKind.LocalizedString(p)))
			}
			return
		}
		for _, c := range e.Causes {
			walk(c)
		}
	}
	walk(e)
	return strings.Join(faults, "; ")
}

func pathOf(location []string) string {
	if len(location) == 0 {
		return "the whole"
	}
	return strings.Join(location, ".")
}
