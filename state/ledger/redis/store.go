package redis

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"strconv"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"junction/state"
	"junction/state/ledger"
)

// Each script is headed by its contract.
//
//go:embed scripts/*.lua
var scriptFiles embed.FS

var (
	claimScript   = load("claim.lua")
	commitScript  = load("commit.lua")
	findScript    = load("find.lua")
	releaseScript = load("release.lua")
	renewScript   = load("renew.lua")
)

func load(name string) *goredis.Script {
	var text []byte
	for _, file := range []string{"ledger.lua", name} {
		data, err := scriptFiles.ReadFile("scripts/" + file)
		if err != nil {
			panic(err) // embedded
		}
		text = append(append(text, data...), '\n')
	}
	return goredis.NewScript(string(text))
}

// DefaultPrefix begins every key unless New is told otherwise.
const DefaultPrefix = "ledger"

// Store is a ledger in Redis. It is safe for concurrent use.
type Store struct {
	client goredis.UniversalClient
	prefix string
}

var _ ledger.Store = (*Store)(nil)

// New returns a store over a client, which it does not close. Ledgers with the
// same prefix are one. prefix may be empty: DefaultPrefix.
func New(client goredis.UniversalClient, prefix string) *Store {
	if prefix == "" {
		prefix = DefaultPrefix
	}
	return &Store{client, prefix}
}

// keyOf is the place of a ledger's key: its hash, since a key may hold anything.
func (s *Store) keyOf(key string) string { return s.prefix + ":{" + state.Hash([]byte(key)) + "}" }

// Claim gives a free key to its owner.
func (s *Store) Claim(ctx context.Context, c ledger.Claim) (e ledger.Entry, mine bool, err error) {
	over := "0"
	if c.TakeOver {
		over = "1"
	}
	return s.entry(ctx, claimScript, c.Key, c.Owner, c.Key, c.Fingerprint, c.Receipt, c.Lease.Microseconds(), over, kept(c.Keeps))
}

// Find returns what is known of a key.
func (s *Store) Find(ctx context.Context, key string) (ledger.Entry, error) {
	e, _, err := s.entry(ctx, findScript, key)
	if err == nil && e.Key == "" {
		err = ledger.ErrNotFound
	}
	return e, err
}

// Renew lengthens a lease.
func (s *Store) Renew(ctx context.Context, key, owner string, lease, keeps time.Duration) error {
	return s.own(ctx, renewScript, key, owner, lease.Microseconds(), kept(keeps))
}

// Commit stores a result.
func (s *Store) Commit(ctx context.Context, key, owner string, result []byte, keeps time.Duration) error {
	return s.own(ctx, commitScript, key, owner, result, kept(keeps))
}

// Release frees a key, or leaves its claim without a lease.
func (s *Store) Release(ctx context.Context, key, owner string, unsure bool) error {
	stays := "0"
	if unsure {
		stays = "1"
	}
	return s.own(ctx, releaseScript, key, owner, stays, 0)
}

func (s *Store) own(ctx context.Context, script *goredis.Script, key string, args ...any) error {
	said, err := script.Run(ctx, s.client, []string{s.keyOf(key)}, args...).Text()
	switch {
	case err != nil:
		return shownError{err}
	case said == "lost":
		return ledger.ErrClaimLost
	}
	return nil
}

// entry runs a script that replies with an entry.
func (s *Store) entry(ctx context.Context, script *goredis.Script, key string, args ...any) (e ledger.Entry, mine bool, err error) {
	reply, err := script.Run(ctx, s.client, []string{s.keyOf(key)}, args...).Slice()
	if err != nil {
		return e, false, shownError{err}
	}
	if e, mine, err = read(reply); err != nil {
		return ledger.Entry{}, false, fmt.Errorf("what Redis keeps under %s: %w", s.keyOf(key), err)
	}
	return e, mine, nil
}

var errShape = errors.New("it is no entry of a ledger")

// read makes an entry of a reply: whether it is the asker's, the time, the fields.
func read(reply []any) (e ledger.Entry, mine bool, err error) {
	if len(reply) != 3 {
		return e, false, errShape
	}
	list, ok := reply[2].([]any)
	if !ok || len(list)%2 != 0 {
		return e, false, errShape
	}
	f := make(map[string]string, len(list)/2)
	for i := 0; i < len(list); i += 2 {
		name, _ := list[i].(string)
		f[name], _ = list[i+1].(string)
	}
	if len(f) == 0 {
		return e, false, nil
	}
	number := func(name string) int64 {
		n, bad := strconv.ParseInt(f[name], 10, 64)
		if bad != nil {
			err = errors.Join(err, fmt.Errorf("its field %s: %w", name, bad))
		}
		return n
	}
	stamp, _ := reply[1].(string)
	f["now"] = stamp
	e = ledger.Entry{
		Key: f["key"], Fingerprint: f["fp"], Receipt: f["receipt"], Owner: f["owner"],
		Claims: int(number("claims")), Executions: int(number("exec")), Claimed: time.UnixMicro(number("claimed")),
	}
	if _, e.Done = f["done"]; e.Done {
		e.Committed, e.Result = time.UnixMicro(number("done")), []byte(f["result"])
	} else {
		until := number("until")
		e.Until, e.Live = time.UnixMicro(until), until > number("now")
	}
	return e, reply[0] == "1", err
}

// kept is how long an entry is kept, in ms; 0: always.
func kept(keeps time.Duration) int64 {
	if keeps == ledger.Forever {
		return 0
	}
	return max(keeps.Milliseconds(), 1)
}
