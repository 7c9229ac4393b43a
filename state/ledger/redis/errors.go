package redis

import (
	"strings"
	"unicode"
)

// mostShown bounds what is shown of an error, in characters.
const mostShown = 300

// shownError is what came of a call of Redis, as it may be shown: on one line of
// bounded length, without the arguments that a server quotes which does not know a
// command. With AUTH that is the password, with a script what is stored.
type shownError struct{ error }

func (e shownError) Error() string {
	text, _, cut := strings.Cut(e.error.Error(), ", with args beginning with")
	runes := []rune(text[:min(len(text), 4*mostShown)])
	if len(runes) > mostShown {
		runes, cut = runes[:mostShown], true
	}
	for i, r := range runes {
		if !unicode.IsPrint(r) {
			runes[i] = ' '
		}
	}
	if cut {
		runes = append(runes, '…')
	}
	return "redis: " + string(runes)
}

func (e shownError) Unwrap() error { return e.error }
