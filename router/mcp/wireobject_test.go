package mcp

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

func TestAnObjectsMembersAreTakenApartAndPutTogetherAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	const raw = `{"a":{"x":"}"},"b":[1,{"c":"]\""}],"n":1.50,"t":true,"\u0061b":"\u003c","e":{},"l":null}`
	all, ok := fieldsOf([]byte(" {\n\"a\" : {\"x\":\"}\"},\t\"b\":[1,{\"c\":\"]\\\"\"}], \"n\":1.50 ,\"t\":true\n,\"\\u0061b\":\"\\u003c\",\"e\":{},\"l\":null } "))
	if !ok || string(object(all)) != raw {
		t.Errorf("%v %s", ok, object(all))
	}
	if got := valueOf(all, "ab"); string(got) != `"\u003c"` {
		t.Errorf("ab is %s", got)
	}
	twice, _ := fieldsOf([]byte(`{"a":1,"b":2,"\u0061":3}`))
	if got := valueOf(twice, "a"); string(got) != "3" {
		t.Errorf("the last of two is %s", got)
	}
	if got := object(with(twice, "a", []byte("4"))); string(got) != `{"a":4,"b":2}` {
		t.Errorf("set: %s", got)
	}
	if got := object(without(twice, "a")); string(got) != `{"b":2}` {
		t.Errorf("left out: %s", got)
	}
}

func FuzzFieldsOf(f *testing.F) {
	for _, seed := range []string{`{}`, `{"a":1}`, ` {"a" : [ {"b":"\\\""} ] , "c":-1e5} `, `[]`, `{"a":1`, `{"a":{"b":{}},"":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		all, ok := fieldsOf(raw)
		var want map[string]json.RawMessage
		if err := json.Unmarshal(raw, &want); (err == nil && want != nil) != ok {
			t.Fatalf("taken apart: %v, decoded: %v", ok, err)
		}
		if !ok || !utf8.Valid(raw) { // a decoder mends names, which are left alone here
			return
		}
		for _, m := range all {
			if !json.Valid(m.value) || !bytes.Equal(bytes.TrimSpace(want[m.name]), valueOf(all, m.name)) {
				t.Errorf("%q: %s, decoded %s", m.name, m.value, want[m.name])
			}
		}
		var again map[string]json.RawMessage
		if err := json.Unmarshal(object(all), &again); err != nil || len(again) != len(want) {
			t.Errorf("put together: %s, %v", object(all), err)
		}
	})
}
