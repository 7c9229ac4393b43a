package mcp

import "time"

// Policy is what bounds a [Client], as data: what people want to see of a client
// before they trust it with effects.
type Policy struct {
	ConnectTimeout time.Duration // of one attempt to reach a server
	Revalidate     time.Duration // age at which a description is read again
	AnswerBytes    int           // one answer; of an event stream, one event
	AnswerValues   int           // JSON values in one
	ListPages      int           // of a tool list
	Tools          int           // that a server may list
	Told           time.Duration // between two reports of progress that a listener is told of
	Outgoing       int           // messages that wait for a child to read; who comes beyond waits with the call's clocks
	Connections    int           // idle HTTP connections kept per server
	Farewell       time.Duration // sending the notification that cancels a request
	Rejection      int           // bytes read of a refusal
	StderrLines    int           // kept of a child's stderr
	Backoff        Backoff       // before a new attempt to connect
}

// Policy returns the bounds in force.
func (c *Client) Policy() Policy {
	o := &c.opts
	return Policy{
		ConnectTimeout: o.ConnectTimeout, Revalidate: o.Revalidate, AnswerBytes: o.MaxResponseBytes, AnswerValues: mostValues(o.MaxResponseBytes), ListPages: maxPages, Tools: maxTools,
		Told: toldEvery, Outgoing: queued, Connections: o.KeepConnections, Farewell: farewell, Rejection: maxRejection, StderrLines: keptLines,
		Backoff: o.Backoff,
	}
}
