package ledger

import (
	"fmt"
	"strconv"
	"strings"
)

// Masked stands in a stored result for what must not be stored.
const Masked = "[redacted]"

// Paths name places in a value: "card.number", "items[*].token", "*.secret". A
// name is a member, * any member, [*] any element. "$." may come first.
type Paths [][]string

// ParsePaths reads paths.
func ParsePaths(texts ...string) (Paths, error) {
	var all Paths
	for _, text := range texts {
		var path []string
		plain := strings.ReplaceAll(strings.TrimPrefix(text, "$."), "[*]", ".[*]")
		for name := range strings.SplitSeq(strings.TrimPrefix(plain, "."), ".") {
			if name == "" || name != "[*]" && strings.ContainsAny(name, "[]") {
				return nil, fmt.Errorf("path %q: write names with dots between them, * for any member and [*] for any element, as in items[*].token", text)
			}
			path = append(path, name)
		}
		all = append(all, path)
	}
	return all, nil
}

// Mask replaces what the paths name in v, a canonical value that it changes, and
// returns it with the texts of what was replaced.
func (p Paths) Mask(v any) (masked any, hidden []string) {
	for _, path := range p {
		v = mask(v, path, &hidden)
	}
	return v, hidden
}

func mask(v any, path []string, hidden *[]string) any {
	if len(path) == 0 {
		collect(v, hidden)
		return Masked
	}
	name, rest := path[0], path[1:]
	switch at := v.(type) {
	case []any:
		if name == "[*]" {
			for i := range at {
				at[i] = mask(at[i], rest, hidden)
			}
		}
	case map[string]any:
		for member := range at { // each is changed for itself: order has no say
			if name == member || name == "*" {
				at[member] = mask(at[member], rest, hidden)
			}
		}
	}
	return v
}

// collect notes the texts and numbers in a value.
func collect(v any, hidden *[]string) {
	switch at := v.(type) {
	case string:
		if at != Masked {
			*hidden = append(*hidden, at)
		}
	case int64:
		*hidden = append(*hidden, strconv.FormatInt(at, 10))
	case float64:
		*hidden = append(*hidden, strconv.FormatFloat(at, 'g', -1, 64))
	case []any:
		for _, element := range at {
			collect(element, hidden)
		}
	case map[string]any:
		for _, member := range at {
			collect(member, hidden)
		}
	}
}
