package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"junction/cmd/junction/internal/wire"
	"junction/state"
	"junction/state/value"
)

// storeFlags name the store; every verb that reads or writes threads has them.
type storeFlags struct {
	Store string `placeholder:"ADDRESS" env:"JUNCTION_STORE" help:"Where threads are kept: sqlite:PATH, redis://HOST:PORT (rediss://, redis-cluster://, redis-sentinel://) for a fleet, or memory: for none that lasts. Default: sqlite:.junction/state.db, or for run and serve what the servers file says. A Redis password may come from JUNCTION_REDIS_PASSWORD."`
	JSON  bool   `name:"json" help:"Print one JSON document on stdout and nothing else there."`
}

// withStore opens the store for a verb that runs nothing: it creates none, and
// the first signal ends what it does.
func (f storeFlags) withStore(ctx context.Context, con console, do func(context.Context, state.Store) error) error {
	ctx, cancel := untilDrain(ctx)
	defer cancel()
	store, err := wire.OpenExisting(ctx, f.Store, nil) // who runs threads is warned of its settings
	if err != nil {
		return wireError(err)
	}
	defer closeStore(store, con)
	return do(ctx, store)
}

// configFlag names the servers file.
type configFlag struct {
	Config string `placeholder:"FILE" type:"path" help:"Servers file. Default: junction.yaml beside the workflow file, else in the user's configuration directory."`
	Consul string `placeholder:"URL" help:"Consul whose services tagged mcp are servers too, for example http://127.0.0.1:8500. Default: what the servers file says."`
}

// runFlags are shared by run and resume.
type runFlags struct {
	Timeout time.Duration `placeholder:"D" help:"Longest time this run may take, for example 10m."`
	Yes     bool          `help:"Answer yes to yes-or-no questions."`
	Lease   time.Duration `default:"10s" help:"Time to live of the thread's lease: how long another process waits after this one has died. Workers have their own."`
	Detach  bool          `help:"Leave the thread to the workers (junction serve) of a shared store, and return at once."`
}

// check refuses flags that do not go together.
func (f runFlags) check() error {
	if f.Detach && (f.Yes || f.Timeout > 0) {
		return errors.New("--detach: --yes and --timeout belong to a run that this command waits for; leave them out")
	}
	return checkLease(f.Lease)
}

func checkLease(d time.Duration) error {
	if d < time.Second {
		return fmt.Errorf("--lease %s: at least 1s, or a slow moment loses threads", d)
	}
	return nil
}

// parseSets reads --set key=value; a value @FILE is the file's text, and @@
// begins a value that starts with a literal @. Every fault is reported.
func parseSets(sets []string) (map[string]any, []error) {
	values := map[string]any{}
	var faults []error
	for _, s := range sets {
		key, text, found := strings.Cut(s, "=")
		switch {
		case !found || key == "":
			faults = append(faults, fmt.Errorf("--set %q: write key=value, for example --set repo=PATH", s))
			continue
		case strings.HasPrefix(text, "@@"):
			text = text[1:]
		case strings.HasPrefix(text, "@"):
			data, err := os.ReadFile(text[1:])
			if err != nil {
				faults = append(faults, fmt.Errorf("--set %s: %w", key, err))
				continue
			}
			text = string(data)
		}
		if _, twice := values[key]; twice {
			faults = append(faults, fmt.Errorf("--set %s is given twice", key))
			continue
		}
		values[key] = text
	}
	return values, faults
}

// readInput reads --input: a JSON object of channel → value.
func readInput(path string) (map[string]any, error) {
	if path == "" {
		return map[string]any{}, nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--input: %w", err)
	}
	v, err := value.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("--input %s: %w", path, err)
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf(`--input %s: it must hold an object such as {"repo": "."}`, path)
	}
	return m, nil
}

// parseAnswers reads --answer [ID=]JSON; an answer without an id has the key "".
// A word that is no JSON is taken as a string.
func parseAnswers(answers []string) (map[string]json.RawMessage, error) {
	parsed := map[string]json.RawMessage{}
	for _, a := range answers {
		id, text := "", a
		if before, after, found := strings.Cut(a, "="); found && isID(before) {
			id, text = before, after
		}
		raw := json.RawMessage(text)
		if !json.Valid(raw) {
			if strings.ContainsAny(text, `{}[]"`) {
				return nil, fmt.Errorf("--answer %q is no valid JSON: write for example --answer true or --answer ID='{\"choice\":\"again\"}'", a)
			}
			quoted, err := value.Encode(text)
			if err != nil {
				return nil, err
			}
			raw = quoted
		}
		if _, twice := parsed[id]; twice {
			return nil, fmt.Errorf("--answer: two answers for %s", orWord(id, "the same question"))
		}
		parsed[id] = raw
	}
	return parsed, nil
}

// isID reports whether s can be an interrupt's id: letters, digits, - and _.
func isID(s string) bool {
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' {
			return false
		}
	}
	return s != ""
}

func orWord(s, word string) string {
	if s == "" {
		return word
	}
	return s
}

// parsePairs reads key=value flags into attributes; a key given again becomes
// a list of which any may match.
func parsePairs(flag string, pairs []string) (map[string]any, error) {
	m := map[string]any{}
	for _, p := range pairs {
		k, v, found := strings.Cut(p, "=")
		if !found || k == "" {
			return nil, fmt.Errorf("--%s %q: write key=value, for example --%s language=go", flag, p, flag)
		}
		switch old := m[k].(type) {
		case nil:
			m[k] = v
		case []any:
			m[k] = append(old, v)
		default:
			m[k] = []any{old, v}
		}
	}
	return m, nil
}
