package lab

import (
	"time"

	"junction/state"
)

// Scenario is a situation in which policies are compared. [Parse] reads it from a
// file and fills in what is unsaid; one that is made in Go gets the same defaults in
// [Run], where a field says so.
type Scenario struct {
	Name       string
	About      string
	Duration   time.Duration // calls arrive from 0 to here
	Warmup     time.Duration // calls that arrive earlier are not measured
	Calls      Calls
	Routers    int           // 0: 1. Each call goes through one of them at random
	LoadAge    time.Duration // how late a router hears how many of its calls are in flight
	NewsAge    time.Duration // how late it hears how they ended
	Share      time.Duration // how often routers tell each other their load; 0: never
	Attempts   int           // per call; 0: 3
	Effect     state.Effect  // "": safe
	Timeout    time.Duration // of an attempt; 0: 5 min
	Hedge      Hedge
	RetryShare float64       // 0: 0.2
	RetryFloor int           // 0: 3
	Slow       time.Duration // what Over and Within count; 0: 1 s
	Watch      string        // the server whose share is followed; "": none
	Settle     time.Duration // from the beginning of its trouble; 0: 3 s
	Servers    []Server
	Policies   []string // compared unless others are named; none: default
	Gate       []Check  // what must hold
}

// Calls says how many calls arrive: exactly one of its fields.
type Calls struct {
	Load  float64         // of what the servers that are there at 0 could do in order
	Rate  float64         // a second
	Rates []Rate          // a second, each from its time to the next one's
	At    []time.Duration // these very calls, in order of time: a recording
}

// Rate is how many calls arrive a second from a time on.
type Rate struct {
	At   time.Duration
	Rate float64
}

// Hedge sends a second request to another server when the first one takes long.
// The zero value does not.
type Hedge struct {
	After    time.Duration // after so long, or
	Quantile float64       // past this quantile of the router's results: 0.95
}

// On reports whether there is hedging.
func (h Hedge) On() bool { return h.After > 0 || h.Quantile > 0 }

// Server is one server, or Count alike named NAME-1, NAME-2, ….
type Server struct {
	Name          string
	Count         int           // 0: 1, named NAME
	Workers       int           // calls it works on at once; 0: 8
	Time          time.Duration // mean time of a call; 0: 100 ms
	Spread        Spread        // "": exponential
	Sigma         float64       // of a lognormal: the standard deviation of the logarithm; 0: 1
	LatencyP95    time.Duration // declared; 0: not
	MaxConcurrent int           // declared; 0: not
	Weight        float64       // declared; 0: 1
	Joins         time.Duration // 0: there from the start
	Leaves        time.Duration // 0: it stays
	Behaviour                   // while no change lasts
	Changes       []Change      // of several that last at once the later in the list holds
}

// Spread is how the time of calls is distributed around its mean.
type Spread string

const (
	Exponential Spread = "exponential"
	Fixed       Spread = "fixed"
	Lognormal   Spread = "lognormal"
)

// Behaviour is how a server treats calls.
type Behaviour struct {
	Speed        float64       // 0: 1; 0.5 takes twice as long
	Mean         time.Duration // mean time of a call instead of the server's; 0: that
	Stuck        time.Duration // every call takes exactly so long; 0: not
	Fails        float64       // share of calls that fail, unknown whether executed, [0, 1]
	FailsIn      time.Duration // time those take; 0: as an answer
	ToolErrors   float64       // share of the other calls whose answer is the tool's own error, [0, 1]
	ToolErrorsIn time.Duration // time those take; 0: as another answer
	Down         bool          // refuses calls; what it was doing is lost
}

// Change is a behaviour for a while.
type Change struct {
	At  time.Duration
	For time.Duration // 0: to the end
	Behaviour
}

// Check is one condition of a gate: a metric's mean over the seeds within a limit,
// or, with Of, the mean of its ratio to another policy's figure with the same seed.
type Check struct {
	Metric  Metric
	AtMost  *float64 // exactly one of these
	AtLeast *float64
	Of      string // a policy; "": the figure itself
}
