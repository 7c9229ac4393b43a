package wire

import (
	"strings"
	"testing"
)

// What is nearly an address of Redis may hold a password as one is.
func TestAnAddressThatIsNotUnderstoodShowsNoPassword(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"reddis://:s3cret@host:6379",
		"reddis://s3cret@host:6379",
		"redis//:s3cret@host:6379",
		"redis+tls://user:s3cret@host",
		"postgres://host/db?password=s3cret",
		"postgres://host/db#s3cret",
		"valkey://user:s3cret/x@host",
		"valkey://user:s3cr%zzs3cret@host",
		"user:s3cret@host:6379",
		"s3cret@host",
		"//:s3cret@host",
	} {
		_, err := OpenStore(t.Context(), address, nil)
		if err == nil {
			t.Errorf("%s was opened", address)
		} else if strings.Contains(err.Error(), "s3cr") {
			t.Errorf("%s: %v", address, err)
		}
	}
}
