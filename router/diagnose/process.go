package diagnose

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"

	"junction/router"
)

// process goes through the layers of a server that is a command.
func (p *patient) process(ctx context.Context) {
	for n, why := range map[int]string{
		Authentication: "a process gets its credentials in its environment",
		Session:        "a process is its own session, and nothing lies on a network",
		Middleboxes:    "nothing lies between",
	} {
		p.layer(n).skip(NotApplicable, "%s", why)
	}
	l, command := p.layer(Network), clean(p.server.Dial.Command)
	if info, err := os.Stat(p.server.Dial.Dir); p.server.Dial.Dir != "" && (err != nil || !info.IsDir()) {
		l.add(failed("its working directory "+quoted(p.server.Dial.Dir)+" does not exist", "correct cwd in the servers file").paste(p.lines("cwd: PATH")))
		return
	}
	r := p.describe(ctx)
	if r.err != nil {
		p.unstarted(command, r)
		return
	}
	p.read = [2]*reading{r, p.describe(ctx)} // one after the other: some want to be alone
	l.pass(r.took, "%s runs", quoted(command))
	p.layer(Endpoint).pass(r.took, "answers on its standard output")
	d := p.layer(Document)
	d.TookMS = millis(r.took)
	p.describes(d, r)
	p.contextHash()
}

// unstarted says what became of a process that gave no description.
func (p *patient) unstarted(command string, r *reading) {
	l, e := p.layer(Network), new(router.CallError)
	errors.As(r.err, &e)
	said := p.lastWords(e.Stderr)
	text := clean(sayErr(r.err))
	switch {
	case errors.Is(r.err, exec.ErrNotFound), errors.Is(r.err, fs.ErrNotExist):
		l.add(failed("there is no command "+quoted(command), "install it, or write its whole path; PATH is looked through, that under env first"))
	case errors.Is(r.err, fs.ErrPermission):
		l.add(failed("the command "+quoted(command)+" may not be run", "make it executable (chmod +x)"))
	case strings.Contains(text, "does not start"):
		l.add(failed("the command cannot be run: "+text, "see that it is a program for this machine; a script needs its first line, such as #!/bin/sh"))
	case strings.Contains(text, "process ended"), strings.Contains(text, "process has ended"):
		l.add(failed("it starts, and ends before it answers: "+text+said, "run the command by hand; what it wants may be missing from env, since it gets no more than PATH, HOME and what stands there"))
	case e.Code == router.Transport && e.RPCCode == 0:
		l.pass(r.took, "%s runs", quoted(command))
		p.layer(Endpoint).TookMS = millis(r.took)
		p.layer(Endpoint).add(failed("it runs, and does not answer the handshake: "+text+said,
			"see that it is an MCP server over stdio, writes nothing but messages to its standard output, and needs no longer to start"))
	default:
		l.pass(r.took, "%s runs", quoted(command))
		p.layer(Endpoint).pass(r.took, "answers on its standard output")
		p.layer(Document).TookMS = millis(r.took)
		p.layer(Document).add(failed("it gives no capability document: "+text+said, "look at what it writes to stderr"))
	}
}

// lastWords are the last lines of stderr.
func (p *patient) lastWords(lines []string) string {
	const most = 3
	if len(lines) == 0 {
		return ""
	}
	var all []string
	for _, l := range lines[max(0, len(lines)-most):] {
		all = append(all, quoted(l))
	}
	return fmt.Sprintf("; its last words: %s", strings.Join(all, " "))
}
