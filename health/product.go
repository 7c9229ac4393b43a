package health

// Product is the default score:
//
//	success² × (median latency of the pool ÷ own) ÷ (1 + in flight ÷ concurrency)
//
// where concurrency is the declared one, else 8. A server without a latency
// sample counts as the median. The latency ratio is clamped to [1/50, 4]: a
// server four times as quick as its peers needs no more traffic to prove it.
//
// A stream of the tool's own errors must not attract traffic by being fast: such
// answers feed no latency, and a share of them that exceeds the pool's median by
// more than a tenth multiplies the score with the square of what remains.
type Product struct{}

const (
	defaultConcurrency = 8
	slowestRatio       = 0.02
	quickestRatio      = 4
	toolErrorTolerance = 0.1
	toolErrorFloor     = 0.05
)

// Name returns "product".
func (Product) Name() string { return "product" }

// Windows returns false: averages are all it uses.
func (Product) Windows() bool { return false }

// Rate implements [Score].
func (Product) Rate(pool []Member, out, scratch []float64) {
	latency, illness := productMedians(pool, scratch)
	for i := range pool {
		s, l, t, c := productTerms(&pool[i], latency, illness)
		out[i] = s * l * t * c
	}
}

// Terms returns success, latency, answers and load, whose product is the score.
func (Product) Terms(pool []Member, i int) map[string]float64 {
	latency, illness := productMedians(pool, make([]float64, len(pool)))
	s, l, t, c := productTerms(&pool[i], latency, illness)
	return map[string]float64{"success": s, "latency": l, "answers": t, "load": c}
}

// productMedians returns the pool's median latency in nanoseconds, 0 when
// nobody has a sample, and its median share of tools' own errors.
func productMedians(pool []Member, scratch []float64) (latency, toolErrors float64) {
	n := 0
	for i := range pool {
		if pool[i].Latency > 0 {
			scratch[n] = float64(pool[i].Latency)
			n++
		}
	}
	latency = median(scratch[:n])
	for i := range pool {
		scratch[i] = pool[i].ToolErrors
	}
	return latency, median(scratch[:len(pool)])
}

func productTerms(m *Member, medianLatency, medianToolErrors float64) (success, latency, answers, load float64) {
	success = clamp(m.Success) * clamp(m.Success)
	latency = 1
	if m.Latency > 0 {
		// An old sample counts less: without news a server is thought of as the
		// median again, so it is tried again.
		own := medianLatency + (float64(m.Latency)-medianLatency)*m.Memory
		latency = min(max(medianLatency/own, slowestRatio), quickestRatio)
	}
	answers = 1
	if excess := m.ToolErrors - medianToolErrors; excess > toolErrorTolerance {
		answers = max((1-excess)*(1-excess), toolErrorFloor)
	}
	concurrency := m.MaxConcurrent
	if concurrency <= 0 {
		concurrency = defaultConcurrency
	}
	load = 1 / (1 + float64(max(m.InFlight, 0))/float64(concurrency))
	return success, latency, answers, load
}
