package redis

import (
	"strings"
	"unicode"
)

// mostSaid bounds what is shown of an answer, in characters.
const mostSaid = 300

// said is an error that a server or a proxy answered, as it may be shown: on one
// line of bounded length, and without the arguments that it quotes. What does not
// know a command repeats what came with it, and with AUTH that is the password.
type said struct{ error }

func (e said) Error() string {
	text, _, quotes := strings.Cut(e.error.Error(), ", with args beginning with")
	shown := []rune(text[:min(len(text), 4*mostSaid)]) // so that no megabytes are converted
	if len(shown) > mostSaid {
		shown, quotes = shown[:mostSaid], true
	}
	for i, r := range shown {
		if !unicode.IsPrint(r) {
			shown[i] = ' '
		}
	}
	if quotes {
		shown = append(shown, '…')
	}
	return string(shown)
}

func (e said) Unwrap() error { return e.error }

// fit makes an error fit for messages; those that no server answered are so.
func fit(err error) error {
	if replyText(err) == "" {
		return err
	}
	return said{err}
}
