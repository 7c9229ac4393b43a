package redis_test

import (
	"testing"

	"junction/state/redis/redistest"
)

// subscribers counts who listens to a channel.
func subscribers(t *testing.T, server *redistest.Server, channel string) int64 {
	t.Helper()
	client := server.Client()
	defer client.Close()
	counts, err := client.PubSubNumSub(t.Context(), channel).Result()
	if err != nil {
		return -1 // the server is away
	}
	return counts[channel]
}
