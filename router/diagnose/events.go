package diagnose

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
)

// mostEvents bounds how many events before an answer are read.
const mostEvents = 1000

// readEvents reads an event stream until the answer, and when each event came.
func (r *reply) readEvents(body io.Reader) {
	bounded := &io.LimitedReader{R: body, N: maxBody}
	in := bufio.NewReaderSize(bounded, 16<<10)
	var data []string
	for {
		text, err := in.ReadString('\n')
		text = strings.TrimRight(text, "\r\n")
		field, value, _ := strings.Cut(text, ":")
		switch {
		case err == nil && text == "":
			if len(data) > 0 && r.event(strings.Join(data, "\n")) {
				return
			}
			data = nil
		case field == "data":
			data = append(data, strings.TrimPrefix(value, " "))
		}
		if err == nil && len(r.arrived) < mostEvents {
			continue
		}
		switch {
		case err == nil:
			r.why = fmt.Sprintf("the event stream brings %d events and no answer", mostEvents)
		case bounded.N <= 0:
			r.why = "the event stream brings 4 MiB and no answer"
		case len(data) > 0:
			r.why = "the event stream breaks off in the middle of an event"
		case r.why == "":
			r.why = "the event stream ends without an answer"
		}
		if err != nil && !errors.Is(err, io.EOF) {
			r.err = err
		}
		return
	}
}

// event takes in one event, and reports whether it is the answer. What is none is
// passed over: some servers begin with an event without data.
func (r *reply) event(data string) bool {
	if strings.TrimSpace(data) == "" {
		return false
	}
	r.arrived = append(r.arrived, time.Now())
	var m struct {
		Method string `json:"method"`
	}
	if json.Unmarshal([]byte(data), &m) == nil && m.Method != "" {
		r.events = append(r.events, json.RawMessage(data))
		return false
	}
	r.body = []byte(data)
	if r.understand(r.body); r.message != nil {
		r.why = ""
	}
	return r.message != nil
}
