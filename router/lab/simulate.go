package lab

import "context"

// outcome is what one run came to.
type outcome struct{}

func simulate(ctx context.Context, s *Scenario, policy string, seed uint64) (*outcome, error) {
	return &outcome{}, ctx.Err()
}

func summarise(s *Scenario, policies []string, seeds []uint64, results [][]*outcome) Report {
	return Report{Scenario: s.Name, About: s.About, Seeds: seeds, Watch: s.Watch}
}
