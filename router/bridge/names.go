package bridge

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// longestName bounds what a tool or a prompt is called, and the characters of a name
// that the bridge makes (MCP, "Tool Names").
const longestName = 128

// owned is a tool or a prompt of one server.
type owned struct{ server, name string }

// named gives each its name to the client: its own where no other server has it too,
// else its server's before it ("server__name"). It depends on who has what alone, not on
// the order in which servers came. all is in order and holds nothing twice.
//
// A server's own name that looks like a made one gives way to it, and one that looks like
// another server's has its own before it: nobody's tool passes for another's.
// others are servers that are there, whether they have anything or not.
func named(all []owned, others ...string) map[string]owned {
	count := make(map[string]int, len(all))
	for _, o := range all {
		count[o.name]++
	}
	for _, server := range others {
		front := plainly(server) + "__"
		for _, o := range all {
			if o.server != server && strings.HasPrefix(o.name, front) {
				count[o.name] = 2
			}
		}
	}
	prefixed := func(o owned) bool { return count[o.name] > 1 }
	for {
		made := map[string]bool{}
		for _, o := range all {
			if prefixed(o) {
				made[join(o)] = true
			}
		}
		again := false
		for _, o := range all {
			if !prefixed(o) && made[o.name] {
				count[o.name], again = 2, true
			}
		}
		if !again {
			break
		}
	}
	shown := make(map[string]owned, len(all))
	for _, o := range all {
		name := o.name
		if prefixed(o) {
			name = join(o)
		}
		if _, taken := shown[name]; taken {
			name = marked(o)
		}
		shown[name] = o
	}
	return shown
}

// join is a server's name before a tool's, within what a name may be.
func join(o owned) string {
	name := plainly(o.server) + "__" + plainly(o.name)
	if len(name) > longestName {
		return marked(o)
	}
	return name
}

// marked is a name cut short, with a digest that tells it from others.
func marked(o owned) string {
	sum := sha256.Sum256([]byte(o.server + "\x00" + o.name))
	mark := "_" + hex.EncodeToString(sum[:4])
	name := plainly(o.server) + "__" + plainly(o.name)
	return name[:min(len(name), longestName-len(mark))] + mark
}

// plainly replaces what may not stand in a name.
func plainly(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '-':
			return r
		}
		return '_'
	}, s)
}

// sorted puts owned ones in order, each once.
func sorted(all []owned) []owned {
	slices.SortFunc(all, func(a, b owned) int {
		if c := strings.Compare(a.server, b.server); c != 0 {
			return c
		}
		return strings.Compare(a.name, b.name)
	})
	return slices.Compact(all)
}
