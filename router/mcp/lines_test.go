package mcp

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestALineThatIsSkippedKeepsItsIDWhereOneEndShowsIt(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a", 3*glimpse)
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"` + long + `"}`:           `7`,
		`{ "id" : "a\"b" , "x":"` + long + `"}`:                      `"a\"b"`,
		`{"x":"` + long + `","id":-7}`:                               `-7`,
		`{"x":{"id":3,"y":"` + long + `"},"id": "7" } `:              `"7"`,
		`{"id":7.5,"x":"` + long + `"}`:                              ``, // a part of a number is another number
		`{"x":{"id":7,"y":"` + long + `"}}`:                          ``,
		`{"x":"` + long + `","y":{"id":7}}`:                          ``,
		`{"x":"` + long + `","id":7,"y":"` + long + `"}`:             ``,
		`{"x":"\"id\":7,","y":"` + long + `\"id\":7}"}`:              ``,
		`{"jsonrpc":"2.0","id":null,"x":"` + long + `"}`:             ``,
		`{"x":["` + long + strings.Repeat(`",{"id":7},"`, 1) + `"]}`: ``,
	} {
		l := NewLines(strings.NewReader(line+"\r\nnext"), glimpse)
		_, spoiled, err := l.Next()
		if err != nil || spoiled == nil || string(spoiled.ID) != want || !errors.Is(spoiled.Why, errTooLarge) {
			t.Errorf("%.40s…%s: %v, %v", line, line[len(line)-20:], spoiled, err)
		}
		if text, spoiled, err := l.Next(); string(text) != "next" || spoiled != nil || !errors.Is(err, io.EOF) {
			t.Errorf("then %q, %v, %v", text, spoiled, err)
		}
	}
}

func TestALineOfTooManyValuesIsSkipped(t *testing.T) {
	t.Parallel()
	l := NewLines(strings.NewReader(`{"id":7,"x":[`+strings.Repeat("0,", fewestValues)+"0]}\n\nnext\n"), 1<<20)
	if _, spoiled, err := l.Next(); err != nil || spoiled == nil || string(spoiled.ID) != "7" || !errors.Is(spoiled.Why, errCrowded) {
		t.Error(spoiled, err)
	}
	for _, want := range []string{"", "next"} {
		if text, spoiled, err := l.Next(); string(text) != want || spoiled != nil || err != nil {
			t.Errorf("%q, %v, %v", text, spoiled, err)
		}
	}
}
