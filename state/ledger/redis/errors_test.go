package redis_test

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"
	"unicode"

	goredis "github.com/redis/go-redis/v9"

	"junction/state/ledger/redis"
)

// refusing is a server that answers everything with one line.
func refusing(t *testing.T, line string) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it listens until the test ends
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		l.Close() //nolint:errcheck // it only listens
		<-ended
	})
	go func() {
		defer close(ended)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if _, err := bufio.NewReader(c).ReadString('\n'); err == nil {
				fmt.Fprint(c, line)
			}
			c.Close() //nolint:errcheck // the client is done with it
		}
	}()
	return l.Addr().String()
}

func TestARefusalThatRepeatsThePasswordDoesNotShowIt(t *testing.T) {
	t.Parallel()
	for name, tail := range map[string]string{"as Redis does": "", "with control characters": "\x1b[31m", "at length": strings.Repeat("x", 1<<16)} {
		c := goredis.NewClient(&goredis.Options{
			Addr:     refusing(t, "-ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'hunter2secret' "+tail+"\r\n"),
			Password: "hunter2secret", MaxRetries: -1,
		})
		_, err := redis.New(c, "").Find(t.Context(), "k")
		if err == nil {
			t.Fatal("found")
		}
		if text := err.Error(); strings.Contains(text, "hunter2") || len(text) > 1000 || strings.ContainsFunc(text, unicode.IsControl) {
			t.Errorf("%s, %d bytes: %.300q", name, len(text), text)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
