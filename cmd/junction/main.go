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
	con := console{in: os.Stdin, out: os.Stdout, err: os.Stderr}
	plain := os.Getenv("TERM") == "dumb"
	colors := os.Getenv("NO_COLOR") == "" && !plain
	stderr := int(os.Stderr.Fd())
	if term.IsTerminal(stderr) {
		con.colorErr = colors
		if !plain {
			con.width = func() int { return columns(stderr) }
		}
	}
	con.color = colors && term.IsTerminal(int(os.Stdout.Fd()))
	return con
}

// columns is how wide the terminal is now; 80 where it does not say.
func columns(fd int) int {
	if w, _, err := term.GetSize(fd); err == nil && w > 0 {
		return w
	}
	return 80
}

// console is where a command reads and prints.
type console struct {
	in       io.Reader
	out, err io.Writer
	width    func() int // of the terminal that stderr is: the live view redraws it; nil: it is none
	color    bool       // stdout may be coloured
	colorErr bool       // stderr may be coloured
}
