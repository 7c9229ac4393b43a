package state

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func unframed(data []byte) (map[string][]json.RawMessage, error) {
	out := map[string][]json.RawMessage{}
	err := Unframe(data, func(channel string, values []json.RawMessage) error {
		out[channel] = values
		return nil
	})
	return out, err
}

func TestFrameKeepsEveryByte(t *testing.T) {
	for name, channels := range map[string]map[string][]json.RawMessage{
		"nothing":          nil,
		"one":              {"a": {json.RawMessage(`1`)}},
		"several":          {"b": {json.RawMessage("{ }"), json.RawMessage("null")}, "": {json.RawMessage(`"\u0000"`)}, "a": {}},
		"a value above 64": {"log": {make(json.RawMessage, 300), json.RawMessage("")}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := unframed(Frame(channels))
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(channels, got, cmpopts.EquateEmpty()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestFrameCutAnywhereIsAnErrorOrLess(t *testing.T) {
	whole := Frame(map[string][]json.RawMessage{"log": {json.RawMessage(`"abc"`), json.RawMessage(`1`)}})
	for n := 1; n < len(whole); n++ {
		if _, err := unframed(whole[:n]); err == nil {
			t.Errorf("the first %d of %d bytes were taken for a frame", n, len(whole))
		}
	}
}

func FuzzUnframe(f *testing.F) {
	f.Add(Frame(map[string][]json.RawMessage{"log": {json.RawMessage(`1`), json.RawMessage(`"x"`)}, "v": {json.RawMessage(`{}`)}}))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		channels, err := unframed(data)
		if err != nil {
			return
		}
		again, err := unframed(Frame(channels))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(channels, again, cmpopts.EquateEmpty()); d != "" {
			t.Error(d)
		}
	})
}
