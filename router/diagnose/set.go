package diagnose

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"junction/router"
)

// atOnce is how many servers are diagnosed at the same time.
const atOnce = 8

// Servers diagnoses several at once; the reports are in their order. Where they are
// instances of one service, what an instance says of itself is held against what most
// of the others say.
func Servers(ctx context.Context, all []*router.Server, o *Options) []*Report {
	reports := make([]*Report, len(all))
	slots := make(chan struct{}, atOnce)
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			reports[i] = Server(ctx, s, o)
		})
	}
	wg.Wait()
	if len(all) > 1 && !slices.ContainsFunc(all, func(s *router.Server) bool { return s.Name != all[0].Name }) {
		compare(reports)
	}
	return reports
}

// compare names instances that say something else than the others.
func compare(reports []*Report) {
	most := usual(reports)
	if most == nil {
		return
	}
	for _, r := range reports {
		if r.tools == nil || r.Hash == most.Hash {
			continue
		}
		all := most.tools.differences(r.tools)
		if len(all) == 0 {
			continue // what differs is none of what calls go by
		}
		cause := fmt.Sprintf("it is unlike %s, an instance of the same service: %s", clean(most.Server), some(all))
		l := r.Layer(ContextHash)
		if r.Version != most.Version {
			l.add(warned(cause, "let the rollout end; until then a call may find one version or the other"))
		} else {
			l.add(failed(cause, "give it another version, or the same build as the others: what is called by one schema may be refused by the other"))
		}
		r.conclude()
	}
}

// usual is the first report of those that agree most.
func usual(reports []*Report) *Report {
	votes := map[string]int{}
	for _, r := range reports {
		if r.tools != nil {
			votes[r.Hash]++
		}
	}
	var best *Report
	for _, r := range slices.Backward(reports) {
		if r.tools != nil && (best == nil || votes[r.Hash] >= votes[best.Hash]) {
			best = r
		}
	}
	return best
}
