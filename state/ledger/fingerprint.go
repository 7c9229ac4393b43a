package ledger

import (
	"fmt"
	"unicode/utf8"

	"junction/state"
	"junction/state/value"
)

// MaxKey bounds a key, in bytes.
const MaxKey = 512

// Fingerprint is the SHA-256, in hex, of an operation's name and the canonical
// JSON of its arguments without the members that are named: the key itself, and
// what may differ between two tries of one intent. Arguments without an exact
// JSON form are an error.
func Fingerprint(operation string, arguments any, without ...string) (string, error) {
	v, err := value.Normalize(arguments)
	if err != nil {
		return "", fmt.Errorf("fingerprint of %s: %w", operation, err)
	}
	if members, ok := v.(map[string]any); ok {
		for _, name := range without {
			delete(members, name)
		}
	}
	canonical, err := value.Encode([]any{operation, v})
	if err != nil {
		return "", fmt.Errorf("fingerprint of %s: %w", operation, err)
	}
	return state.Hash(canonical), nil
}

func checkKey(key string) error {
	switch {
	case key == "":
		return fmt.Errorf("%w: it is empty", ErrNoKey)
	case len(key) > MaxKey:
		return fmt.Errorf("%w: it has %d bytes, at most %d are taken", ErrNoKey, len(key), MaxKey)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: it is not UTF-8", ErrNoKey)
	}
	return nil
}
