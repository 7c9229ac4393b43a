package consul

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Consul takes names with control characters, of any length, and as many tags as
// anybody likes. Names get into logs, records and terminals, so there are bounds.
const (
	maxName         = 255 // bytes of the name of a service, an instance, a node
	maxCapabilities = 256 // of one instance
	maxValues       = 512 // of all its attributes together
	maxProblems     = 32  // told of one instance
)

// presentable reports whether a name can stand in a log, a record and a terminal
// as it is.
func presentable(name string) bool {
	return name != "" && len(name) <= maxName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
}

// legible is a name for people: as it is, or what can be shown of it, in quotes.
func legible(name string) string {
	const most = 64
	switch {
	case presentable(name):
		return name
	case len(name) > most:
		return strconv.QuoteToASCII(name[:most]) + "…"
	}
	return strconv.QuoteToASCII(name)
}
