package inventory_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	mcpserver "github.com/mark3labs/mcp-go/server"

	"junction/examples/inventory"
	"junction/state/ledger/mcptool"
)

// The ten conditions of a tool that may be called again.

func TestCondition1TheKeyBindsSKUQuantityTenantAndOperation(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	c := stdio(t, file)
	reserve(t, c, order("k"))
	for member, other := range map[string]any{"sku": "nut", "quantity": 3, "tenant": "other", "operation": "order-7/line-2"} {
		refused(t, c, order("k", member, other), "idempotency_conflict")
	}
	reservedIs(t, file, 2)
	if i := item(t, file, "nut"); i.Reserved != 0 {
		t.Errorf("nuts: %+v", i)
	}
}

func TestCondition2SameKeyAndArgumentsReturnTheFirstReservation(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	a, b := stdio(t, file), stdio(t, file)
	first := reserve(t, a, order("k"))
	reserve(t, b, order("another", "quantity", 5))
	for _, c := range []*client.Client{a, b} {
		if diff := cmp.Diff(first, reserve(t, c, order("k"))); diff != "" {
			t.Errorf("again (-first +now):\n%s", diff)
		}
	}
	if first.Free != 98 || first.Reservation == "" {
		t.Errorf("%+v", first)
	}
	reservedIs(t, file, 7)
}

func TestCondition3AChangedQuantityFailsAndReservesNothing(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	a, b := stdio(t, file), stdio(t, file)
	reserve(t, a, order("k"))
	for _, quantity := range []int{1, 3, 100} {
		refused(t, b, order("k", "quantity", quantity), "idempotency_conflict")
	}
	reservedIs(t, file, 2)
}

func TestCondition4ACommittedExecutionWhoseAnswerWasLostIsReconciledByKey(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if r, err := call(ctx, stdio(t, file, "--lose-after", "0"), "reserve_inventory", order("k")); err == nil {
		t.Fatalf("the answer was not lost: %+v", r)
	}
	reservedIs(t, file, 2)
	c := stdio(t, file)
	type finding struct {
		Happened bool
		Result   *answer
	}
	find := func(key string) finding {
		t.Helper()
		r, err := call(ctx, c, "find_reservation", map[string]any{"idempotencyKey": key})
		if err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		return read[finding](t, r)
	}
	lost := find("k")
	if !lost.Happened || lost.Result == nil || lost.Result.Quantity != 2 || lost.Result.Reservation == "" {
		t.Fatalf("found: %+v", lost)
	}
	if never := find("never"); never.Happened || never.Result != nil {
		t.Errorf("a key that never came: %+v", never)
	}
	if diff := cmp.Diff(*lost.Result, reserve(t, c, order("k"))); diff != "" {
		t.Errorf("the same call again (-found +now):\n%s", diff)
	}
	reservedIs(t, file, 2)

	if r, err := call(ctx, c, "reserve_inventory", order("short", "quantity", 99)); err != nil || !r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	if short := find("short"); short.Happened {
		t.Errorf("an order that was refused: %+v", short)
	}
}

func TestCondition5ResultsRecordNoSecretOrPaymentData(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	c := stdio(t, file)
	const card, cvc = "4111111111111111", "pin-8842"
	payment := map[string]any{"card": card, "cvc": cvc}
	for _, o := range []map[string]any{order("k", "payment", payment), order("k", "payment", payment), order("k")} {
		r, err := call(t.Context(), c, "reserve_inventory", o)
		if err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		text, err := json.Marshal(r)
		if err != nil || strings.Contains(string(text), card) || strings.Contains(string(text), cvc) {
			t.Errorf("answered: %s, %v", text, err)
		}
		if got := read[answer](t, r).Payment; got["card"] != "[redacted]" {
			t.Errorf("payment %v", got)
		}
	}
	files, err := filepath.Glob(file + "*")
	if err != nil || len(files) < 2 { // with its log
		t.Fatalf("files %v, %v", files, err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil || strings.Contains(string(data), card) || strings.Contains(string(data), cvc) {
			t.Errorf("%s holds a secret, or cannot be read: %v", name, err)
		}
	}
	reservedIs(t, file, 2)
}

func TestCondition7AfterABrokenSubscriptionTheRecordIsReadAgainBeforeDeciding(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	server := serveHTTP(t, file)
	c := server.connect(t)
	w := inventory.NewWatch(c, "washer")
	listen := func() (ended chan error) {
		ended = make(chan error, 1)
		go func() { ended <- w.Listen(t.Context()) }()
		return ended
	}
	enough := func(quantity int64) bool {
		t.Helper()
		yes, err := w.Enough(t.Context(), quantity)
		if err != nil {
			t.Fatal(err)
		}
		return yes
	}
	ended := listen()
	until(t, "a subscription, and a record that needs no reading", func() bool { return enough(5) && w.Known() })

	// While the subscription stands, it tells of what others do, here and elsewhere.
	other := stdio(t, file)
	reserve(t, server.connect(t), order("1", "sku", "washer", "quantity", 1))
	until(t, "the notice of a change", func() bool { return !enough(5) })
	reserve(t, other, order("2", "sku", "washer", "quantity", 1))
	until(t, "the notice of a change at another server", func() bool { return !enough(4) })
	until(t, "a record that needs no reading", func() bool { return enough(3) && w.Known() })

	server.kill()
	if err := <-ended; err == nil {
		t.Error("the subscription ended without an error")
	}
	if w.Known() {
		t.Error("after its subscription broke, the record is believed")
	}
	reserve(t, other, order("3", "sku", "washer", "quantity", 2)) // nobody is told
	server.start(t)
	if enough(3) || !enough(1) {
		t.Error("the decision was made by the record from before the break")
	}
	if w.Known() {
		t.Error("without a subscription, the record is believed")
	}
	listen() // a new one
	until(t, "a new subscription", func() bool { return enough(1) && w.Known() })
}

func TestCondition8TwoConnectionsReleasedAtABarrierWithTheSameKeyMakeOneReservation(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	web := serveHTTP(t, file)
	connections := []*client.Client{stdio(t, file), stdio(t, file), web.connect(t), web.connect(t)}
	for n := range 10 {
		answers := make([]answer, len(connections))
		barrier := make(chan struct{})
		var calls sync.WaitGroup
		for i, c := range connections {
			calls.Go(func() {
				<-barrier
				r, err := call(t.Context(), c, "reserve_inventory", order(keyed(n)))
				if err != nil || r.IsError {
					t.Errorf("%+v, %v", r, err)
					return
				}
				answers[i] = read[answer](t, r)
			})
		}
		close(barrier)
		calls.Wait()
		for _, a := range answers {
			if diff := cmp.Diff(answers[0], a); diff != "" || a.Reservation == "" {
				t.Errorf("answers differ:\n%s", diff)
			}
		}
		reservedIs(t, file, int64(2*(n+1)))
	}
}

// handler is the tool of a stock, called without a wire between.
func handler(t *testing.T, s *inventory.Stock, name string) mcpserver.ToolHandlerFunc {
	t.Helper()
	tools, err := inventory.Tools(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools {
		if tool.Tool.Name == name {
			return tool.Handler
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func request(arguments map[string]any) (r mcp.CallToolRequest) {
	r.Params.Name, r.Params.Arguments = "reserve_inventory", arguments
	return r
}

func TestCondition9ChangingTheReturnedObjectChangesNothingStored(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	s := openStock(t, file)
	do := handler(t, s, "reserve_inventory")
	for n := range 3 {
		r, err := do(t.Context(), request(order("k")))
		if err != nil || r.IsError {
			t.Fatalf("%+v, %v", r, err)
		}
		if a := read[answer](t, r); a.Quantity != 2 || a.SKU != "bolt" {
			t.Fatalf("answer %d: %+v", n, a)
		}
		r.StructuredContent.(map[string]any)["quantity"] = 99
		clear(r.RawStructuredContent)
		r.Content, r.IsError = nil, true
		r.Meta.GetMetaField(mcptool.MetaName).(map[string]any)["receipt"] = "another"
	}
	reservedIs(t, file, 2)
}

func TestCondition10AfterClosingAndReopeningTheFileItIsReconciledByKey(t *testing.T) {
	t.Parallel()
	file := newFile(t)
	s, err := inventory.Open(t.Context(), file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := handler(t, s, "reserve_inventory")(t.Context(), request(order("k")))
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	first := read[answer](t, r)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStock(t, file)
	r, err = handler(t, s, "find_reservation")(t.Context(), request(map[string]any{"idempotencyKey": "k"}))
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	found := read[struct {
		Happened bool
		Result   answer
	}](t, r)
	if diff := cmp.Diff(first, found.Result); !found.Happened || diff != "" {
		t.Errorf("found %+v (-first +found):\n%s", found, diff)
	}
	r, err = handler(t, s, "reserve_inventory")(t.Context(), request(order("k")))
	if err != nil || r.IsError {
		t.Fatalf("%+v, %v", r, err)
	}
	if diff := cmp.Diff(first, read[answer](t, r)); diff != "" {
		t.Errorf("again (-first +now):\n%s", diff)
	}
	reservedIs(t, file, 2)
}

// until waits for something that time brings.
func until(t *testing.T, what string, came func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for end := time.After(20 * time.Second); !came(); {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("it did not come: %s", what)
		}
	}
}
