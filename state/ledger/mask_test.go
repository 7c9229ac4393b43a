package ledger

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"junction/state/value"
)

func TestPathsMaskWhatTheyNameAndNothingElse(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, in, want string
		hidden         []string
	}{
		{"a", `{"a":"x","b":"x"}`, `{"a":"[redacted]","b":"x"}`, []string{"x"}},
		{"$.a.b", `{"a":{"b":17},"b":1}`, `{"a":{"b":"[redacted]"},"b":1}`, []string{"17"}},
		{"a[*].b", `{"a":[{"b":"x"},{"b":"y"},3]}`, `{"a":[{"b":"[redacted]"},{"b":"[redacted]"},3]}`, []string{"x", "y"}},
		{"[*]", `["x",{"y":"z"}]`, `["[redacted]","[redacted]"]`, []string{"x", "z"}},
		{"*.t", `{"a":{"t":"x"},"b":{"t":1.5},"t":"kept"}`, `{"a":{"t":"[redacted]"},"b":{"t":"[redacted]"},"t":"kept"}`, []string{"1.5", "x"}},
		{"missing.b", `{"a":1}`, `{"a":1}`, nil},
		{"a.b", `{"a":"text"}`, `{"a":"text"}`, nil},
		{"a", `null`, `null`, nil},
		{"a", `{"a":"[redacted]"}`, `{"a":"[redacted]"}`, nil},
	} {
		paths, err := ParsePaths(c.path)
		if err != nil {
			t.Fatal(err)
		}
		v, err := value.Parse([]byte(c.in))
		if err != nil {
			t.Fatal(err)
		}
		masked, hidden := paths.Mask(v)
		got, err := value.Encode(masked)
		if err != nil || string(got) != c.want {
			t.Errorf("%s in %s: %s, %v; want %s", c.path, c.in, got, err, c.want)
		}
		slices.Sort(hidden)
		if diff := cmp.Diff(c.hidden, hidden); diff != "" {
			t.Errorf("%s in %s hid (-want +got):\n%s", c.path, c.in, diff)
		}
	}
	for _, bad := range []string{"", "a..b", "a[1]", "a.", ".[", "a[*", "$."} {
		if p, err := ParsePaths(bad); err == nil {
			t.Errorf("%q was read as %q", bad, p)
		}
	}
}

func TestAFingerprintStandsForOperationAndArgumentsAlone(t *testing.T) {
	t.Parallel()
	stamp := func(operation string, arguments any) string {
		t.Helper()
		f, err := Fingerprint(operation, arguments, "key")
		if err != nil || len(f) != 64 {
			t.Fatalf("%q, %v", f, err)
		}
		return f
	}
	type typed struct {
		B int    `json:"b"`
		A string `json:"a"`
	}
	same := stamp("reserve", map[string]any{"a": "x", "b": 2, "key": "one"})
	for name, f := range map[string]string{
		"another key":   stamp("reserve", map[string]any{"a": "x", "b": 2, "key": "two"}),
		"another order": stamp("reserve", typed{2, "x"}),
		"a float":       stamp("reserve", map[string]any{"a": "x", "b": 2.0}),
	} {
		if f != same {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	for name, f := range map[string]string{
		"operation": stamp("release", map[string]any{"a": "x", "b": 2}),
		"value":     stamp("reserve", map[string]any{"a": "x", "b": 3}),
		"type":      stamp("reserve", map[string]any{"a": "x", "b": "2"}),
		"member":    stamp("reserve", map[string]any{"a": "x", "b": 2, "c": nil}),
	} {
		if f == same {
			t.Errorf("another %s leaves the fingerprint as it is", name)
		}
	}
	if f, err := Fingerprint("reserve", map[string]any{"a": uint64(1 << 63)}); err == nil {
		t.Errorf("arguments without an exact form have the fingerprint %s", f)
	}
}
