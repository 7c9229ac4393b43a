package state_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"junction/state"
)

func TestNewChangeStoresOnlyWhatIsAdded(t *testing.T) {
	type values = map[string]json.RawMessage
	type items = map[string][]json.RawMessage
	one, two := json.RawMessage(`1`), json.RawMessage(`2`)
	parent := map[string]state.ChannelRef{"v": {Set: 3}, "log": {Set: 2, Log: true, Len: 4}}
	for name, c := range map[string]struct {
		set  values
		app  items
		want state.Change
	}{
		"nothing": {nil, nil, state.Change{Channels: parent}},
		"a last value": {values{"v": one}, nil, state.Change{
			Channels: map[string]state.ChannelRef{"v": {Set: 7}, "log": {Set: 2, Log: true, Len: 4}}, Values: values{"v": one}}},
		"items": {nil, items{"log": {one, two}}, state.Change{
			Channels: map[string]state.ChannelRef{"v": {Set: 3}, "log": {Set: 2, Log: true, Len: 6}}, Items: items{"log": {one, two}}}},
		"a new generation": {values{"log": json.RawMessage(`[1]`)}, nil, state.Change{
			Channels: map[string]state.ChannelRef{"v": {Set: 3}, "log": {Set: 7, Log: true, Len: 1}}, Items: items{"log": {one}}}},
		"a new generation and more": {values{"log": json.RawMessage(`[1]`)}, items{"log": {two}}, state.Change{
			Channels: map[string]state.ChannelRef{"v": {Set: 3}, "log": {Set: 7, Log: true, Len: 2}}, Items: items{"log": {one, two}}}},
		"a new append channel, empty": {nil, items{"new": nil}, state.Change{
			Channels: map[string]state.ChannelRef{"v": {Set: 3}, "log": {Set: 2, Log: true, Len: 4}, "new": {Set: 7, Log: true}}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := state.NewChange(parent, 7, c.set, c.app)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestNewChangeNamesEveryChannelItCannotAppendTo(t *testing.T) {
	parent := map[string]state.ChannelRef{"b": {Set: 1}, "a": {Set: 1}, "log": {Set: 1, Log: true}}
	_, err := state.NewChange(parent, 2, nil, map[string][]json.RawMessage{"b": nil, "log": nil, "a": nil})
	if err == nil || !strings.Contains(err.Error(), "a, b:") {
		t.Errorf("error is %v", err)
	}
	_, err = state.NewChange(parent, 2, map[string]json.RawMessage{"log": json.RawMessage(`"no list"`)}, nil)
	if err == nil || !strings.Contains(err.Error(), `"log"`) {
		t.Errorf("error is %v", err)
	}
}

func TestRetention(t *testing.T) {
	r := state.Retention{Completed: time.Hour, Stopped: 2 * time.Hour}
	for _, c := range []struct {
		status state.Status
		after  time.Duration // the age from which it is due; 0: never
	}{
		{state.StatusCompleted, time.Hour}, {state.StatusFailed, 2 * time.Hour}, {state.StatusCancelled, 2 * time.Hour},
		{state.StatusInterrupted, 2 * time.Hour}, {state.StatusRunning, 0}, {state.StatusPending, 0},
	} {
		if c.after == 0 {
			if r.Due(c.status, 1000*time.Hour) {
				t.Errorf("a %s thread is due", c.status)
			}
			continue
		}
		if r.Due(c.status, c.after-1) || !r.Due(c.status, c.after) {
			t.Errorf("a %s thread is not due exactly from %s", c.status, c.after)
		}
		if (state.Retention{}).Due(c.status, 1000*time.Hour) {
			t.Errorf("a %s thread is due although it is kept for ever", c.status)
		}
	}
}
