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
	stdout := int(os.Stdout.Fd())
	con.color = colors && term.IsTerminal(stdout)
	if con.color {
		con.size = func() (int, int) { return size(stdout) }
	}
	return con
}

// columns is how wide the terminal is now.
func columns(fd int) int {
	w, _ := size(fd)
	return w
}

// size is how many columns and rows the terminal has now; 80 and 24 where it does
// not say.
func size(fd int) (columns, rows int) {
	w, h, err := term.GetSize(fd)
	if err != nil || w <= 0 {
		w = 80
	}
	if err != nil || h <= 0 {
		h = 24
	}
	return w, h
}

// console is where a command reads and prints.
type console struct {
	in       io.Reader
	out, err io.Writer
	width    func() int                 // of the terminal that stderr is: the live view redraws it; nil: it is none
	size     func() (columns, rows int) // of the terminal that stdout is: a followed list is redrawn there; nil: it is none
	color    bool                       // stdout may be coloured
	colorErr bool                       // stderr may be coloured
}
