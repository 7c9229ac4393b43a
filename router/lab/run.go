package lab

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
)

// Seeds are n seeds from the first on.
func Seeds(first uint64, n int) []uint64 {
	all := make([]uint64, n)
	for i := range all {
		all[i] = first + uint64(i)
	}
	return all
}

// Run simulates the scenario under each policy with each seed, as many at once as
// there are processors, and reports. Without policies it takes the scenario's own.
// Policies that a check is made against run too and are in the report. Errors are
// those of ctx, of a policy that does not exist and of a scenario that cannot be run.
func Run(ctx context.Context, s Scenario, policies []string, seeds []uint64) (Report, error) {
	return RunWith(ctx, s, policies, seeds, nil)
}

// RunWith is Run that calls done, one call at a time, after each of the runs.
func RunWith(ctx context.Context, s Scenario, policies []string, seeds []uint64, done func(finished, all int)) (Report, error) {
	s = s.withDefaults()
	if err := s.validate(); err != nil {
		return Report{}, err
	}
	if len(policies) == 0 {
		policies = s.Policies
	}
	policies = slices.Clone(policies)
	for _, c := range s.Gate {
		if c.Of != "" && !slices.Contains(policies, c.Of) {
			policies = append(policies, c.Of)
		}
	}
	for i, name := range policies {
		switch {
		case !known(name):
			return Report{}, &UnknownPolicyError{Name: name}
		case slices.Contains(policies[:i], name):
			return Report{}, fmt.Errorf("the policy %s is named twice", name)
		}
	}
	if len(seeds) == 0 {
		return Report{}, fmt.Errorf("scenario %s: at least one seed is needed", s.Name)
	}
	results, err := simulateAll(ctx, &s, policies, seeds, done)
	if err != nil {
		return Report{}, err
	}
	return summarise(&s, policies, seeds, results), nil
}

// simulateAll returns the outcomes by policy and seed.
func simulateAll(ctx context.Context, s *Scenario, policies []string, seeds []uint64, done func(finished, all int)) ([][]*outcome, error) {
	results := make([][]*outcome, len(policies))
	for p := range results {
		results[p] = make([]*outcome, len(seeds))
	}
	var mu sync.Mutex
	next, finished, all := 0, 0, len(policies)*len(seeds)
	var failed error
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		if next == all || failed != nil {
			return -1
		}
		next++
		return next - 1
	}
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		finished++
		if err != nil && failed == nil {
			failed = err
		}
		if err == nil && done != nil {
			done(finished, all)
		}
	}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), all) {
		workers.Go(func() {
			for n := take(); n >= 0; n = take() {
				p, seed := n/len(seeds), n%len(seeds)
				o, err := simulate(ctx, s, policies[p], seeds[seed])
				results[p][seed] = o
				note(err)
			}
		})
	}
	workers.Wait()
	return results, failed
}

// UnknownPolicyError is a policy that does not exist.
type UnknownPolicyError struct{ Name string }

func (e *UnknownPolicyError) Error() string {
	return fmt.Sprintf("there is no policy %q (there are %v)", e.Name, PolicyNames())
}
