// Package wire joins the packages into a running Junction: it opens the store,
// reads the servers file and builds the router over MCP.
package wire

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"junction/state"
	"junction/state/memory"
	"junction/state/redis"
	"junction/state/sqlite"
)

// DefaultStore is used where neither a flag nor the servers file names one.
const DefaultStore = "sqlite:" + defaultPath

const defaultPath = ".junction/state.db"

var (
	// ErrNoStore: a verb that only reads found no database.
	ErrNoStore = errors.New("no store")
	// ErrAddress: a store's address cannot be understood.
	ErrAddress = errors.New("bad store address")
)

// PasswordEnv is the environment variable that a Redis password is taken from
// where the address holds none: addresses show in lists of processes.
const PasswordEnv = "JUNCTION_REDIS_PASSWORD"

// OpenStore opens the store an address names: "sqlite:PATH" (relative to the
// working directory), "memory:", or one of Redis (see package redis). "" is
// DefaultStore. log gets warnings of the store's settings; nil: nobody does.
func OpenStore(ctx context.Context, address string, log *slog.Logger) (state.Store, error) {
	scheme, path, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	switch scheme {
	case "memory":
		return memory.New(nil), nil
	case "redis":
		return redis.Open(ctx, address, &redis.Options{Password: os.Getenv(PasswordEnv), Log: log})
	}
	if err := ignoredByGit(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	return sqlite.Open(ctx, path, nil)
}

// ignoredByGit creates the directory of the default store, where it is missing,
// so that git leaves it out: threads hold what a workflow has read, and are made
// in the middle of somebody's repository.
func ignoredByGit(dir string) error {
	if filepath.Base(dir) != filepath.Dir(defaultPath) {
		return nil
	}
	if err := os.Mkdir(dir, 0o700); errors.Is(err, os.ErrExist) || errors.Is(err, os.ErrNotExist) {
		return nil // there already, or below what the store itself will create or refuse
	} else if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("*\n"), 0o600)
}

// OpenExisting is OpenStore for verbs that only read: it creates no file.
func OpenExisting(ctx context.Context, address string, log *slog.Logger) (state.Store, error) {
	scheme, path, err := parseAddress(address)
	if err != nil {
		return nil, err
	}
	if scheme == "sqlite" {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%w at %s: nothing has been run with it", ErrNoStore, path)
		}
	}
	return OpenStore(ctx, address, log)
}

// parseAddress splits an address into its scheme and, for SQLite, the file.
func parseAddress(address string) (scheme, path string, err error) {
	if address == "" {
		address = DefaultStore
	}
	scheme, rest, found := strings.Cut(address, ":")
	rest = strings.TrimPrefix(rest, "//")
	switch {
	case redis.IsAddress(address):
		return "redis", "", nil
	case !found && strings.ContainsAny(address, "@?"):
		return "", "", fmt.Errorf("%w: no scheme: write redis://USER:PASSWORD@HOST:PORT", ErrAddress)
	case !found:
		return "", "", fmt.Errorf("%w %q: no scheme: write sqlite:%s, redis://HOST:PORT, or memory: for none that lasts", ErrAddress, address, address)
	case scheme == "memory":
		return scheme, "", nil
	case scheme == "sqlite" && rest == "":
		return "", "", fmt.Errorf("%w %q: no file: write for example %s", ErrAddress, address, DefaultStore)
	case scheme == "sqlite":
		path, err := filepath.Abs(rest)
		return scheme, path, err
	}
	return "", "", fmt.Errorf("%w %q: unknown scheme: there are sqlite:PATH, redis://, rediss://, redis-cluster://, redis-sentinel:// and memory: only", ErrAddress, redact(address))
}

// Redact is the address for people and for commands they can repeat: without a
// password, which then comes from PasswordEnv.
func Redact(address string) string {
	if redis.IsAddress(address) {
		return redis.Redact(address)
	}
	return address
}

// redact keeps of an address that is not understood what can be no password: a
// part of it may be one, and which cannot be told.
func redact(address string) string {
	scheme, _, found := strings.Cut(address, "://")
	if !found || strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+-.") != "" {
		return "…"
	}
	return scheme + "://…"
}
