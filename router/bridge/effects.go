package bridge

import (
	"encoding/json"
	"strings"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/state"
)

// repeatable are the methods that change nothing, or nothing more when they are made
// again. What is not among them is unsafe, as is any method that nobody knows.
var repeatable = map[string]bool{
	string(protocol.MethodPing):                   true,
	string(protocol.MethodServerDiscover):         true,
	string(protocol.MethodToolsList):              true,
	string(protocol.MethodPromptsList):            true,
	string(protocol.MethodPromptsGet):             true,
	string(protocol.MethodResourcesList):          true,
	string(protocol.MethodResourcesTemplatesList): true,
	string(protocol.MethodResourcesRead):          true,
	string(protocol.MethodCompletionComplete):     true,
	string(protocol.MethodSetLogLevel):            true,
	string(protocol.MethodResourcesSubscribe):     true,
	string(protocol.MethodResourcesUnsubscribe):   true,
	string(protocol.MethodTasksGet):               true,
	string(protocol.MethodTasksList):              true,
	string(protocol.MethodTasksResult):            true,
	string(protocol.MethodTasksCancel):            true,
}

// effectOf says what a request does, for people, and whether it may be made again when
// nobody knows what became of it (R31). A conditional tool's call may where its key
// goes with it; without one it is like an unsafe one.
func effectOf(a *asked, effect func(tool string) (state.Effect, string)) (e state.Effect, again bool) {
	if a.method != string(protocol.MethodToolsCall) {
		if repeatable[a.method] {
			return state.Safe, true
		}
		return state.Unsafe, false
	}
	if effect == nil || ambiguous(a.params, "name") {
		return state.Unsafe, false
	}
	e, key := effect(a.tool)
	switch e {
	case state.Safe:
		return e, true
	case state.Conditional:
		return e, carries(a.params, key)
	}
	return state.Unsafe, false
}

// ambiguous reports whether an object has a member twice, or one whose name differs in
// case alone: which of them a server reads depends on the language that it is written in.
func ambiguous(object json.RawMessage, name string) bool {
	if !isObject(object) {
		return false
	}
	n := 0
	for m := range members(object) {
		if strings.EqualFold(string(m), name) {
			n++
		}
	}
	return n > 1
}

// carries reports whether the call's durable key is there, and but once.
func carries(params json.RawMessage, key string) bool {
	in := "arguments"
	if name, ok := strings.CutPrefix(key, "_meta."); ok {
		in, key = "_meta", name
	}
	if key == "" || ambiguous(params, in) || ambiguous(member(params, in), key) {
		return false
	}
	switch v := member(member(params, in), key); string(v) {
	case "", "null", `""`:
		return false
	}
	return true
}
