package bridge_test

import (
	"encoding/json"
	"strings"

	"junction/router/bridge"
	"junction/state"
)

// judge holds what the client was told against what the till did: no request without
// exactly one end, nothing charged twice, what was answered was charged, and what was
// said not to be executed was not. The connection and the process that holds it are
// the first ones.
func (d *day) judge(ended event) {
	d.t.Helper()
	charged := map[string]int{}
	for _, v := range d.shop.seen() {
		if v.What == "charge" {
			charged[v.ID]++
		}
	}
	ends := map[string]int{}
	pid := 0
	for _, e := range d.events() {
		switch e.What {
		case "closed", "fault":
			d.t.Errorf("the client's connection: %s %s", e.What, e.Text)
		case "connected":
			pid = e.PID
		case "asked":
			ends[e.ID] += 0
		case "answered", "error":
			ends[e.ID]++
			d.holds(e, charged[e.ID])
		}
	}
	if pid == 0 || pid != ended.PID {
		d.t.Errorf("the bridge was process %d, and in the end %d", pid, ended.PID)
	}
	for id, n := range ends {
		if n != 1 {
			d.t.Errorf("request %s has %d ends", id, n)
		}
	}
	for id, n := range charged {
		if n > 1 {
			d.t.Errorf("%s was charged %d times", id, n)
		}
	}
}

// holds holds the end of one request against how often it was charged.
func (d *day) holds(e event, charged int) {
	d.t.Helper()
	if e.What == "answered" {
		if e.Tool == "charge" && charged != 1 {
			d.t.Errorf("%s was answered, and charged %d times", e.ID, charged)
		}
		return
	}
	if len(e.Data) == 0 && e.ID == "c3" {
		return // cancelled by the client
	}
	var trouble bridge.Trouble
	if err := json.Unmarshal(e.Data, &trouble); err != nil {
		d.t.Errorf("%s: error %d %q has no data of the bridge: %v", e.ID, e.Code, e.Text, err)
		return
	}
	if trouble.Server != "till" || !strings.Contains(e.Text, "till") || trouble.Next == "" {
		d.t.Errorf("%s: the error does not say who or what next: %s %s", e.ID, e.Text, e.Data)
	}
	if trouble.Execution == state.NotExecuted && charged > 0 {
		d.t.Errorf("%s was charged although it is said not to be executed: %s", e.ID, e.Text)
	}
	if e.Tool == "count" && trouble.Execution == state.Unknown {
		d.t.Errorf("%s is safe and was not made again: %s", e.ID, e.Text)
	}
}
