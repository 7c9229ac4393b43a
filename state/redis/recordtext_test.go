package redis

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"junction/state"
)

// fillFields gives every field of a struct a value that is not its zero.
func fillFields(t *testing.T, v reflect.Value, n *int) {
	t.Helper()
	for i := range v.NumField() {
		f := v.Field(i)
		*n++
		switch f.Interface().(type) {
		case json.RawMessage:
			f.SetBytes(fmt.Appendf(nil, `{"n":%d}`, *n))
			continue
		case time.Time:
			f.Set(reflect.ValueOf(time.Unix(int64(*n), 0).UTC()))
			continue
		case map[string]json.RawMessage:
			f.Set(reflect.ValueOf(map[string]json.RawMessage{"k": json.RawMessage("7")}))
			continue
		}
		switch f.Kind() {
		case reflect.String:
			f.SetString(fmt.Sprintf("text \"%d\" <é>\n\x01", *n))
		case reflect.Int, reflect.Int64:
			f.SetInt(int64(*n))
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			if f.Elem().Kind() == reflect.Struct {
				fillFields(t, f.Elem(), n)
			}
		default:
			t.Fatalf("field %s is of a kind that this test does not know", v.Type().Field(i).Name)
		}
	}
}

func TestEveryFieldOfARecordComesBackFromItsText(t *testing.T) {
	t.Parallel()
	var full state.Record
	n := 0
	fillFields(t, reflect.ValueOf(&full).Elem(), &n)
	plain := state.Record{Task: "t", Node: "n", Hop: "h", Name: "1", InputHash: "in", Status: state.CallOpen}
	for _, r := range []state.Record{full, plain, {}} {
		var p packer
		text := p.recordText(&r)
		must(t, p.Err)
		var got state.Record
		must(t, json.Unmarshal([]byte(text), &got))
		want := r.Clone()
		want.Thread, want.Started, want.Result = "", time.Time{}, nil // stand elsewhere
		equal(t, "record", got, want)
	}
}
