package redis_test

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"junction/state"
	"junction/state/redis"
	"junction/state/redis/redistest"
)

// subscribers counts who listens to a channel, −1 while the server is away.
func subscribers(t *testing.T, server *redistest.Server, channel string) int64 {
	t.Helper()
	client := server.Client()
	defer client.Close()
	counts, err := client.PubSubNumSub(t.Context(), channel).Result()
	if err != nil {
		return -1
	}
	return counts[channel]
}

func waitSubscribed(t *testing.T, prefix string, want int64) {
	t.Helper()
	eventually(t, "subscriptions begin and end", func() bool {
		return subscribers(t, redistest.Shared(t), prefix+":cancel") == want
	})
}

// listening is a store whose prefix is known.
func listening(t *testing.T, address string, log *slog.Logger) (s *redis.Store, prefix string) {
	t.Helper()
	prefix = "notify-" + uuid.NewString()
	s, err := redis.Open(t.Context(), address, &redis.Options{Prefix: prefix, Log: log})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return s, prefix
}

func wantNotice(t *testing.T, asked <-chan struct{}) {
	t.Helper()
	select {
	case <-asked:
	case <-time.After(30 * time.Second):
		t.Fatal("no notice")
	}
}

func wantNoNotice(t *testing.T, asked <-chan struct{}) {
	t.Helper()
	select {
	case <-asked:
		t.Fatal("a notice of another's cancel")
	default:
	}
}

func TestCancelRequestIsTold(t *testing.T) {
	t.Parallel()
	address := redistest.Shared(t).Address()
	worker, prefix := listening(t, address, nil)
	elsewhere, err := redis.Open(t.Context(), address, &redis.Options{Prefix: prefix})
	must(t, err)
	defer elsewhere.Close()
	id := "{odd}:" + uuid.NewString()
	_, err = elsewhere.CreateThread(t.Context(), state.NewThread{ID: id})
	must(t, err)

	asked, stop := worker.NotifyCancel(id)
	also, stopAlso := worker.NotifyCancel(id)
	other, stopOther := worker.NotifyCancel("other")
	defer stopOther()
	for _, c := range []<-chan struct{}{asked, also, other} {
		wantNotice(t, c) // the subscription stands; what came before it was not told
	}
	waitSubscribed(t, prefix, 1)
	must(t, elsewhere.RequestCancel(t.Context(), id))
	wantNotice(t, asked)
	wantNotice(t, also)
	wantNoNotice(t, other)

	stop()
	stop() // twice is once
	must(t, elsewhere.RequestCancel(t.Context(), id))
	wantNotice(t, also)
	wantNoNotice(t, asked)
	stopAlso()
}

func TestSubscriptionLastsAsLongAsSomebodyListens(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	s, prefix := listening(t, server.Address(), nil)
	for range 3 {
		_, stopA := s.NotifyCancel("a")
		_, stopB := s.NotifyCancel("b")
		waitSubscribed(t, prefix, 1)
		stopA()
		_, stopC := s.NotifyCancel("c")
		stopB()
		waitSubscribed(t, prefix, 1)
		stopC()
		waitSubscribed(t, prefix, 0)
	}
	_, stop := s.NotifyCancel("a")
	defer stop()
	waitSubscribed(t, prefix, 1)
	must(t, s.Close())
	waitSubscribed(t, prefix, 0)
	asked, stopLate := s.NotifyCancel("late")
	stopLate()
	wantNoNotice(t, asked)
	waitSubscribed(t, prefix, 0)
}

// lines is a log that can be read while it is written.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lines) count(what string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), what)
}

func TestSubscriptionComesBackAndAnOutageIsLoggedOnce(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	p := redistest.NewProxy(t, server.Addr())
	var log lines
	s, prefix := listening(t, p.Address(), slog.New(slog.NewTextHandler(&log, nil)))
	asked, stop := s.NotifyCancel("t")
	defer stop()
	for outage := 1; outage <= 2; outage++ {
		waitSubscribed(t, prefix, 1)
		p.Refuse()
		waitSubscribed(t, prefix, 0)
		// Long enough for several tries.
		eventually(t, "the outage is logged", func() bool { return log.count("do not arrive") == outage })
		time.AfterFunc(300*time.Millisecond, p.Accept)
		waitSubscribed(t, prefix, 1)
		server.Do("PUBLISH", prefix+":cancel", "t")
		wantNotice(t, asked)
		eventually(t, "its end is logged", func() bool { return log.count("arrive again") == outage })
		if got := log.count("do not arrive"); got != outage {
			t.Errorf("%d warnings after %d outages", got, outage)
		}
	}
}
