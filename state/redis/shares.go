package redis

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"junction/state"
)

var _ state.ShareStore = (*Store)(nil)

var sharesScript = load("shares.lua", false)

// mostShared bounds the bytes of others' shares in one reply: what comes after
// waits for a later call, whose window begins elsewhere.
const mostShared = 64 << 10

// Exchange implements [state.ShareStore]. It is a script of about ten commands and one
// more for each worker it returns.
func (s *Store) Exchange(ctx context.Context, worker string, shares []state.Share, keep time.Duration) ([]state.Shared, error) {
	if err := state.CheckShares(worker, shares, keep); err != nil {
		return nil, err
	}
	data, err := json.Marshal(shares)
	if err != nil {
		return nil, fmt.Errorf("shares of worker %s: %w", worker, err)
	}
	const what = "exchange shares"
	reply, _, err := s.eval(ctx, what, sharesScript, []string{s.aliveKey(), s.sharesKey()},
		worker, data, micros(keep), state.MostSharers, mostShared, strconv.FormatFloat(s.tries.draw(), 'f', 9, 64))
	if err != nil {
		return nil, err
	}
	all, err := readShared(reply)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return all, nil
}

// readShared reads the number of others, then worker, age and shares of each.
func readShared(reply any) ([]state.Shared, error) {
	list, ok := reply.([]any)
	if !ok || len(list)%3 != 1 {
		return nil, fmt.Errorf("unexpected reply %v", reply)
	}
	texts := make([]string, len(list))
	for i, item := range list {
		if texts[i], ok = item.(string); !ok {
			return nil, fmt.Errorf("unexpected reply %v", reply)
		}
	}
	others, err := strconv.Atoi(texts[0])
	if err != nil {
		return nil, fmt.Errorf("number of workers: %w", err)
	}
	var all []state.Shared
	for i := 1; i < len(texts); i += 3 {
		age, err := strconv.ParseInt(texts[i+1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("age of shares: %w", err)
		}
		shared := state.Shared{Worker: texts[i], Age: time.Duration(age) * time.Microsecond, Others: others}
		if err := json.Unmarshal([]byte(texts[i+2]), &shared.Shares); err != nil {
			return nil, fmt.Errorf("%w: shares of worker %s: %w", state.ErrCorrupt, texts[i], err)
		}
		all = append(all, shared)
	}
	slices.SortFunc(all, func(a, b state.Shared) int { return cmp.Compare(a.Worker, b.Worker) })
	return all, nil
}
