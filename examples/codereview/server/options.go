// Package server serves the example's reviewers, its diff, its report and its
// ledger, and the inventory of examples/inventory, as MCP servers, on standard input and output or over Streamable HTTP.
//
// A server declares how it wants to be routed to under dev.junction/routing, and
// says at /mcp/health whether its capability works, by using it. As part of a
// fleet it is in Consul for as long as it takes calls: it registers once it
// listens, and leaves before it stops.
//
// For trying what a router does about bad servers it can be told to be slow, to
// fail, to hang or to die.
package server

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"junction/examples/codereview/reviewer"
)

// Options are a server's flags. The zero value of each but Reviewer is valid.
type Options struct {
	Reviewer string         `help:"What to serve: go, js, python, secrets, rust, diff, report, ledger, or inventory, which is another example's." required:"" enum:"go,js,python,secrets,rust,diff,report,ledger,inventory"`
	Name     string         `help:"Name the server gives itself; by default review-REVIEWER." placeholder:"NAME"`
	Version  string         `help:"Version the server gives itself; by default that of the example." placeholder:"VERSION" name:"declare-version"`
	HTTP     string         `help:"Serve Streamable HTTP at this address, path /mcp, instead of standard input and output." placeholder:"ADDR" name:"http"`
	Depth    reviewer.Depth `help:"Declared depth of review: shallow, deep or security-focused." enum:"shallow,deep,security-focused" default:"shallow"`
	Latency  time.Duration  `help:"Declared 95th percentile of the latency; undeclared by default." placeholder:"DURATION"`
	Capacity int            `help:"Number of calls worked on at once, which the server declares." default:"64"`
	Dir      string         `help:"Directory that relative paths are taken from." default:"." placeholder:"DIR"`
	Ledger   string         `help:"File of the ledger, or of the inventory with its ledger." default:".junction/published.db" placeholder:"FILE"`
	Grace    time.Duration  `help:"How long calls in flight may go on when the server is told to stop, over HTTP." default:"10s"`
	Calls    string         `help:"Append one line to this file for every call that begins." placeholder:"FILE"`

	Fleet fleet `embed:"" group:"As part of a fleet"`

	Slow       time.Duration `help:"Wait this long before each call." placeholder:"DURATION" group:"For trying failover"`
	Fail       Failures      `help:"Fail calls with an internal error: the first N of them, or with a RATE such as 0.25." placeholder:"N|RATE" group:"For trying failover"`
	Hang       bool          `help:"Never answer a call." group:"For trying failover"`
	DieAfter   int           `help:"End the process in the middle of call N+1." placeholder:"N" default:"-1" group:"For trying failover"`
	LoseAfter  int           `help:"End the process once call N+1 is done and before it is answered." placeholder:"N" default:"-1" group:"For trying failover"`
	FailHealth bool          `help:"Say at /mcp/health that the capability does not work." group:"For trying failover"`
	Trouble    string        `help:"Read slow=DURATION, fail=RATE and hang from this file at each call, in place of those flags." placeholder:"FILE" group:"For trying failover"`
	Seed       uint64        `help:"Seed of --fail RATE." default:"1" group:"For trying failover"`
}

// version is what the server says of itself, to clients and in Consul.
func (o Options) version() string { return cmp.Or(o.Version, version) }

// Failures says which calls fail: the first Count, or each with a probability.
type Failures struct {
	Count int
	Rate  float64
}

// UnmarshalText reads "3" as a count and "0.25" as a rate.
func (f *Failures) UnmarshalText(text []byte) error {
	s := string(text)
	if strings.Contains(s, ".") {
		rate, err := strconv.ParseFloat(s, 64)
		if err != nil || !(rate >= 0 && rate <= 1) {
			return fmt.Errorf("%q is not a rate from 0.0 to 1.0", s)
		}
		*f = Failures{Rate: rate}
		return nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 0 {
		return fmt.Errorf("%q is neither a number of calls, such as 3, nor a rate, such as 0.25", s)
	}
	*f = Failures{Count: n}
	return nil
}

// maxCapacity is the most calls that mcp-go works on at once over stdio.
const maxCapacity = 100

// errHelp is returned when help was asked for, and printed.
var errHelp = errors.New("help was printed")

func parse(args []string, help io.Writer) (o Options, err error) {
	asked := false
	parser, err := kong.New(&o,
		kong.Name("example-server"),
		kong.Description("One of the example's MCP servers.\n\nExample:\n  junction example-server --reviewer go --http 127.0.0.1:8081"),
		kong.Writers(help, help),
		kong.Exit(func(int) { asked = true }),
	)
	if err != nil {
		return o, err
	}
	_, err = parser.Parse(args)
	if asked || slices.Contains(args, "--help") {
		return o, errHelp
	}
	if err != nil {
		return o, fmt.Errorf("%w; --help lists the flags", err)
	}
	if o.Capacity < 1 || o.Capacity > maxCapacity {
		return o, fmt.Errorf("--capacity %d: from 1 to %d calls can be worked on at once", o.Capacity, maxCapacity)
	}
	if err := o.Fleet.check(o); err != nil {
		return o, err
	}
	return o, nil
}
