package value_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/state/value"
)

type obj = map[string]any

func TestParseKeepsNumbersExact(t *testing.T) {
	cases := []struct {
		name, text string
		want       any
	}{
		{"beyond 2⁵³", "9007199254740993", int64(9007199254740993)},
		{"largest int64", "9223372036854775807", int64(math.MaxInt64)},
		{"smallest int64", "-9223372036854775808", int64(math.MinInt64)},
		{"integral in exponent form", "1.5e3", int64(1500)},
		{"integral with a fraction of zeros", "2.000", int64(2)},
		{"exponent form beyond 2⁵³", "1.0000000000000001e18", int64(1000000000000000100)},
		{"zero, however it is written", "-0.00e7", int64(0)},
		{"a common fraction", "0.1", 0.1},
		{"a fraction at full precision", "0.10000000000000001", 0.1},
		{"smallest float64", "5e-324", 5e-324},
		{"a power of two beyond int64", "9223372036854775808", math.Pow(2, 63)},
		{"large and round", "1e300", 1e300},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := value.Parse([]byte(c.text))
			if err != nil || got != c.want {
				t.Fatalf("Parse(%s) = %v (%T), %v; want %v (%T)", c.text, got, got, err, c.want, c.want)
			}
		})
	}
}

func TestParseNamesThePathOfAnInexactNumber(t *testing.T) {
	for _, num := range []string{
		"18446744073709551615", "3.14159265358979323846264338327950288", "1e400", "-1e-400",
		"1e99999999999999999999", "1e-99999999999999999999", strings.Repeat("9", 800),
	} {
		_, err := value.Parse([]byte(`{"findings": [1, {"id": ` + num + `}]}`))
		var p *value.PathError
		if !errors.As(err, &p) || p.Path != "findings[1].id" {
			t.Errorf("Parse with %.40s: error %v, want one at findings[1].id", num, err)
		}
	}
}

func TestParseRefusesWhatIsNotJSON(t *testing.T) {
	for _, text := range []string{
		"", " ", "nul", "truex", "[1,]", "[1 2]", `{"a"}`, `{"a":1,}`, `{a:1}`, "01", "1.", ".5", "-", "1e", "+1",
		"\"a\nb\"", `"a`, `"\x"`, "\"\xff\"", "1 2", "NaN", "[", "{",
	} {
		_, err := value.Parse([]byte(text))
		var s *value.SyntaxError
		if !errors.As(err, &s) {
			t.Errorf("Parse(%q): error %v, want a SyntaxError", text, err)
		}
	}
}

func TestDepthIsBounded(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	v, err := value.Parse([]byte(nested(value.MaxDepth)))
	if err != nil {
		t.Fatalf("at the bound: %v", err)
	}
	if _, err := value.Encode(v); err != nil {
		t.Fatalf("encode at the bound: %v", err)
	}
	if _, err := value.Parse([]byte(nested(value.MaxDepth + 1))); err == nil {
		t.Fatal("beyond the bound: no error")
	}
	loop := obj{}
	loop["self"] = loop
	if _, err := value.Encode(loop); err == nil {
		t.Fatal("encode of a value that contains itself: no error")
	}
	if _, err := value.Normalize(loop); err == nil {
		t.Fatal("normalize of a value that contains itself: no error")
	}
}

func TestEncodeIsCanonical(t *testing.T) {
	type inner struct {
		ID  int64   `json:"id"`
		Tag *string `json:"tag,omitempty"`
	}
	when := time.Date(2026, 1, 2, 3, 4, 5, 600, time.UTC)
	cases := []struct {
		name string
		in   any
		want string
	}{
		{"keys sorted", obj{"b": 1, "a": true, "": nil}, `{"":null,"a":true,"b":1}`},
		{"no HTML escape", "<a&b>\u2028", "\"<a&b>\u2028\""},
		{"control characters", "\x00\n\t\r\"\\\x7f", "\"\\u0000\\n\\t\\r\\\"\\\\\x7f\""},
		{"integers of every Go type", []any{int8(-1), uint8(2), uint64(math.MaxInt64), int64(math.MinInt64)}, `[-1,2,9223372036854775807,-9223372036854775808]`},
		{"integral floats are integers", []any{3.0, math.Copysign(0, -1), 1e18}, `[3,0,1000000000000000000]`},
		{"floats are shortest", []any{0.1, 1e-7, 1e21, float32(0.1)}, `[0.1,1e-7,1e+21,0.1]`},
		{"time is RFC 3339", when, `"2026-01-02T03:04:05.0000006Z"`},
		{"raw JSON is made canonical", json.RawMessage(`{ "b": 1.0, "a": "\u0041" }`), `{"a":"A","b":1}`},
		{"json.Number", json.Number("9007199254740993"), `9007199254740993`},
		{"structs by their JSON form", []inner{{ID: 1 << 60}}, `[{"id":1152921504606846976}]`},
		{"typed maps", map[string][]string{"k": {"x"}}, `{"k":["x"]}`},
		{"maps with integer keys", map[int]string{2: "b", 1: "a"}, `{"1":"a","2":"b"}`},
		{"bytes are base64", []byte("hi"), `"aGk="`},
		{"big integers that fit", big.NewInt(7), `7`},
		{"nil slices, maps and pointers are null", []any{[]string(nil), obj(nil), (*inner)(nil), []any(nil)}, `[null,null,null,null]`},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := value.Encode(c.in)
			if err != nil || string(got) != c.want {
				t.Fatalf("Encode = %s, %v; want %s", got, err, c.want)
			}
			n, err := value.Normalize(c.in)
			if err != nil {
				t.Fatal(err)
			}
			again, err := value.Encode(n)
			if err != nil || string(again) != c.want {
				t.Fatalf("Encode(Normalize) = %s, %v; want %s", again, err, c.want)
			}
		})
	}
}

func TestWhatHasNoExactFormIsAnErrorThatNamesItsPath(t *testing.T) {
	type report struct {
		Name string
		Rate float64 `json:"rate"`
		Done chan int
	}
	cases := []struct {
		name string
		in   any
		path string
	}{
		{"NaN", obj{"a": []any{1, math.NaN()}}, "a[1]"},
		{"infinity", []float64{1, math.Inf(1)}, "[1]"},
		{"channel", obj{"x": make(chan int)}, "x"},
		{"function", func() {}, ""},
		{"integer beyond int64", obj{"odd key": uint64(math.MaxUint64)}, `["odd key"]`},
		{"text that is not UTF-8", obj{"file": "\xff"}, "file"},
		{"key that is not UTF-8", obj{"\xff": 1}, `["\xff"]`},
		{"raw JSON that is none", obj{"raw": json.RawMessage("{")}, "raw"},
		{"inexact number in raw JSON", obj{"raw": json.RawMessage(`{"n":[1e400]}`)}, "raw.n[0]"},
		{"field of a struct", obj{"r": report{}}, "r.Done"},
		{"float of a struct", struct {
			Rate float64 `json:"rate"`
		}{math.NaN()}, "rate"},
		{"the first of several by key", obj{"b": math.NaN(), "a": math.NaN()}, "a"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			for form, f := range map[string]func() error{
				"Encode":    func() error { _, err := value.Encode(c.in); return err },
				"Normalize": func() error { _, err := value.Normalize(c.in); return err },
			} {
				var p *value.PathError
				if err := f(); !errors.As(err, &p) || p.Path != c.path {
					t.Errorf("%s: error %v, want a PathError at %q", form, err, c.path)
				}
			}
		})
	}
}

func TestNormalizeAndCloneShareNothing(t *testing.T) {
	in := obj{"list": []any{obj{"n": int64(1)}}}
	n, err := value.Normalize(in)
	if err != nil {
		t.Fatal(err)
	}
	c := value.Clone(in)
	in["list"].([]any)[0].(obj)["n"] = int64(2)
	want := obj{"list": []any{obj{"n": int64(1)}}}
	if d := cmp.Diff(want, n); d != "" {
		t.Errorf("Normalize aliases its argument: %s", d)
	}
	if d := cmp.Diff(want, c); d != "" {
		t.Errorf("Clone aliases its argument: %s", d)
	}
}

func TestAppendKeepsWhatWasThere(t *testing.T) {
	got, err := value.Append([]byte("x="), []any{1})
	if err != nil || string(got) != "x=[1]" {
		t.Fatalf("Append = %s, %v", got, err)
	}
	got, err = value.Append([]byte("x="), []any{1, math.NaN()})
	if err == nil || string(got) != "x=" {
		t.Fatalf("Append of NaN = %s, %v; want x= and an error", got, err)
	}
}

func TestEqual(t *testing.T) {
	a := obj{"a": []any{int64(1), nil, "x", 0.5, true}}
	if !value.Equal(a, value.Clone(a)) {
		t.Error("a value differs from its clone")
	}
	for _, b := range []any{
		nil, "x", obj{}, obj{"b": nil}, obj{"a": []any{int64(1)}},
		obj{"a": []any{int64(1), nil, "x", 0.5, false}}, obj{"a": obj{}},
	} {
		if value.Equal(a, b) || value.Equal(b, a) {
			t.Errorf("%v equals %v", a, b)
		}
	}
}

func TestKind(t *testing.T) {
	for want, v := range map[string]any{
		"null": nil, "boolean": true, "number": int64(1), "string": "", "array": []any{}, "object": obj{}, "": 1,
	} {
		if got := value.Kind(v); got != want {
			t.Errorf("Kind(%v) = %q, want %q", v, got, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2.5,"x\u00e9\n",null,true],"b":{}}`, "9007199254740993", "1e-7", "-0.0", "[[[]]]", `"\ud800"`, "1e400",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := value.Parse(data)
		if err != nil {
			return
		}
		if !json.Valid(data) {
			t.Fatalf("Parse took %q, which is not JSON", data)
		}
		enc, err := value.Encode(v)
		if err != nil {
			t.Fatalf("Encode(Parse(%q)): %v", data, err)
		}
		again, err := value.Parse(enc)
		if err != nil || !value.Equal(v, again) {
			t.Fatalf("%q → %s → %#v, %v", data, enc, again, err)
		}
		twice, err := value.Encode(again)
		if err != nil || string(twice) != string(enc) {
			t.Fatalf("%s is encoded again as %s, %v", enc, twice, err)
		}
	})
}

func ExampleEncode() {
	data, err := value.Encode(map[string]any{"n": 1 << 60, "at": time.Unix(0, 0).UTC()})
	fmt.Println(string(data), err)
	_, err = value.Encode(map[string]any{"rates": []float64{0.5, math.NaN()}})
	fmt.Println(err)
	// Output:
	// {"at":"1970-01-01T00:00:00Z","n":1152921504606846976} <nil>
	// rates[1]: NaN is no JSON number
}

func sample() any {
	var findings []any
	for i := range 50 {
		findings = append(findings, obj{"file": "cmd/server/main.go", "line": int64(i), "severity": "high", "score": 0.25, "message": "error is not checked"})
	}
	return obj{"repo": ".", "findings": findings, "approved": true}
}

func BenchmarkEncode(b *testing.B) {
	v := sample()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		var err error
		if buf, err = value.Append(buf[:0], v); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buf)))
}

func BenchmarkParse(b *testing.B) {
	data, err := value.Encode(sample())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := value.Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}
