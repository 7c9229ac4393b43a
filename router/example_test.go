package router_test

import (
	"context"
	"fmt"

	"junction/router"
	"junction/state"
)

func ExampleRouter_Do() {
	servers := newFleet().add("reviewer", func(s *router.Server, _ *script) {
		s.Offers[0].Attributes = map[string][]string{"language": {"go", "rust"}}
	})
	r := router.New(servers, servers, nil)
	defer r.Close()

	answer, err := r.Do(context.Background(), state.Call{
		Capability: "work",
		Need:       map[string]any{"language": "rust"},
		With:       map[string]any{"code": "fn main() {}"},
	})
	fmt.Println(answer.Server, answer.Value, err)
	// Output: reviewer map[by:reviewer] <nil>
}

func ExampleRouter_Route() {
	servers := newFleet().add("go-only", func(s *router.Server, _ *script) {
		s.Offers[0].Attributes = map[string][]string{"language": {"go"}}
	})
	r := router.New(servers, servers, nil)
	defer r.Close()

	_, err := r.Route(context.Background(), state.Call{Capability: "work", Need: map[string]any{"language": "rust"}})
	fmt.Println(err)
	// Output: no server for "work": go-only (need: needs language rust; it has go)
}

func ExampleKey() {
	// Within a task, hops with names of their own may run at once.
	call := router.Key("diff of main.go", state.Call{Capability: "diff"})
	fmt.Println(call.Name)
	// Output: diff of main.go
}

func ExampleReplayPick() {
	d := router.Decision{Policy: "weighted-random", Seed: 42, Picked: "a", Candidates: []router.Candidate{
		{Server: "a", Weight: 0.27}, {Server: "b", Weight: 0.20}, {Server: "c", Weight: 0.13},
	}}
	fmt.Println(router.ReplayPick(d))
	// Output: a
}
