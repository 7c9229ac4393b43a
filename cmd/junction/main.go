// Command junction runs workflows across MCP servers: durably, at whichever
// server fits best, and able to say why it chose.
package main

import (
	"io"
	"os"

	"golang.org/x/term"
)

func main() {
	os.Exit(run(os.Args[1:], stdio()))
}

// stdio is the process's own console.
func stdio() console {
	return console{
		in: os.Stdin, out: os.Stdout, err: os.Stderr,
		live:  term.IsTerminal(int(os.Stderr.Fd())),
		color: term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "",
	}
}

// console is where a command reads and prints.
type console struct {
	in       io.Reader
	out, err io.Writer
	live     bool // stderr is a terminal: the live view may redraw it
	color    bool // stdout may be coloured
}
