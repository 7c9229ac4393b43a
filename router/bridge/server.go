package bridge

import (
	"context"
	"log/slog"
	"time"

	"junction/router"
	"junction/router/mcp"
	"junction/state"
)

// Server is what a bridge has to know of one server behind it.
type Server struct {
	// Name is what people know it by: errors and instructions name it.
	Name string
	// Open makes a new connection, its handshake done, for the program that g tells of.
	Open func(ctx context.Context, g mcp.Greeting, e mcp.Events) (Session, *router.CallError)
	// Effect is what calling a tool does, as the operator says (R31); key is where a
	// conditional one's durable key stands: the name of an argument, or "_meta.NAME".
	// Nil, and a tool that nothing is said of: unsafe.
	Effect func(tool string) (e state.Effect, key string)
}

// Options tune a [Bridge]. The zero value is usable; so is nil.
type Options struct {
	PingInterval time.Duration // of silence before a heartbeat; default 20 s, below 0: none
	PingTimeout  time.Duration // default 5 s
	// Wait is the longest that a request waits for a server that is away. Default 50 s:
	// many clients give up after 60 s by themselves, and are to hear who is away before.
	Wait    time.Duration
	Queue   int         // requests that wait for one server; default 100
	Backoff mcp.Backoff // between attempts to reach a server; default R35's
	// Greet is how long a client's handshake waits for the servers, before the bridge
	// answers it for them. Default 10 s.
	Greet time.Duration
	// Question is how long a call stays open at its server while a client of the later
	// era has yet to answer the server's question. Default 5 min, a hop's maximum.
	Question time.Duration
	// ClientName and Version are what the bridge calls itself, where it has to answer
	// for itself. Default "junction".
	ClientName, Version string
	Logger              *slog.Logger // default slog.Default()
	// OnStatus is told of each change of a server's line. It must not block.
	OnStatus func(server string, s Status)
}

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.Greet <= 0 {
		d.Greet = 10 * time.Second
	}
	if d.Question <= 0 {
		d.Question = 5 * time.Minute
	}
	if d.ClientName == "" {
		d.ClientName = "junction"
	}
	if d.Version == "" {
		d.Version = "0"
	}
	if d.Logger == nil {
		d.Logger = slog.Default()
	}
	return d
}
