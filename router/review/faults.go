package review

// Fault is a row of the failure table: what goes wrong between a client and a
// server of MCP, what is then seen, what the right response is, and the test in
// this module that brings the fault about and holds the code to that response.
type Fault struct {
	Name     string
	Symptom  string
	Response string
	Fixture  string // "router/mcp.TestName": the package's directory, then the test
}

// Faults is the failure table, in the order in which it is printed.
var Faults = []Fault{
	{
		Name:     "HTTP client posts a cancel notice",
		Symptom:  "the two sides disagree on whether the request still lives",
		Response: "close that request's stream and post nothing",
		Fixture:  "router/mcp.TestAnHTTPCancelClosesTheStreamAndPostsNothing",
	},
	{
		Name:     "server answers after accepting a cancel",
		Symptom:  "a late, useless result",
		Response: "stop, suppress what still comes, and count it",
		Fixture:  "router/mcp.TestACancelThatComesFirstSuppressesTheResult",
	},
	{
		Name:     "progress resets every deadline",
		Symptom:  "hung work lives for ever",
		Response: "a separate maximum that nothing resets",
		Fixture:  "router/mcp.TestProgressResetsTheIdleClockAndNeverTheMaximum",
	},
	{
		Name:     "new RPC id taken for deduplication",
		Symptom:  "charge, deploy or delete runs twice",
		Response: "a durable key that names the intent, the same on every attempt",
		Fixture:  "router/mcp.TestANewIDAloneRunsTheMutationAgain",
	},
	{
		Name:     "key check apart from effect",
		Symptom:  "two workers both see \"absent\"",
		Response: "claim, receipt and result commit as one",
		Fixture:  "state/ledger.TestSameKeyAndArgumentsRunOnceUnderATwoConnectionRace",
	},
	{
		Name:     "in-memory ledger over replicas",
		Symptom:  "a restart forgets what was committed",
		Response: "a shared durable store, or the upstream's own idempotency",
		Fixture:  "state/ledger.TestTheRecordSurvivesReopeningAndReplaysGiveCopies",
	},
	{
		Name:     "stored result handed out by reference",
		Symptom:  "a caller's change corrupts replays",
		Response: "serialise, and return copies",
		Fixture:  "state/ledger.TestChangingAReturnedResultChangesNothingStored",
	},
	{
		Name:     "key reused with other arguments",
		Symptom:  "one key, two intents",
		Response: "store and compare the fingerprint of the arguments",
		Fixture:  "state/ledger/mcptool.TestAKeyWithOtherArgumentsIsARefusalThatRoutersRead",
	},
	{
		Name:     "unbounded progress queue",
		Symptom:  "a slow consumer and growing memory",
		Response: "coalesce progress, and drop what is replaceable",
		Fixture:  "router/mcp/hostiletest.TestWhatAServerFloodsAClientWithIsNotKept",
	},
	{
		Name:     "final dropped under pressure",
		Symptom:  "an outcome that nobody can know",
		Response: "reserve room for finals, and evict progress",
		Fixture:  "router.TestTheBufferStaysInItsBoundAndKeepsFinals",
	},
	{
		Name:     "proxy buffers SSE",
		Symptom:  "progress in bursts, or after the timeout",
		Response: "turn buffering off, and match the timeouts",
		Fixture:  "router/mcp/sse.TestThroughNginxEventsOfAServerWithoutTheHeaderArriveInOneBurst",
	},
	{
		Name:     "Last-Event-ID assumed",
		Symptom:  "resuming from what is not there",
		Response: "a new request, and a new reading of what was watched",
		Fixture:  "router/mcp.TestReconnectIsANewRequestWithoutLastEventIDAndRereads",
	},
	{
		Name:     "everybody reconnects at once",
		Symptom:  "recovery becomes the next outage",
		Response: "back-off with full jitter, and a cap",
		Fixture:  "router/mcp.TestTenThousandClientsDoNotComeBackInAHerd",
	},
	{
		Name:     "task ack taken for the end",
		Symptom:  "the page says stopped, the worker runs",
		Response: "poll to a terminal state",
		Fixture:  "router/mcp.TestATaskStaysNonTerminalAfterTasksCancelUntilTheWorkerActs",
	},
}
