package bridge

import (
	"testing"
	"testing/synctest"

	"junction/router/mcp"
	"junction/state"
)

func TestHintsAreLearntOfAListHoweverItIsAskedFor(t *testing.T) {
	t.Parallel()
	list := fate{reply: mcp.Reply{Result: []byte(`{"tools":[
		{"name":"look","annotations":{"readOnlyHint":true}},
		{"name":"put","annotations":{"idempotentHint":true}},
		{"name":"add"}]}`)}}
	for name, ask := range map[string]func(t *testing.T, s Session){
		"at once": func(t *testing.T, s Session) {
			if _, e := s.Do(t.Context(), &mcp.Request{Method: "tools/list"}); e != nil {
				t.Error(e)
			}
		},
		"in two halves": func(t *testing.T, s Session) {
			if _, e := s.(punctual).Start(t.Context(), &mcp.Request{Method: "tools/list"})(); e != nil {
				t.Error(e)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				_, _, v := connected(t, &LineOptions{}, nil)
				hints := &Hints{}
				s := hints.Learn(v)
				if !s.(punctual).Punctual() {
					t.Fatal("it is not said what the session says")
				}
				go ask(t, s)
				v.of("tools/list").answer <- list
				synctest.Wait()
				for tool, want := range map[string]state.Effect{"look": state.Safe, "put": state.Safe, "add": state.Unsafe} {
					if got := hints.Effect(tool, false); got != want {
						t.Errorf("%s is %s, want %s", tool, got, want)
					}
				}
			})
		})
	}
}
