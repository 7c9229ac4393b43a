package plot

import (
	"fmt"
	"io"
	"math"

	"junction/router/lab"
)

// Pixels.
const (
	width       = 980.0
	left, right = 78.0, 24.0
	panelHeight = 190.0
	panelGap    = 48.0
	legendLine  = 20.0
	legendWide  = 150.0
)

// colours can be told apart by most people (Okabe and Ito); a policy beyond them
// gets one again, with another dash.
var colours = []string{"#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4d4d4d"}

var dashes = []string{"", "7 4", "2 3"}

// panel is one of the charts, which stand above each other.
type panel struct {
	title, unit string
	of          func(lab.Second) float64
	log         bool
	gaps        bool // 0 is no value
	dashed      float64
}

// Draw writes the report as an SVG image.
func Draw(w io.Writer, r *lab.Report) error {
	panels := panelsOf(r)
	perLine := int(math.Floor((width - left - right) / legendWide))
	lines := (len(r.Policies) + perLine - 1) / perLine
	top := 58 + float64(lines)*legendLine
	height := top + float64(len(panels))*(panelHeight+panelGap) + 10
	c := &canvas{w: w}
	c.f("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" role=\"img\">\n", width, height, width, height)
	c.f("<title>%s</title>\n", escape(r.Scenario+": "+r.About))
	c.f("<style>text{font-family:system-ui,'DejaVu Sans',sans-serif;font-size:12px;fill:#333}.h{font-size:17px;font-weight:600}.s{fill:#666}.p{font-weight:600}.t{font-size:11px;fill:#555}.o{font-size:11px;fill:#555;paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}</style>\n")
	c.rect(0, 0, width, height, "#ffffff")
	c.text(left, 26, "start", "h", r.Scenario)
	c.text(left, 44, "start", "s", fmt.Sprintf("%s · mean of %s", r.About, seeds(len(r.Seeds))))
	for i, p := range r.Policies {
		x, y := left+float64(i%perLine)*legendWide, 62+float64(i/perLine)*legendLine
		c.line(x, y, x+26, y, style(i))
		c.text(x+32, y+4, "start", "", p.Policy)
	}
	for i, p := range panels {
		y := top + 18 + float64(i)*(panelHeight+panelGap)
		c.panel(r, p, y, i == 0, i == len(panels)-1)
	}
	c.f("</svg>\n")
	return c.err
}

func seeds(n int) string {
	if n == 1 {
		return "one seed"
	}
	return fmt.Sprintf("%d seeds", n)
}

func panelsOf(r *lab.Report) []panel {
	var all []panel
	if r.Watch != "" {
		all = append(all, panel{title: "share of requests sent to " + r.Watch, unit: "%", of: func(s lab.Second) float64 { return 100 * s.Share }, dashed: 100 * r.FairAt})
	}
	return append(all,
		panel{title: "P99 of the calls that arrived then", unit: "ms", of: func(s lab.Second) float64 { return s.P99 }, log: true, gaps: true},
		panel{title: "calls whose caller got an error", unit: "%", of: func(s lab.Second) float64 { return 100 * s.Errors }})
}

func style(policy int) string {
	wide := 1.5
	if policy == 0 {
		wide = 2.6 // the one that is asked about
	}
	colour, round := colours[policy%len(colours)], policy/len(colours)
	if round > 0 { // the first one's colour stays its own
		others := len(colours) - 1
		colour, round = colours[1+(policy-len(colours))%others], 1+(policy-len(colours))/others
	}
	s := fmt.Sprintf("stroke=\"%s\" stroke-width=\"%.1f\"", colour, wide)
	if d := dashes[round%len(dashes)]; d != "" {
		s += fmt.Sprintf(" stroke-dasharray=\"%s\"", d)
	}
	return s
}

// panel draws one chart whose plot area begins at y.
func (c *canvas) panel(r *lab.Report, p panel, y float64, first, last bool) {
	bottom := y + panelHeight
	low, high := bounds(r, p)
	ys, ticks := linear(max(high, p.dashed, 1), bottom, y)
	if p.log && low < high {
		ys, ticks = logarithmic(low, high, bottom, y)
	}
	end := ending(r)
	xs := scale{low: 0, high: end, from: left, to: width - right}
	for _, span := range r.Trouble {
		from, to := xs.at(span.From), xs.at(span.To)
		c.rect(from, y, to-from, panelHeight, "#f3ece4")
		if first {
			c.text((from+to)/2, y+14, "middle", "t", "trouble")
		}
	}
	c.text(left, y-8, "start", "p", p.title)
	for _, t := range ticks {
		at := ys.at(t)
		c.line(left, at, width-right, at, `stroke="#dddddd" stroke-width="1"`)
		c.text(left-8, at+4, "end", "t", number(t))
	}
	step := roundUp(end / 12)
	for t := 0.0; t <= end; t += step {
		c.line(xs.at(t), bottom, xs.at(t), bottom+4, `stroke="#888888" stroke-width="1"`)
		c.text(xs.at(t), bottom+16, "middle", "t", number(t))
	}
	c.line(left, bottom, width-right, bottom, `stroke="#888888" stroke-width="1"`)
	c.line(left, y, left, bottom, `stroke="#888888" stroke-width="1"`)
	c.upright(22, y+panelHeight/2, "t", p.unit)
	if last {
		c.text((left+width-right)/2, bottom+34, "middle", "t", "s since the beginning")
	}
	if p.dashed > 0 {
		c.line(left, ys.at(p.dashed), width-right, ys.at(p.dashed), `stroke="#888888" stroke-width="1" stroke-dasharray="4 4"`)
	}
	for i := len(r.Policies) - 1; i >= 0; i-- { // the first one on top
		c.path(pieces(r.Policies[i].Series, p, xs, ys), style(i))
	}
	if p.dashed > 0 {
		c.text(width-right-4, ys.at(p.dashed)-6, "end", "o", "fair share")
	}
	if high == 0 {
		c.text((left+width-right)/2, y+panelHeight/2, "middle", "o", "none")
	}
}

// pieces are the runs of seconds that have a value, drawn at the second's middle.
func pieces(series []lab.Second, p panel, xs, ys scale) [][]point {
	var all [][]point
	open := false
	for _, s := range series {
		v := p.of(s)
		if p.gaps && v == 0 {
			open = false
			continue
		}
		if !open {
			all = append(all, nil)
			open = true
		}
		all[len(all)-1] = append(all[len(all)-1], point{xs.at(s.At + 0.5), ys.at(v)})
	}
	return all
}

// bounds are the least value above 0 and the greatest one.
func bounds(r *lab.Report, p panel) (low, high float64) {
	low = math.Inf(1)
	for _, policy := range r.Policies {
		for _, s := range policy.Series {
			v := p.of(s)
			high = max(high, v)
			if v > 0 {
				low = min(low, v)
			}
		}
	}
	return low, high
}

func ending(r *lab.Report) float64 {
	end := 1.0
	for _, policy := range r.Policies {
		if n := len(policy.Series); n > 0 {
			end = max(end, policy.Series[n-1].At+1)
		}
	}
	return end
}
