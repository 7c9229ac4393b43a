// Package lab asks what a way of choosing servers would do, and answers within
// seconds: it simulates servers and callers, event by event on a virtual clock,
// around the very arithmetic that hops are decided by ([router.Candidates],
// [health.Tracker], [router.RetryBudget], [router.RetryTable], [router.Backoff]).
// Servers are a model; what chooses among them is not.
//
//	all, err := lab.Gate("G3")
//	report, err := lab.Run(ctx, all[0], []string{"default", "uniform"}, lab.Seeds(1, 20))
//
// The same scenario, policies and seeds give the same report, byte for byte, however
// many processors there are. (Another kind of processor may round another way.)
//
// # A scenario file
//
//	lab: G3                          # its name
//	about: one server ten times slower for a minute
//	duration: 120s                   # calls arrive from 0 to here
//	warmup: 10s                      # those that arrive earlier are not measured
//	calls: {load: 0.6}               # of what the servers could do in order, or
//	                                 # {rate: 1000} a second, or
//	                                 # {rates: [{at: 0s, rate: 10}, {at: 60s, rate: 90}]}
//	routers: 1                       # that know nothing of each other
//	load_age: 5s                     # how many calls are in flight is known so late
//	news_age: 5s                     # how they ended, too
//	share: 500ms                     # routers tell each other so often; unsaid: never
//	attempts: 3                      # per call, the first one too
//	effect: safe                     # safe, conditional or unsafe
//	timeout: 5m                      # of an attempt
//	hedge: {after: p95}              # a second request past this quantile, or after a time
//	retry_share: 0.2                 # of the calls that may be retries
//	retry_floor: 3                   # that may be so at once
//	slow: 1s                         # what over and within count
//	watch: odd                       # the server whose share is followed
//	settle: 3s                       # its share counts from so long after its trouble began
//	servers:
//	  - {name: even, count: 9, workers: 8, time: 100ms}
//	  - name: odd                    # unless said, workers: 8, time: 100ms
//	    spread: exponential          # or fixed, or lognormal with sigma
//	    latency_p95: 300ms           # declared
//	    max_concurrent: 8            # declared
//	    weight: 1                    # declared
//	    joins: 20s                   # unless it is there from the start
//	    leaves: 90s                  # unless it stays
//	    speed: 1                     # how it behaves, here and in changes:
//	    changes:                     # each stands for as long as it lasts, alone
//	      - {at: 30s, for: 60s, speed: 0.1}
//	policies: [default, uniform]     # that are compared unless others are named
//	gate:                            # what must hold for the first policy
//	  - {metric: over, at_most: 0.002}
//	  - {metric: p99, at_most: 1.1, of: true-weights} # times that policy's figure
//	cases:                           # unless it is one scenario: what differs
//	  - {name: hedged, hedge: {after: p95}}
//
// How a server behaves: speed (times the usual one), time (the mean instead),
// stuck (every call takes so long), fails (the share of calls that fail, as a server
// error of unknown outcome) with fails_in (so quickly; unsaid: as an answer takes),
// tool_errors and tool_errors_in (answers that say isError), down: true (refuses, and
// what it was doing is lost).
//
// # The model
//
// A server works on as many calls at once as it has workers, in the order in which
// they came; there is no network. How long a call takes, and whether it fails, is
// drawn when its work begins, from the seed, the call and the attempt, so that
// policies meet the same luck. A call that nobody waits for any more leaves the
// queue; work that has begun goes on to its end, since a server need not listen.
// Calls arrive by a Poisson process.
package lab
