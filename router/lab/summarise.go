package lab

import (
	"fmt"
	"math"
	"slices"
)

func summarise(s *Scenario, policies []string, seeds []uint64, results [][]*outcome) Report {
	r := Report{Scenario: s.Name, About: s.About, Seeds: slices.Clone(seeds), Watch: s.Watch, FairAt: results[0][0].fair}
	if s.Watch != "" {
		r.Trouble = s.spans()
	}
	for p, name := range policies {
		all := PolicyReport{Policy: name, Series: secondsOf(results[p])}
		for _, m := range Metrics() {
			if f, ok := figureOf(m, results[p]); ok {
				all.Figures = append(all.Figures, f)
			}
		}
		r.Policies = append(r.Policies, all)
	}
	for p, name := range policies {
		for _, c := range s.Gate {
			if name == c.Of {
				continue
			}
			r.Verdicts = append(r.Verdicts, c.judge(name, results[p], results[max(slices.Index(policies, c.Of), 0)]))
		}
	}
	return r
}

// spans are the times in which the watched server is not what it usually is.
func (s *Scenario) spans() []Span {
	var all []Span
	for i := range s.Servers {
		v := &s.Servers[i]
		if !slices.Contains(v.names(), s.Watch) {
			continue
		}
		for _, c := range v.Changes {
			to := s.Duration
			if c.For > 0 {
				to = min(to, c.At+c.For)
			}
			all = append(all, Span{c.At.Seconds(), to.Seconds()})
		}
	}
	return all
}

// judge applies a check to a policy's runs; of are those of the policy it names.
func (c Check) judge(policy string, runs, of []*outcome) Verdict {
	f := Figure{Metric: c.Metric, Unit: c.Metric.Unit()}
	if c.Of == "" {
		f, _ = figureOf(c.Metric, runs)
	} else {
		ratios := make([]float64, len(runs))
		for i := range runs {
			ratios[i] = runs[i].figures[c.Metric] / of[i].figures[c.Metric]
		}
		f.Unit = ""
		f.Mean, f.Low, f.High = interval(ratios)
	}
	v := Verdict{Policy: policy, Check: c.String(), Figure: f}
	switch {
	case c.AtMost != nil:
		v.Limit = *c.AtMost
		v.Holds = f.Mean <= v.Limit
	case c.AtLeast != nil:
		v.Limit = *c.AtLeast
		v.Holds = f.Mean >= v.Limit
	}
	return v
}

// String is the check for people, such as "p99 ≤ 1.1 × true-weights".
func (c Check) String() string {
	sign, limit := "≤", c.AtMost
	if c.AtLeast != nil {
		sign, limit = "≥", c.AtLeast
	}
	if limit == nil {
		return string(c.Metric)
	}
	if c.Of != "" {
		return fmt.Sprintf("%s %s %v × %s", c.Metric, sign, *limit, c.Of)
	}
	text := fmt.Sprintf("%s %s %v", c.Metric, sign, *limit)
	if unit := c.Metric.Unit(); unit != "" {
		text += " " + unit
	}
	return text
}

func figureOf(m Metric, runs []*outcome) (Figure, bool) {
	f := Figure{Metric: m, Unit: m.Unit()}
	var xs []float64
	for _, o := range runs {
		if x, ok := o.figures[m]; ok {
			xs = append(xs, x)
			if o.never[m] {
				f.Never++
			}
		}
	}
	if len(xs) == 0 {
		return f, false
	}
	f.Mean, f.Low, f.High = interval(xs)
	return f, true
}

// secondsOf is the series of a policy's runs.
func secondsOf(runs []*outcome) []Second {
	all := make([]Second, len(runs[0].seconds))
	n := float64(len(runs))
	for i := range all {
		all[i].At = float64(i)
		var took []float32
		calls, errors, share := 0, 0, 0.0
		for _, o := range runs {
			calls += o.seconds[i].calls
			errors += o.seconds[i].errors
			took = append(took, o.seconds[i].took...)
			if o.shares != nil {
				share += o.shares[i]
			}
		}
		all[i].Calls, all[i].Share, all[i].P99 = float64(calls)/n, share/n, quantile(took, 0.99)
		if calls > 0 {
			all[i].Errors = float64(errors) / float64(calls)
		}
	}
	return all
}

// interval is the mean with its 95 % confidence interval.
func interval(xs []float64) (mean, low, high float64) {
	n := float64(len(xs))
	for _, x := range xs {
		mean += x / n
	}
	if len(xs) < 2 {
		return mean, mean, mean
	}
	sum := 0.0
	for _, x := range xs {
		sum += (x - mean) * (x - mean)
	}
	half := student(len(xs)-1) * math.Sqrt(sum/(n-1)/n)
	return mean, mean - half, mean + half
}

// student is the 97.5 % quantile of Student's t.
func student(freedom int) float64 {
	if freedom <= len(studentTable) {
		return studentTable[freedom-1]
	}
	return 1.96 + 2.4/float64(freedom) // within 0.002 from 30 on
}

var studentTable = [...]float64{
	12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
	2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
}
