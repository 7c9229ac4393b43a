package server

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// trouble is what goes wrong with calls that begin now.
type trouble struct {
	slow time.Duration
	fail float64 // rate
	hang bool
}

// now is what the flags say, or what the file of --trouble says of them at this
// moment: a trial can make a server ill and well again while it runs. Words that the
// file does not have, or a file that is not there, leave the flags as they are.
func (o Options) now() (trouble, error) {
	is := trouble{slow: o.Slow, fail: o.Fail.Rate, hang: o.Hang}
	if o.Trouble == "" {
		return is, nil
	}
	text, err := os.ReadFile(o.Trouble)
	if errors.Is(err, os.ErrNotExist) {
		return is, nil
	}
	if err != nil {
		return is, fmt.Errorf("--trouble: %w", err)
	}
	for word := range strings.FieldsSeq(string(text)) {
		name, value, _ := strings.Cut(word, "=")
		var bad error
		switch name {
		case "slow":
			is.slow, bad = time.ParseDuration(value)
		case "fail":
			var f Failures
			bad = f.UnmarshalText([]byte(value))
			is.fail = cmp.Or(f.Rate, float64(min(f.Count, 1)))
		case "hang":
			is.hang = true
		default:
			bad = errors.New("there are slow=DURATION, fail=RATE and hang")
		}
		if bad != nil {
			return is, fmt.Errorf("--trouble %s: %q: %w", o.Trouble, word, bad)
		}
	}
	return is, nil
}
