package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"junction/router/bridge"
	"junction/router/mcp"
)

// entered is a stream that says when a write of it has begun.
type entered struct {
	io.Writer
	once *sync.Once
	in   chan struct{}
}

func enteredBy(w io.Writer) entered {
	return entered{Writer: w, once: &sync.Once{}, in: make(chan struct{})}
}

func (e entered) Write(p []byte) (int, error) {
	e.once.Do(func() { close(e.in) })
	return e.Writer.Write(p)
}

// left is an entered stream that a deadline parts from who writes to it.
type left struct{ entered }

func (l left) SetWriteDeadline(t time.Time) error {
	return l.Writer.(*os.File).SetWriteDeadline(t)
}

// closed is one that its closing does.
type closed struct{ entered }

func (c closed) Close() error { return c.Writer.(io.Closer).Close() }

// The one that writes is who has the answer, not the goroutine that is there for it.
func TestAnAnswerThatTheClientDoesNotReadHoldsUpNoOtherRequestAndNoEnd(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	for name, out := range map[string]func(*testing.T) (io.Writer, <-chan struct{}){
		"a file with a deadline": func(t *testing.T) (io.Writer, <-chan struct{}) {
			e := enteredBy(fullFile(t))
			return left{e}, e.in
		},
		"a stream that can be closed": func(t *testing.T) (io.Writer, <-chan struct{}) {
			e := enteredBy(full(t))
			return closed{e}, e.in
		},
		"a stream that cannot be left": func(*testing.T) (io.Writer, <-chan struct{}) {
			e := enteredBy(stuck{never})
			return e, e.in
		},
	} {
		for end, gone := range map[string]bool{"the program ends": false, "the client sends nothing more": true} {
			t.Run(name+", "+end, func(t *testing.T) {
				t.Parallel()
				w, writing := out(t)
				in, to := io.Pipe()
				begun := make(chan string, 2)
				f := bridge.NewFront(in, w, frontHandler{begin: func(_ context.Context, method string, _ json.RawMessage) func() mcp.Reply {
					begun <- method
					return result(`"` + strings.Repeat("a", 1<<20) + `"`)
				}}, nil)
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				served := make(chan error, 1)
				go func() { served <- f.Serve(ctx) }()
				say := func(line string) {
					if _, err := io.WriteString(to, line+"\n"); err != nil {
						t.Fatal(err)
					}
				}
				say(`{"jsonrpc":"2.0","id":1,"method":"first","params":{}}`)
				within(t, writing)
				say(`{"jsonrpc":"2.0","id":2,"method":"second","params":{}}`)
				for range 2 {
					within(t, begun)
				}
				began := time.Now()
				if gone {
					to.Close() //nolint:errcheck // a pipe's writer cannot fail to close
					time.AfterFunc(100*time.Millisecond, cancel)
				} else {
					cancel()
				}
				if err := within(t, served); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
				if took := time.Since(began); took > 8*time.Second {
					t.Errorf("it took %v", took)
				}
			})
		}
	}
}

func TestNothingIsWrittenOnceAFrontHasServed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	f := bridge.NewFront(strings.NewReader(""), &out, frontHandler{}, nil)
	if err := f.Serve(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Late()
	if out.Len() > 0 {
		t.Errorf("%q was", out.String())
	}
}
