package state_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"junction/state"
)

// big is a JSON string just large enough to be taken out.
func big(fill string) string { return `"` + strings.Repeat(fill, state.LeafThreshold/len(fill)) + `"` }

func repack(t *testing.T, raw []byte) (packed json.RawMessage, leaves []state.Leaf) {
	t.Helper()
	packed, leaves = state.Pack(raw)
	stored := map[string][]byte{}
	for _, l := range leaves {
		stored[l.Hash] = l.Text
	}
	got, err := state.Unpack(packed, func(hash string) ([]byte, error) {
		text, ok := stored[hash]
		if !ok {
			return nil, state.ErrNotFound
		}
		return text, nil
	})
	if err != nil {
		t.Fatalf("unpack %.80s: %v", packed, err)
	}
	if !bytes.Equal(got, raw) {
		t.Fatalf("%.120s came back as %.120s", raw, got)
	}
	return packed, leaves
}

func TestPackTakesOutLargeStringsOnly(t *testing.T) {
	for name, c := range map[string]struct {
		raw    string
		leaves int
	}{
		"a small value":             {`{"a":[1,2.5,null,"x"]}`, 0},
		"a large whole value":       {big("x"), 1},
		"large leaves in an object": {`{"a":` + big("x") + `,"b":{"c":[` + big("y\\\"") + `,1]}}`, 2},
		"the same leaf twice":       {`[` + big("x") + `,` + big("x") + `]`, 2},
		"a large key":               {`{` + big("k") + `:1}`, 0},
		"many small leaves":         {`[` + strings.Repeat(`"abc",`, 30_000) + `1]`, 0},
		"white space":               {"{ \"a\" : " + big("x") + " , \"$blob\" : 1 }", 1},
		"a reference's look":        {`{"$blob":"` + strings.Repeat("0", 64) + `"}`, 0},
		"a deeper escape":           {`{"$$$blob":{"$blob":{"blob":1}}}`, 0},
		"an escaped dollar":         {`{"\u0024blob":"` + strings.Repeat("0", 64) + `"}`, 0},
		"the key as a value":        {`["$blob","$$blob"]`, 0},
		"both at once":              {`{"$blob":` + big("x") + `}`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			packed, leaves := repack(t, []byte(c.raw))
			if len(leaves) != c.leaves {
				t.Errorf("%d leaves, want %d", len(leaves), c.leaves)
			}
			if c.leaves > 0 && len(packed) >= state.LeafThreshold {
				t.Errorf("packed value still has %d bytes", len(packed))
			}
		})
	}
}

func TestPackedValueNamesWhatIsMissing(t *testing.T) {
	packed, leaves := state.Pack([]byte(big("x")))
	_, err := state.Unpack(packed, func(string) ([]byte, error) { return nil, state.ErrNotFound })
	if !errors.Is(err, state.ErrNotFound) || !strings.Contains(err.Error(), leaves[0].Hash[:12]) {
		t.Errorf("error is %v", err)
	}
	if _, err := state.Unpack([]byte(`{"$blob":7}`), nil); err == nil {
		t.Error("a broken reference was taken")
	}
}

func FuzzPack(f *testing.F) {
	f.Add([]byte(`{"$blob":"x","$$blob":["\\\"",{"a":1}]}`))
	f.Add([]byte(`{"\u0024blob":"` + strings.Repeat("0", 64) + `"}`))
	f.Add([]byte(big("é")))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if json.Valid(raw) {
			repack(t, raw)
		}
	})
}

func TestSqueeze(t *testing.T) {
	random := make([]byte, state.CompressThreshold+1)
	x := uint32(1)
	for i := range random {
		x = x*1664525 + 1013904223
		random[i] = byte(x >> 24)
	}
	for name, data := range map[string][]byte{
		"empty": {}, "small": []byte("abc"), "at the threshold": bytes.Repeat([]byte("a"), state.CompressThreshold),
		"large text": bytes.Repeat([]byte("line of code\n"), 100_000), "large noise": random,
	} {
		t.Run(name, func(t *testing.T) {
			stored, err := state.Squeeze(data)
			if err != nil {
				t.Fatal(err)
			}
			if len(stored) > len(data)+1 {
				t.Errorf("%d bytes are stored as %d", len(data), len(stored))
			}
			if name == "large text" && len(stored) > len(data)/100 {
				t.Errorf("%d bytes of text are stored as %d: not compressed", len(data), len(stored))
			}
			got, err := state.Unsqueeze(stored)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, data) {
				t.Error("the data came back changed")
			}
		})
	}
	for name, stored := range map[string][]byte{"nothing": nil, "unknown form": {9, 1}, "broken": {1, 2, 3}} {
		if _, err := state.Unsqueeze(stored); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
