package mcp

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestAStreamEndsWithItsAnswer(t *testing.T) {
	const progress = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1,"id":7}}`
	const answer = `{"jsonrpc":"2.0","id":7,"result":{"text":"\"method\""}}`
	event := func(data string) string { return "id: 3\ndata: " + data + "\n\n" }
	for name, tc := range map[string]struct {
		stream, passed string // "": all of it
		strays         map[Stray]uint64
	}{
		"progress, then the answer":   {stream: event(progress) + event(answer)},
		"a request of the server":     {stream: event(`{"jsonrpc":"2.0","id":1,"method":"roots/list"}`) + event(answer)},
		"lines of CR and LF":          {stream: strings.ReplaceAll(event(progress)+event(answer), "\n", "\r\n")},
		"an answer over two lines":    {stream: "data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":7,\"result\":{}}\n\n"},
		"comments and junk":           {stream: ": wait\n\ndata: junk \"id\"\n\n\n\n" + event(answer)},
		"without an end":              {stream: event(progress) + "data: " + answer},
		"a second and a made-up one":  {stream: event(answer) + event(answer) + event(`{"id":8,"result":{}}`), passed: event(answer), strays: map[Stray]uint64{DuplicateAnswer: 1, WrongID: 1}},
		"progress after the answer":   {stream: event(answer) + event(progress), passed: event(answer)},
		"half a second one":           {stream: event(answer) + "data: {\"id\"", passed: event(answer)},
		"an error without an id told": {stream: event(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700}}`)},
	} {
		for how, read := range map[string]func(io.Reader) io.Reader{
			"at once": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader, "in halves": iotest.HalfReader,
		} {
			counted := &tally{tell: func(string, Stray) {}}
			e := &events{ReadCloser: io.NopCloser(read(strings.NewReader(tc.stream))), ex: &exchange{id: 7, asked: newRequests(counted)}}
			got, err := io.ReadAll(e)
			want := tc.passed
			if want == "" {
				want = tc.stream
			}
			if err != nil || string(got) != want {
				t.Errorf("%s, %s: passed %q, %v", name, how, got, err)
			}
			if how != "at once" {
				continue // what comes after the answer is not read
			}
			for i, kind := range kinds {
				if n := counted.counts[i].Load(); n != tc.strays[kind] {
					t.Errorf("%s: %d of %s", name, n, kind)
				}
			}
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: {\"id\":7}\n\ndata: {\"id\":7}\n\n"), 3)
	f.Add([]byte(": c\r\n\r\nid: 1\r\ndata: {\"method\":\"x\"}\r\n\r\n"), 1)
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		size = 1 + max(0, min(size, 1<<12))
		counted := &tally{tell: func(string, Stray) {}}
		e := &events{ReadCloser: io.NopCloser(bytes.NewReader(stream)), ex: &exchange{id: 7, asked: newRequests(counted)}}
		var got []byte
		for p := make([]byte, size); ; {
			n, err := e.Read(p)
			got = append(got, p[:n]...)
			if err != nil {
				break
			}
		}
		if !bytes.HasPrefix(stream, got) || !e.over && len(got) != len(stream) {
			t.Fatalf("%q became %q", stream, got)
		}
	})
}
