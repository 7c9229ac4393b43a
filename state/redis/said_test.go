package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode"

	"junction/state/redis"
)

// Whoever does not know AUTH or HELLO, an old server or a proxy before a new one,
// repeats what came with it in the refusal: the password.
func TestARefusalThatRepeatsThePasswordDoesNotShowIt(t *testing.T) {
	t.Parallel()
	quoting := func(tail string) func(string) string {
		return func(request string) string {
			words := strings.Split(request, "\r\n")
			return fmt.Sprintf("-ERR unknown command '%s', with args beginning with: '%s' %s\r\n", words[2], strings.Join(words[3:], "' '"), tail)
		}
	}
	addresses := map[string]string{
		"a password":            "redis://:hunter2secret@%s",
		"a user and a password": "redis://worker:hunter2secret@%s",
		"of a cluster":          "redis-cluster://worker:hunter2secret@%s",
	}
	for name, answer := range map[string]func(string) string{
		"as Redis does":           quoting(""),
		"with control characters": quoting("\x1b[31m"),
		"at length":               quoting(strings.Repeat("x", 1<<20)),
		"with nothing else":       func(string) string { return "-ERR \x1b[31m" + strings.Repeat("x", 1<<20) + "\r\n" },
	} {
		for of, address := range addresses {
			t.Run(name+", "+of, func(t *testing.T) {
				t.Parallel()
				s, err := redis.Open(t.Context(), fmt.Sprintf(address, says(t, answer)), &redis.Options{Retry: -1, Timeout: 5 * time.Second})
				if err == nil {
					t.Fatal(s.Close())
				}
				text := err.Error()
				if strings.Contains(text, "hunter2") || len(text) > 1000 || strings.ContainsFunc(text, unicode.IsControl) {
					t.Errorf("%d bytes: %.300q", len(text), text)
				}
			})
		}
	}
}
