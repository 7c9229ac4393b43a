package redis

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

// What a client of a trial asks the store for.
const (
	opAcquire = "acquire"
	opRenew   = "renew"
	opRelease = "release"
	opRecords = "put records"
	opCommit  = "commit"
	opLoad    = "load"
	opList    = "list records"
)

// request is one operation, as a client was about to call it.
type request struct {
	Op      string        `json:"op"`
	Thread  string        `json:"thread"`
	ID      string        `json:"id"`              // of this operation; a commit's write id, which a repeated one shares
	Owner   string        `json:"owner"`           // who asks
	Token   int64         `json:"token,omitempty"` // of the lease it is under
	TTL     time.Duration `json:"ttl,omitempty"`
	Parent  int64         `json:"parent,omitempty"`
	Records []entered     `json:"records,omitempty"`
}

// entered is a call record in as far as a trial tells records apart.
type entered struct {
	Seq     int64  `json:"seq"`
	Hop     string `json:"hop"`
	Attempt int    `json:"attempt"`
	Status  string `json:"status"`
	Final   bool   `json:"final,omitempty"`
	Mark    string `json:"mark"`             // of the write it came with
	Result  string `json:"result,omitempty"` // JSON
}

// How an operation ended.
const (
	endOK       = "ok"
	endBusy     = "busy"
	endLost     = "lease lost"
	endConflict = "conflict"
	endUnknown  = "unknown" // the store could not be reached for long
	endFailed   = "failed"  // as nothing in a trial may
)

// answer is what came of an operation.
type answer struct {
	End       string        `json:"end"`
	Why       string        `json:"why,omitempty"`
	Token     int64         `json:"token,omitempty"`     // given
	Owner     string        `json:"owner,omitempty"`     // who holds a busy thread
	Remaining time.Duration `json:"remaining,omitempty"` // of a busy thread
	Head      int64         `json:"head,omitempty"`
	Last      string        `json:"last,omitempty"` // write id in the last-value channel
	Log       []string      `json:"log,omitempty"`  // write ids in the append channel
	Records   []entered     `json:"records,omitempty"`
}

// line is a part of an operation: its request, written before the call; a try that
// was sent and not answered; its answer, written after. A client calls one
// operation at a time, so the others follow their request, and a client that was
// killed leaves at most one request without an answer.
type line struct {
	At      int64    `json:"at"` // Unix ns
	Request *request `json:"request,omitempty"`
	Lost    bool     `json:"lost,omitempty"` // a try
	Late    bool     `json:"late,omitempty"` // it may take effect even now
	Answer  *answer  `json:"answer,omitempty"`
}

// lines appends to the file of one client. What was written stays when the client
// is killed.
type lines struct{ file *os.File }

func createLines(path string) (lines, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	return lines{f}, err
}

func (ls lines) add(l line) error {
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	_, err = ls.file.Write(append(data, '\n'))
	return err
}

// call is an operation of a history. The times are of the one clock of this
// machine, which the server's TIME is too. Where no answer came, end is when
// nothing of it could take effect any more.
type call struct {
	request
	answer      *answer
	called, end int64 // Unix ns
	lost, late  int   // tries without an answer; those of them that may come late
}

func (r request) String() string {
	text := fmt.Sprintf("%s %s", r.ID, r.Op)
	if r.Token != 0 {
		text += fmt.Sprintf(" under %d", r.Token)
	}
	if r.Parent != 0 {
		text += fmt.Sprintf(" after %d", r.Parent)
	}
	if r.TTL != 0 {
		text += fmt.Sprintf(" for %v", r.TTL)
	}
	return text + fmt.Sprint(r.Records)
}

func (a answer) String() string {
	switch {
	case a.End == endBusy:
		return fmt.Sprintf("busy by %s for %v", a.Owner, a.Remaining)
	case a.Token != 0:
		return fmt.Sprintf("%s, token %d", a.End, a.Token)
	case a.Head != 0:
		return fmt.Sprintf("%s, head %d %v", a.End, a.Head, a.Records)
	}
	return fmt.Sprint(a.End, a.Records)
}

// readCalls reads the file of a client. A last line that was cut off counts for
// nothing.
func readCalls(path string) ([]call, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	var out []call
	for scan := bufio.NewScanner(bytes.NewReader(data)); scan.Scan(); {
		var l line
		if err := json.Unmarshal(scan.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", path, scan.Bytes(), err)
		}
		if l.Request != nil {
			out = append(out, call{request: *l.Request, called: l.At})
			continue
		}
		if len(out) == 0 || out[len(out)-1].answer != nil {
			return nil, fmt.Errorf("%s: an answer to nothing: %q", path, scan.Bytes())
		}
		last := &out[len(out)-1]
		switch {
		case !l.Lost:
			last.answer, last.end = l.Answer, l.At
		case l.Late:
			last.late++
			fallthrough
		default:
			last.lost++
		}
	}
	return out, nil
}
