package cause

import "junction/router"

// Kind is a known cause; of a failure that is none of these, its code.
type Kind string

const (
	Down        Kind = "server_down"
	Hangs       Kind = "server_hangs"
	Overloaded  Kind = "overloaded"
	Slow        Kind = "slow"
	Flapping    Kind = "flapping"
	Broken      Kind = "server_error"
	Auth        Kind = "auth"
	Drifted     Kind = "drifted_schema"
	Misfit      Kind = "misfit"
	Version     Kind = "version"
	Quota       Kind = "quota"
	Refused     Kind = "tool_error"
	Network     Kind = "network"
	Session     Kind = "session_expired"
	Skew        Kind = "clock_skew"
	Deadline    Kind = "deadline"
	Budget      Kind = "budget"
	Saturation  Kind = "saturation"
	NoCandidate Kind = "no_candidate"
	HeldBack    Kind = "held_back"
	Conflict    Kind = "key_conflict"
	Expression  Kind = "expression"
	Endless     Kind = "recursion_limit"
	Stopped     Kind = "cancelled"

	// What keeps a run from going on.

	Loop           Kind = "router_loop"
	StaleDiscovery Kind = "stale_discovery"
	BlockedCommit  Kind = "blocked_checkpoint"
	LargeContext   Kind = "oversized_context"
)

// words say what a cause is, and what helps.
type words struct {
	likely, try string
	anew        bool // a thread that is resumed would fail again
}

var kinds = map[Kind]words{
	Down:           {"the server is down: it takes no connection", "start it, or look at its log; junction servers FILE shows its last words", false},
	Hangs:          {"the server hangs: it has answered nothing in time", "restart it, or look at its log; another server of the capability would take over", false},
	Overloaded:     {"the server refuses work because it is overloaded", "add a replica, or lower the load", false},
	Slow:           {"the server is slower than the node's timeout", "raise the node's timeout, or look at why the server is slow", false},
	Flapping:       {"the server flaps: it works, fails and works again", "look at its log for restarts; take it out until it is steady", false},
	Broken:         {"the server failed inside", "look at the server's own log", false},
	Auth:           {"the server wants a credential that is not configured, or refused the one it got", "check headers (or env) of the server in the servers file, and whether the credential has run out", false},
	Drifted:        {"the tool's schema has changed: it worked before", "compare the tool's schema now with the offer's `with` and `result`; junction servers FILE shows it", false},
	Misfit:         {"the tool is unknown there, or what it is given or answers does not fit its schema or the capability's contract", "compare the offer's `with` and `result` with the tool's schema; junction servers FILE shows it", false},
	Version:        {"server and Junction speak no common version of the protocol", "update the server, or take another one", false},
	Quota:          {"the tool refuses most of what it is asked (a quota that is used up, or a right that is missing): what it said is above", "restore the quota, or take the server out meanwhile", false},
	Refused:        {"the tool worked and refused: what it said is above", "mend what it names; where an initial value is wrong, run the workflow anew: a thread keeps its values", true},
	Network:        {"the network between here and the server: the connection breaks or does not come about, the server itself may be well", "try the server's address from this machine; look at name service, proxy and firewall", false},
	Session:        {"the server has forgotten the session, and a new one did not help", "look at whether the server was restarted, or shares no sessions with its replicas", false},
	Skew:           {"the clocks of worker and store differ", "set the machines' clocks by a common time service", false},
	Deadline:       {"the run's own time was over", "give it a longer --timeout", false},
	Budget:         {"so many calls fail that retrying would make it worse", "junction history --since 10m shows which server fails", false},
	Saturation:     {"every fitting server is at its declared concurrency", "add a replica, or raise max_concurrent", false},
	NoCandidate:    {"no server fits what the node needs", "junction servers FILE, then start or declare one that fits", false},
	HeldBack:       {"the tool is not as it was approved, so it is not called", "junction approve, once it was looked at", false},
	Conflict:       {"one idempotency key was used with two different arguments", "a workflow must make the same call when it runs again", false},
	Expression:     {"an expression of the workflow file does not suit the values it met", "mend the file and run it anew: a thread keeps the workflow it was started with", true},
	Endless:        {"a loop of the workflow does not end", "mend the condition that ends it, or raise recursion_limit, and run it anew: a thread keeps the workflow it was started with", true},
	Loop:           {"a loop of the workflow does not end: its rounds leave the state as it was", "mend the condition that ends it, and run it anew: a thread keeps the workflow it was started with", true},
	StaleDiscovery: {"the servers were last read from discovery some time ago, and it cannot be reached", "look whether Consul answers, and whether the token still holds", false},
	Stopped:        {"it was stopped on purpose", "nothing has to be mended", false},
}

// byCode are codes that name their cause.
var byCode = map[string]Kind{
	router.CodeSaturated:               Saturation,
	router.CodeBudget:                  Budget,
	router.CodeDeadline:                Deadline,
	"tool_error":                       Refused,
	"expression":                       Expression,
	recursionLimit:                     Endless,
	"cancelled":                        Stopped,
	string(router.Cancelled):           Stopped,
	string(router.AuthRequired):        Auth,
	string(router.AuthMismatch):        Auth,
	string(router.ServerOverload):      Overloaded,
	string(router.VersionUnsupported):  Version,
	string(router.SessionExpired):      Session,
	string(router.IdempotencyConflict): Conflict,
}
