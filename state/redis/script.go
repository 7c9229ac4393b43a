package redis

import (
	"context"
	"embed"
	"errors"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
)

// Each script is headed by its contract: its keys, arguments and replies.
//
//go:embed scripts/*.lua
var scriptFiles embed.FS

// preamble is put before every script of a thread: the server's time, the check
// of the lease, the refresh of expiry.
const preamble = "thread.lua"

// load reads a script; those of a thread come with the preamble.
func load(name string, ofThread bool) *goredis.Script {
	var text strings.Builder
	files := []string{name}
	if ofThread {
		files = []string{preamble, name}
	}
	for _, f := range files {
		data, err := scriptFiles.ReadFile("scripts/" + f)
		if err != nil {
			panic(err) // embedded
		}
		text.Write(data)
		text.WriteByte('\n')
	}
	return goredis.NewScript(text.String())
}

// eval runs a script that may run twice. It tries again, within the store's
// bounds and ctx, while the server cannot be reached or refuses all work, and
// gives up with state.ErrUnavailable. again reports that an earlier try may have
// taken effect.
func (s *Store) eval(ctx context.Context, what string, script *goredis.Script, keys []string, args ...any) (reply any, again bool, err error) {
	err = s.try(ctx, what, func(ctx context.Context, attempt int) error {
		again = attempt > 1
		var err error
		reply, err = script.Run(ctx, s.client, keys, args...).Result()
		return err
	})
	if errors.Is(err, state.ErrCorrupt) {
		return nil, false, s.blame(ctx, err, keys)
	}
	return reply, again, err
}
