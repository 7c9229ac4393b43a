package worker_test

import (
	"context"
	"fmt"

	"junction/graph"
	"junction/graph/worker"
	"junction/state"
	"junction/state/memory"
)

// A worker runs what is queued. Start as many as you like, on as many machines:
// the store here is the memory of one process, a fleet shares a Redis.
func Example() {
	type Order struct {
		Item string `json:"item"`
	}
	type Nothing struct{}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	b := graph.New[Order]("order", nil)
	graph.AddNode(b, "ship", func(_ context.Context, o Order) (Nothing, error) {
		fmt.Println("shipped:", o.Item)
		return Nothing{}, nil
	})
	b.Edge(graph.Start, "ship", graph.End)
	g, err := b.Compile()
	if err != nil {
		fmt.Println(err)
		return
	}

	store := memory.New(nil) // both a state.Store and a state.Queue
	err = worker.Enqueue(ctx, store, "order-1", func(ctx context.Context) error {
		_, err := g.Create(ctx, Order{Item: "lamp"}, graph.RunOptions{Store: store, Thread: "order-1"})
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	w := worker.New(store, store, func(ctx context.Context, t state.Thread, o graph.RunOptions) (graph.Result, error) {
		defer stop() // one order is enough for today
		res, err := g.Resume(ctx, t.ID, o)
		return res.Result, err
	}, nil)
	if err := w.Serve(ctx); err != nil {
		fmt.Println(err)
		return
	}
	t, err := store.Thread(context.Background(), "order-1")
	fmt.Println(t.Status, err)
	// Output:
	// shipped: lamp
	// completed <nil>
}
