package diagnose

import (
	"fmt"
	"time"
)

// Status is how a layer came out.
type Status string

const (
	Passed        Status = "passed"
	Warned        Status = "warned" // it works, and something about it should not stay
	Failed        Status = "failed"
	NotReached    Status = "not_reached"    // what it needs has failed in another layer
	NotApplicable Status = "not_applicable" // servers of this kind have none
	NotMeasurable Status = "not_measurable" // the server would have to help, and does not
)

// The layers, from 1.
const (
	Network = 1 + iota
	Endpoint
	Document
	Authentication
	Session
	ContextHash
	Middleboxes

	Layers = Middleboxes
)

var (
	names        = [...]string{"", "network", "endpoint", "capability document", "authentication", "session and TLS", "context hash", "middleboxes"}
	processNames = [...]string{"", "process", "endpoint", "capability document", "authentication", "session and TLS", "context hash", "middleboxes"}
)

// Layer is one of the seven.
type Layer struct {
	Number   int       `json:"layer"`
	Name     string    `json:"name"`
	Status   Status    `json:"status"`
	TookMS   float64   `json:"took_ms"`
	Saw      string    `json:"saw,omitempty"` // what was found, on one line
	Troubles []Trouble `json:"troubles,omitempty"`
}

// Trouble is something wrong in a layer.
type Trouble struct {
	Level Status `json:"level"` // Failed or Warned
	Cause string `json:"cause"`
	Fix   string `json:"fix"`
	Paste string `json:"paste,omitempty"` // lines for the servers file, or a proxy's configuration
}

// Report is the diagnosis of one server.
type Report struct {
	Server   string   `json:"server"`
	Endpoint string   `json:"endpoint,omitempty"` // without credentials
	Kind     string   `json:"transport"`          // "http" or "stdio"
	Source   string   `json:"source,omitempty"`
	Status   Status   `json:"status"` // Passed, Warned or Failed
	Failed   int      `json:"failed_layer,omitempty"`
	TookMS   float64  `json:"took_ms"`
	Layers   []*Layer `json:"layers"`
	Version  string   `json:"version,omitempty"`     // of the server
	Hash     string   `json:"fingerprint,omitempty"` // of its capability document

	tools *toolset
}

func newReport(server, endpoint, kind, source string) *Report {
	r := &Report{Server: server, Endpoint: endpoint, Kind: kind, Source: source}
	called := names
	if kind == kindProcess {
		called = processNames
	}
	for n := Network; n <= Layers; n++ {
		r.Layers = append(r.Layers, &Layer{Number: n, Name: called[n]})
	}
	return r
}

// Layer returns the layer of a number.
func (r *Report) Layer(n int) *Layer { return r.Layers[n-1] }

// pass says what a layer found; troubles added to it count for more.
func (l *Layer) pass(took time.Duration, format string, args ...any) {
	l.TookMS, l.Saw = millis(took), fmt.Sprintf(format, args...)
	l.settle(Passed)
}

// settle gives a layer its status: that of its worst trouble, else the one said.
func (l *Layer) settle(s Status) {
	for _, t := range l.Troubles {
		if s != Failed {
			s = t.Level
		}
	}
	l.Status = s
}

func (l *Layer) add(all ...Trouble) {
	l.Troubles = append(l.Troubles, all...)
	l.settle(Passed)
}

// skip says why a layer came to nothing, unless it came to something.
func (l *Layer) skip(s Status, format string, args ...any) {
	if l.Status == "" {
		l.Status, l.Saw = s, fmt.Sprintf(format, args...)
	}
}

func failed(cause, fix string) Trouble { return Trouble{Level: Failed, Cause: cause, Fix: fix} }
func warned(cause, fix string) Trouble { return Trouble{Level: Warned, Cause: cause, Fix: fix} }

func (t Trouble) paste(lines string) Trouble {
	t.Paste = lines
	return t
}

// conclude fills in what was not reached and says how the whole came out.
func (r *Report) conclude() {
	r.Status, r.Failed = Passed, 0
	for _, l := range r.Layers {
		switch l.Status {
		case Failed:
			if r.Failed == 0 {
				r.Failed = l.Number
			}
			r.Status = Failed
		case Warned:
			if r.Status == Passed {
				r.Status = Warned
			}
		}
	}
	for _, l := range r.Layers {
		if r.Failed > 0 {
			l.skip(NotReached, "layer %d failed", r.Failed)
		}
		l.skip(NotMeasurable, "it could not be looked at")
	}
}

// millis is d in milliseconds with a tenth's precision.
func millis(d time.Duration) float64 {
	return float64(d.Round(100*time.Microsecond)) / float64(time.Millisecond)
}
