package health

// Product is the default score:
//
//	success² × latency ÷ (1 + in flight ÷ concurrency)
//
// where concurrency is the declared one, else 16: a smaller one makes workers that
// know of their calls late run to whoever was idle.
//
// The latency term is the pool's median latency by the server's own, 1 for a server
// without a sample. Where that is less than a half it counts to the third power:
// a server that is several times slower than its peers is one to keep an eye on, with
// a few calls, not to send its share of the work to. The term is clamped to
// [1/500, 4]: a server four times as quick needs no more traffic to prove it.
//
// While calls are under way and none ends, the own latency grows with every moment
// and every call (as far as there are places), by seven
// tenths of the time that they have spent so together. So a server that hangs is left
// within a few of its usual latencies, before its first slow answer is in.
//
// A stream of the tool's own errors must not attract traffic by being fast: such
// answers feed no latency, and a share of them that exceeds the pool's median by
// more than a tenth multiplies the score with the square of what remains.
type Product struct{}

const (
	defaultConcurrency = 16
	slowRatio          = 2    // of the median latency; beyond it counts cubed
	slowestRatio       = 500  // what that may come to
	quickestRatio      = 0.25 // of the median latency
	silenceGain        = 0.7  // of the time calls have waited for one of them to end
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
		quality, own, places, taken := productFactors(&pool[i], latency, illness)
		// One division for the whole: this runs for every candidate.
		out[i] = quality * latency * places / (own * (places + taken))
	}
	if len(pool) > 1 {
		scratch[0], scratch[1] = latency, illness // for Terms
	}
}

var productTerms = []string{"success", "answers", "latency", "load"}

// TermNames returns success, answers, latency and load, whose product is the score.
func (Product) TermNames() []string { return productTerms }

// Terms implements [Score].
func (Product) Terms(pool []Member, of []int, out, scratch []float64) {
	var latency, illness float64
	if len(pool) > 1 {
		latency, illness = scratch[0], scratch[1]
	} else {
		latency, illness = productMedians(pool, scratch)
	}
	for n, i := range of {
		quality, own, places, taken := productFactors(&pool[i], latency, illness)
		success, answers := pool[i].Success*pool[i].Success, 1.0
		if success > 0 {
			answers = quality / success
		}
		terms := out[n*len(productTerms):][:len(productTerms)]
		terms[0], terms[1], terms[2], terms[3] = success, answers, latency/own, places/(places+taken)
	}
}

// productMedians returns the pool's median latency in nanoseconds, 1 when
// nobody has a sample, and its median share of tools' own errors.
func productMedians(pool []Member, scratch []float64) (latency, toolErrors float64) {
	n, most := 0, 0.0
	for i := range pool {
		if pool[i].Latency > 0 {
			scratch[n] = float64(pool[i].Latency)
			n++
		}
		if pool[i].ToolErrors > most {
			most = pool[i].ToolErrors
		}
	}
	latency = 1
	if n > 0 {
		latency = median(scratch[:n])
	}
	if most <= toolErrorTolerance {
		return latency, 0 // nobody can exceed the others by more
	}
	for i := range pool {
		scratch[i] = pool[i].ToolErrors
	}
	return latency, median(scratch[:len(pool)])
}

// productFactors returns success² × answers, what the own latency counts as, in
// nanoseconds, the places a server has and those taken.
func productFactors(m *Member, medianLatency, medianToolErrors float64) (quality, own, places, taken float64) {
	quality, own, places = m.Success*m.Success, medianLatency, defaultConcurrency
	if m.MaxConcurrent > 0 {
		places = float64(m.MaxConcurrent)
	}
	if m.Latency > 0 {
		// An old sample counts less: without news a server is thought of as the
		// median again, so it is tried again.
		own += (float64(m.Latency) - medianLatency) * m.Memory
	}
	if m.Silence > 0 && medianLatency > 1 { // 1: nobody has a sample
		own += silenceGain * float64(m.Silence) * min(float64(m.Open), places)
	}
	slow := slowRatio * medianLatency
	if own > slow {
		if r := own / slow; r < slowestRatio { // so that its cube is finite
			own *= r * r
		}
		own = min(own, slowestRatio*medianLatency)
	} else if quickest := medianLatency * quickestRatio; own < quickest {
		own = quickest
	}
	if excess := m.ToolErrors - medianToolErrors; excess > toolErrorTolerance {
		quality *= max((1-excess)*(1-excess), toolErrorFloor)
	}
	return quality, own, places, float64(max(m.InFlight, 0))
}
