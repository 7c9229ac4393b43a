package static

import (
	"strings"
	"testing"
)

func TestExpandReplacesVariables(t *testing.T) {
	env := map[string]string{"HOST": "db.internal", "EMPTY": "", "ODD": "a${HOST}b", "_x9": "under"}
	lookup := func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	for _, c := range []struct{ name, in, want string }{
		{"plain text stays", "redis://localhost/0", "redis://localhost/0"},
		{"a variable", "redis://${HOST}/0", "redis://db.internal/0"},
		{"two of them", "${HOST}:${HOST}", "db.internal:db.internal"},
		{"a lower-case name with digits", "${_x9}", "under"},
		{"set but empty is empty", "[${EMPTY}]", "[]"},
		{"the default when unset", "${NOPE:-fallback}", "fallback"},
		{"the default when empty", "${EMPTY:-fallback}", "fallback"},
		{"no default when set", "${HOST:-fallback}", "db.internal"},
		{"an empty default", "[${NOPE:-}]", "[]"},
		{"a default with colons and slashes", "${NOPE:-http://x:1/y}", "http://x:1/y"},
		{"a value is not looked at again", "${ODD}", "a${HOST}b"},
		{"an escaped brace is literal", "$${HOST}", "${HOST}"},
		{"an escape beside a variable", "$${a} ${HOST}", "${a} db.internal"},
		{"a lone dollar stays", "pa$$word $HOST $", "pa$$word $HOST $"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := expand(c.in, lookup)
			if err != nil || got != c.want {
				t.Errorf("expand(%q) = %q, %v; want %q", c.in, got, err, c.want)
			}
		})
	}
}

func TestExpandRefusesWhatItCannotFill(t *testing.T) {
	none := func(string) (string, bool) { return "", false }
	for _, c := range []struct{ name, in, want string }{
		{"an unset variable", "Bearer ${TOKEN}", "environment variable TOKEN is not set"},
		{"an open brace", "Bearer ${TOKEN", "not closed"},
		{"an expression", "${result.text}", "not the name of an environment variable"},
		{"an empty name", "${}", "not the name of an environment variable"},
		{"a name beginning with a digit", "${1A}", "not the name of an environment variable"},
		{"a nested default", "${A:-${B}}", "default of ${A} holds another"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := expand(c.in, none)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("expand(%q) = %q, %v; want an error with %q", c.in, got, err, c.want)
			}
		})
	}
}
