package view

import (
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"junction/router/diagnose"
)

// Diagnosis is what diagnose prints.
type Diagnosis struct {
	Target  string             `json:"target"`
	Status  diagnose.Status    `json:"status"` // the worst of the servers'
	Servers []*diagnose.Report `json:"servers"`
}

// NewDiagnosis gathers reports. A target that is a URL is shown without what may be
// a credential.
func NewDiagnosis(target string, reports []*diagnose.Report) *Diagnosis {
	d := &Diagnosis{Target: line(target), Status: diagnose.Passed, Servers: reports}
	if u, err := url.Parse(target); err == nil && u.Host != "" {
		d.Target = line((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String())
	}
	for _, r := range reports {
		r.Server, r.Endpoint = line(r.Server), line(r.Endpoint)
		if r.Status == diagnose.Failed || d.Status == diagnose.Passed {
			d.Status = r.Status
		}
		for _, l := range r.Layers {
			l.Saw = line(l.Saw)
			for i := range l.Troubles {
				t := &l.Troubles[i]
				t.Cause, t.Fix, t.Paste = line(t.Cause), line(t.Fix), Clean(t.Paste)
			}
		}
	}
	return d
}

// Diagnose prints one server's layers line by line, and of several a table first, then
// what is wrong with each.
func Diagnose(w io.Writer, d *Diagnosis, s Style) error {
	p := &diagnosisPrinter{printer{w: w}, s}
	if len(d.Servers) == 1 {
		p.server(d.Servers[0])
		return p.err
	}
	p.table(d)
	for _, r := range d.Servers {
		if r.Status == diagnose.Passed {
			continue
		}
		p.f("\n%s  %s\n", p.s.paint(bold, r.Server), p.s.paint(faint, r.Endpoint))
		for _, l := range r.Layers {
			if len(l.Troubles) > 0 {
				p.layer(l)
			}
		}
	}
	return p.err
}

type diagnosisPrinter struct {
	printer
	s Style
}

var marks = map[diagnose.Status]struct{ sign, color string }{
	diagnose.Passed:        {"✓", good},
	diagnose.Warned:        {"!", warn},
	diagnose.Failed:        {"✗", bad},
	diagnose.NotReached:    {"·", faint},
	diagnose.NotApplicable: {"–", faint},
	diagnose.NotMeasurable: {"?", faint},
}

func (p *diagnosisPrinter) mark(s diagnose.Status) string {
	return p.s.paint(marks[s].color, marks[s].sign)
}

func (p *diagnosisPrinter) server(r *diagnose.Report) {
	p.f("%s %s", p.mark(r.Status), p.s.paint(bold, r.Server))
	if r.Endpoint != "" && r.Endpoint != r.Server {
		p.f("  %s", r.Endpoint)
	}
	p.f("\n")
	for i := 0; i < len(r.Layers); {
		l, n := r.Layers[i], unreached(r.Layers[i:])
		if n < 2 {
			p.layer(l)
			i++
			continue
		}
		said := fmt.Sprintf("%d–%d  not reached: %s", l.Number, l.Number+n-1, l.Saw)
		p.f("  %s %s\n", p.mark(l.Status), p.s.paint(faint, said))
		i += n
	}
	p.f("\n%s\n", p.verdict(r))
}

// unreached is how many layers from the first one on were not reached for one reason.
func unreached(layers []*diagnose.Layer) int {
	n := 0
	for n < len(layers) && layers[n].Status == diagnose.NotReached && layers[n].Saw == layers[0].Saw {
		n++
	}
	return n
}

// verdict is the report in a sentence.
func (p *diagnosisPrinter) verdict(r *diagnose.Report) string {
	took := took(millisOfTenths(r.TookMS))
	switch r.Status {
	case diagnose.Failed:
		l := r.Layer(r.Failed)
		return p.s.paint(bad, fmt.Sprintf("layer %d, %s, failed", l.Number, l.Name)) + p.s.paint(faint, " ("+took+")")
	case diagnose.Warned:
		return p.s.paint(warn, "it works, with warnings") + p.s.paint(faint, " ("+took+")")
	}
	return p.s.paint(good, "nothing wrong was found") + p.s.paint(faint, " ("+took+")")
}

// widest is how wide the names of layers are.
const widest = len("capability document")

func (p *diagnosisPrinter) layer(l *diagnose.Layer) {
	spent := ""
	if l.TookMS > 0 {
		spent = took(millisOfTenths(l.TookMS))
	}
	name := fmt.Sprintf("%-*s", widest, l.Name)
	said := l.Saw
	switch l.Status {
	case diagnose.NotReached, diagnose.NotApplicable, diagnose.NotMeasurable:
		said = strings.TrimSuffix(strings.ReplaceAll(string(l.Status), "_", " ")+": "+l.Saw, ": ")
		name, said = p.s.paint(faint, name), p.s.paint(faint, said)
	}
	p.f("%s\n", strings.TrimRight(fmt.Sprintf("  %s %d %s  %s  %s", p.mark(l.Status), l.Number, name, p.s.paint(faint, fmt.Sprintf("%7s", spent)), said), " "))
	for _, t := range l.Troubles {
		color := bad
		if t.Level == diagnose.Warned {
			color = warn
		}
		p.f("      %s\n", p.s.paint(color, t.Cause))
		p.f("      fix: %s\n", t.Fix)
		if t.Paste != "" {
			p.f("%s\n", p.s.paint(good, "        "+indented(t.Paste, "        ")))
		}
	}
}

// table is one row for each server and one column for each layer.
func (p *diagnosisPrinter) table(d *Diagnosis) {
	wide := len(d.Target)
	for _, r := range d.Servers {
		wide = max(wide, len([]rune(r.Server)))
	}
	p.f("%s %s  %s\n", p.mark(d.Status), p.s.paint(bold, d.Target), Count(len(d.Servers), "instance"))
	p.f("%s\n", p.s.paint(faint, fmt.Sprintf("  %-*s  1 2 3 4 5 6 7  %7s", wide, "instance", "took")))
	for _, r := range d.Servers {
		var cells []string
		for _, l := range r.Layers {
			cells = append(cells, p.mark(l.Status))
		}
		p.f("  %s%s  %s  %7s  %s\n", r.Server, strings.Repeat(" ", wide-len([]rune(r.Server))), strings.Join(cells, " "),
			took(millisOfTenths(r.TookMS)), p.s.paint(faint, strings.TrimSpace(r.Version+" "+r.Endpoint)))
	}
	names := make([]string, 0, diagnose.Layers)
	for _, l := range d.Servers[0].Layers {
		names = append(names, fmt.Sprintf("%d %s", l.Number, l.Name))
	}
	p.f("%s\n", p.s.paint(faint, "  "+strings.Join(names, ", ")))
}

// millisOfTenths is a length of time given in milliseconds.
func millisOfTenths(ms float64) time.Duration { return time.Duration(ms * float64(time.Millisecond)) }
