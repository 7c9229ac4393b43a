package lab

import (
	"math"
	"slices"
	"time"

	"junction/health"
	"junction/router"
)

// Default is the policy of a router whose options say nothing.
const Default = "default"

// Policy is a way of choosing that can be compared.
type Policy struct {
	Name  string
	About string
	make  func(*knowledge) router.Choosing
}

// knowledge is what a policy may look at beside the health of the candidates, by
// candidate of one router.
type knowledge struct {
	capacity func(candidate int) float64           // the true one at this moment, calls a second
	declared func(candidate int, m *health.Member) // fills in what is not declared with the truth at the start
	ended    []func(candidate int, now time.Time, took time.Duration)
}

// Policies are those that can be compared, the default first.
func Policies() []Policy { return slices.Clone(policies) }

// PolicyNames are the names of the policies, the default first.
func PolicyNames() []string {
	all := make([]string, len(policies))
	for i, p := range policies {
		all[i] = p.Name
	}
	return all
}

var policies = []Policy{
	{Default, "weighted random by the default score", func(*knowledge) router.Choosing { return router.Choosing{} }},
	{"linear", "weighted random by the linear score, servers declaring the truth", func(k *knowledge) router.Choosing {
		return router.Choosing{Score: linear{k}}
	}},
	{"linear-excess", "the same by what exceeds 0.65", func(k *knowledge) router.Choosing {
		return router.Choosing{Score: linear{k}, Transform: router.Excess(0)}
	}},
	{"uniform", "random", func(*knowledge) router.Choosing { return router.Choosing{Score: even} }},
	{"two-choice", "of two at random the one with fewer calls in flight", func(*knowledge) router.Choosing {
		return router.Choosing{Score: even, Picker: router.LeastLoaded{}}
	}},
	{"least-loaded", "of two drawn by the default score the one with fewer calls in flight", func(*knowledge) router.Choosing {
		return router.Choosing{Picker: router.LeastLoaded{}}
	}},
	{"true-weights", "weighted random by what the servers can do, which nobody knows in truth", func(k *knowledge) router.Choosing {
		return router.Choosing{Score: score{"true-weights", func(i int, _ *health.Member) float64 { return k.capacity(i) }}}
	}},
	{"success-only", "weighted random by the share of successes", func(*knowledge) router.Choosing {
		return router.Choosing{Score: score{"success-only", func(_ int, m *health.Member) float64 { return m.Success }}}
	}},
	{"power-4", "weighted random by the default score to the fourth power", func(*knowledge) router.Choosing {
		return router.Choosing{Transform: router.Power(4)}
	}},
	{"best-always", "the highest default score", func(*knowledge) router.Choosing { return router.Choosing{Picker: heaviest{}} }},
	{"join-shortest", "the fewest calls in flight", func(*knowledge) router.Choosing {
		return router.Choosing{Score: score{"join-shortest", func(_ int, m *health.Member) float64 { return 1 / float64(1+m.InFlight) }}, Picker: heaviest{}}
	}},
	{"peak-ewma", "of two at random the lower peak latency times calls in flight", newPeakEWMA},
}

func known(name string) bool { return slices.Contains(PolicyNames(), name) }

func policyNamed(name string) Policy {
	i := slices.IndexFunc(policies, func(p Policy) bool { return p.Name == name })
	return policies[i]
}

// score rates each member by itself.
type score struct {
	name string
	of   func(candidate int, m *health.Member) float64
}

var even = score{"even", func(int, *health.Member) float64 { return 1 }}

func (s score) Name() string { return s.name }
func (score) Windows() bool  { return false }

func (s score) Rate(pool []health.Member, out, _ []float64) {
	for i := range pool {
		out[i] = s.of(i, &pool[i])
	}
}

func (s score) TermNames() []string { return []string{s.name} }

func (s score) Terms(pool []health.Member, of []int, out, _ []float64) {
	for n, i := range of {
		out[n] = s.of(i, &pool[i])
	}
}

// linear is the linear score of servers that declare their P95 and concurrency: of
// those that declare nothing it says little.
type linear struct{ *knowledge }

func (linear) Name() string  { return "linear" }
func (linear) Windows() bool { return true }

func (l linear) Rate(pool []health.Member, out, _ []float64) {
	for i, m := range pool {
		l.declared(i, &m)
		out[i] = health.LinearScore(m)
	}
}

func (linear) TermNames() []string { return health.Linear{}.TermNames() }

func (l linear) Terms(pool []health.Member, of []int, out, scratch []float64) {
	pool = slices.Clone(pool)
	for i := range pool {
		l.declared(i, &pool[i])
	}
	health.Linear{}.Terms(pool, of, out, scratch)
}

// heaviest picks the greatest weight; of equals one at random.
type heaviest struct{}

func (heaviest) Name() string { return "heaviest" }

func (heaviest) Pick(weights []float64, seed uint64) (int, float64) {
	most, equals := 0.0, 0
	for _, w := range weights {
		switch {
		case w > most:
			most, equals = w, 1
		case w == most && w > 0:
			equals++
		}
	}
	draw := unit(seed) * float64(equals)
	n := int(draw)
	for i, w := range weights {
		if w != most {
			continue
		}
		if n == 0 {
			return i, draw
		}
		n--
	}
	return -1, draw
}

// peakEWMA follows latency up at once and down slowly, and takes of two the one at
// which that, times the calls there, is less.
type peakEWMA struct {
	cost []float64 // ns, by candidate; 0: nothing known
	last []time.Time
}

const peakDecay = 10 * time.Second

func newPeakEWMA(k *knowledge) router.Choosing {
	p := new(peakEWMA)
	k.ended = append(k.ended, p.ended)
	return router.Choosing{Score: even, Picker: p}
}

func (p *peakEWMA) ended(i int, now time.Time, took time.Duration) {
	for len(p.cost) <= i {
		p.cost, p.last = append(p.cost, 0), append(p.last, now)
	}
	kept := math.Exp(-now.Sub(p.last[i]).Seconds() / peakDecay.Seconds())
	if t := float64(took); t > p.cost[i] {
		p.cost[i] = t
	} else {
		p.cost[i] = p.cost[i]*kept + t*(1-kept)
	}
	p.last[i] = now
}

func (*peakEWMA) Name() string { return "peak-ewma" }

func (*peakEWMA) Pick(weights []float64, seed uint64) (int, float64) {
	return router.WeightedRandom{}.Pick(weights, seed)
}

func (p *peakEWMA) PickMember(weights []float64, members []health.Member, seed uint64) (int, float64) {
	one, draw := router.WeightedRandom{}.Pick(weights, seed)
	two, _ := router.WeightedRandom{}.Pick(weights, spread(seed))
	if two >= 0 && p.costOf(two, members) < p.costOf(one, members) {
		return two, draw
	}
	return one, draw
}

func (p *peakEWMA) costOf(i int, members []health.Member) float64 {
	cost := 0.0
	if i < len(p.cost) {
		cost = p.cost[i]
	}
	return cost * float64(members[i].InFlight+1)
}
