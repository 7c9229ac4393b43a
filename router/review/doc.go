// Package review judges an MCP server and the way it is used, before anybody
// trusts it with effects: it is what `junction review` prints.
//
//	in, err := r.Inspect(ctx, "billing")
//	…
//	rv := review.New(in, review.Settings{Client: client.Policy()})
//	for _, f := range rv.Findings {
//		fmt.Println(f.Level, f.Tool, f.Says, f.Paste)
//	}
//
// A [Review] is data, and evidence rather than opinion. What happens after a
// failure is the router's own table ([router.RetryTable]). What happens when a
// cancel meets an answer is [Races], which the laboratory in
// examples/reliability brings about at real servers and holds to this table row
// by row. Each row of [Faults] names the test that brings it about.
//
// A [Finding] says what can go wrong with which tool, and what to write into the
// servers file so that it cannot.
package review
