package plot

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"junction/router/lab"
)

func report(policies ...string) *lab.Report {
	r := &lab.Report{Scenario: "G3 <slow>", About: "one & all", Seeds: []uint64{1, 2}, Watch: "odd", FairAt: 0.1, Trouble: []lab.Span{{From: 2, To: 6}}}
	for i, name := range policies {
		p := lab.PolicyReport{Policy: name}
		for s := range 10 {
			p.Series = append(p.Series, lab.Second{At: float64(s), Calls: 480, P99: float64(400 + 100*s*(i+1)), Errors: 0.01 * float64(i), Share: 0.1})
		}
		p.Series[4].P99 = 0
		r.Policies = append(r.Policies, p)
	}
	return r
}

func draw(t *testing.T, r *lab.Report) string {
	t.Helper()
	var out bytes.Buffer
	if err := Draw(&out, r); err != nil {
		t.Fatal(err)
	}
	d := xml.NewDecoder(bytes.NewReader(out.Bytes()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return out.String()
		} else if err != nil {
			t.Fatalf("it is no XML: %v", err)
		}
	}
}

func TestAPlotNamesWhatItShows(t *testing.T) {
	t.Parallel()
	svg := draw(t, report("default", "uniform"))
	for _, want := range []string{">default<", ">uniform<", "G3 &lt;slow&gt;", "one &amp; all", "mean of 2 seeds", "share of requests sent to odd", ">P99 of", ">ms<", ">%<", "s since the beginning", ">trouble<", ">fair share<"} {
		if !strings.Contains(svg, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if n := strings.Count(svg, "<path "); n != 6 {
		t.Errorf("%d lines, of 2 policies in 3 charts", n)
	}
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") {
		t.Error("a number is none")
	}
}

func TestASecondWithoutAnAnswerIsAGap(t *testing.T) {
	t.Parallel()
	xs, _ := linear(10, 0, 100)
	ys, _ := logarithmic(100, 1000, 100, 0)
	r := report("default")
	got := pieces(r.Policies[0].Series, panelsOf(r)[1], xs, ys)
	if len(got) != 2 || len(got[0]) != 4 || len(got[1]) != 5 {
		t.Errorf("%v", got)
	}
}

func TestWithoutAWatchedServerThereIsNoShare(t *testing.T) {
	t.Parallel()
	r := report("default")
	r.Watch = ""
	if svg := draw(t, r); strings.Contains(svg, "share of") || strings.Count(svg, "<path ") != 2 {
		t.Errorf("drawn: %s", svg)
	}
}

func TestManyPoliciesAndEmptySeriesCanBeDrawn(t *testing.T) {
	t.Parallel()
	svg := draw(t, report("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"))
	if !strings.Contains(svg, "stroke-dasharray=\"7 4\"") {
		t.Error("two policies look alike")
	}
	draw(t, &lab.Report{Scenario: "empty", Policies: []lab.PolicyReport{{Policy: "default"}}})
}

func TestTicksAreRoundAndHoldTheValues(t *testing.T) {
	t.Parallel()
	for _, high := range []float64{0.003, 1, 9.9, 10, 100, 120} {
		s, ticks := linear(high, 0, 1)
		if s.high < high || s.high > 2.1*high || len(ticks) < 3 || len(ticks) > 7 || ticks[len(ticks)-1] != s.high {
			t.Errorf("to %v: %+v, ticks %v", high, s, ticks)
		}
	}
	for _, c := range [][2]float64{{100, 110}, {95, 4000}, {1, 1e6}, {0.1, 0.2}} {
		s, ticks := logarithmic(c[0], c[1], 0, 1)
		if s.low > c[0]*1.0001 || s.high < c[1]*0.9999 || len(ticks) < 2 || len(ticks) > 9 {
			t.Errorf("%v: %+v, ticks %v", c, s, ticks)
		}
		if mid := s.at(math.Sqrt(s.low * s.high)); math.Abs(mid-0.5) > 1e-6 {
			t.Errorf("%v: the middle lies at %v", c, mid)
		}
	}
}
