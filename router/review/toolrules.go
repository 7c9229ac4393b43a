package review

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"junction/router"
	"junction/state"
	"junction/state/document"
)

// toolRules are the rules for one tool.
var toolRules = []rule{
	{"tool-missing", Risk, toolMissing},
	{"tool-held-back", Note, toolHeldBack},
	{"safe-but-writes", Note, safeButWrites},
	{"hint-not-trusted", Note, hintNotTrusted},
	{"unsafe-without-verify", Risk, unsafeWithoutVerify},
	{"verify-unusable", Risk, verifyUnusable},
	{"conditional-without-key", Risk, conditionalWithoutKey},
	{"key-not-taken", Risk, keyNotTaken},
	{"ledger-unsaid", Note, ledgerUnsaid},
	{"ledger-forgets", Risk, ledgerForgets},
	{"no-output-schema", Note, noOutputSchema},
	{"slower-than-idle", Note, slowerThanIdle},
}

func toolMissing(l *look, t *Tool) *Finding {
	if !t.Missing {
		return nil
	}
	f := &Finding{
		Says: "offered, and the server has no such tool", Then: "every call for " + t.Capability + " passes this server over",
		Fix: "name a tool that it has, or take the offer out",
	}
	var names []string
	for _, other := range l.in.Description.Tools {
		names = append(names, other.Name)
	}
	if near := document.Suggest(t.Name, names); near != "" {
		f.Fix = fmt.Sprintf("did you mean %s?", near)
		f.Paste = l.offer(t, says("tool", near))
	}
	return f
}

func toolHeldBack(_ *look, t *Tool) *Finding {
	if t.Held == "" || !t.offered() {
		return nil
	}
	return &Finding{
		Says: "held back: " + t.Held,
		Then: "calls pass it over until somebody approves it as it is",
		Fix:  "see what changed, and say yes or no: junction servers --approve",
	}
}

func safeButWrites(l *look, t *Tool) *Finding {
	if t.Effect != state.Safe || !t.writes() || t.terms.From != router.Declared {
		return nil
	}
	f := &Finding{
		Says:  "declared safe, and the server says that it does more than read (readOnlyHint: false)",
		Then:  "a call of unknown outcome is made again: if the server is right, it takes effect twice",
		Fix:   "look it up; some libraries say so of every tool. If it writes:",
		Paste: l.offer(t, says("effect", "unsafe")),
	}
	if l.hints {
		f.Level = Risk // it tells its tools apart
	}
	return f
}

func hintNotTrusted(l *look, t *Tool) *Finding {
	if !t.offered() || t.terms.From != router.Unsaid || !t.reads() {
		return nil
	}
	return &Finding{
		Says:  "it says that it only reads, and hints count only of servers that are trusted",
		Then:  "it is unsafe: a call of unknown outcome pauses the thread until a person looks",
		Fix:   "if it only reads, say so (or trust: true at the server, for all its hints)",
		Paste: l.offer(t, says("effect", "safe")),
	}
}

func unsafeWithoutVerify(l *look, t *Tool) *Finding {
	if !t.offered() || t.Effect != state.Unsafe || t.Verify != "" || t.reads() || t.Missing {
		return nil
	}
	f := &Finding{
		Says: "unsafe, and no tool tells afterwards whether a call took effect",
		Then: "a call whose answer is lost pauses the thread until a person has looked",
	}
	if t.terms.From == router.Unsaid {
		f.Says = "unsafe, for nobody says what it does, and no tool tells afterwards whether a call took effect"
	}
	if key := keyOf(t); key != "" {
		f.Fix = fmt.Sprintf("it takes %s: if it takes effect once only under the same one, say so:", key)
		f.Paste = l.offer(t, says("effect", "conditional"), says("key", key), l.ledger())
		return f
	}
	reader := "NAME_OF_A_TOOL_THAT_LOOKS"
	for _, other := range l.rv.Tools {
		if other.Name != t.Name && (other.Effect == state.Safe || other.reads()) {
			reader = other.Name
			break
		}
	}
	f.Fix = "name a safe tool that answers {happened, result}; its mapping is described under verify in the servers file's documentation"
	f.Paste = l.offer(t, says("verify", reader))
	return f
}

func verifyUnusable(l *look, t *Tool) *Finding {
	if t.Verify == "" || l.in.Err != nil {
		return nil
	}
	i := slices.IndexFunc(l.rv.Tools, func(o Tool) bool { return o.Name == t.Verify && !o.Missing })
	f := &Finding{Then: "what became of a lost call is asked of a person after all", Fix: "name a tool of this server that only reads"}
	switch {
	case i < 0:
		f.Says = fmt.Sprintf("verify names %s, and the server has no such tool", t.Verify)
	case l.rv.Tools[i].writes() && l.hints:
		f.Says = fmt.Sprintf("verify names %s, of which the server says that it does more than read", t.Verify)
		f.Then = "finding out what happened may change what happened"
	default:
		return nil
	}
	return f
}

func conditionalWithoutKey(l *look, t *Tool) *Finding {
	if t.Effect != state.Conditional || t.terms.Offer.Key != "" {
		return nil
	}
	key := keyOf(t)
	if key == "" {
		key = "_meta.idempotencyKey"
	}
	return &Finding{
		Says:  fmt.Sprintf("idempotent by its own word, and nobody says where it takes a key: it goes into %s", t.Key),
		Then:  "a server that does not read it there does what it did again",
		Fix:   "say where the key goes, or that it is unsafe",
		Paste: l.offer(t, says("effect", "conditional"), says("key", key), l.ledger()),
	}
}

func keyNotTaken(l *look, t *Tool) *Finding {
	if t.Effect != state.Conditional || t.terms.Tool == nil || t.terms.Offer.Key == "" || strings.HasPrefix(t.Key, "_meta.") {
		return nil
	}
	named, readable := properties(t.terms.Tool.InputSchema)
	if !readable || slices.Contains(named, t.Key) {
		return nil
	}
	f := &Finding{
		Says: fmt.Sprintf("the key goes into the argument %s, and the tool's input schema has none of that name", t.Key),
		Then: "a server that does not read it does what it did again",
		Fix:  "name the argument that carries the key, or say that it is unsafe",
	}
	if key := keyOf(t); key != "" {
		f.Paste = l.offer(t, says("effect", "conditional"), says("key", key), l.ledger())
	} else {
		f.Paste = l.offer(t, says("effect", "unsafe"))
	}
	return f
}

func ledgerUnsaid(l *look, t *Tool) *Finding {
	// A name of the file's has neither; one that stands for the server alone has.
	if t.Effect != state.Conditional || !strings.ContainsAny(t.Ledger, "/@") {
		return nil
	}
	return &Finding{
		Says:  fmt.Sprintf("its ledger has no name, so it is the server's own, and is taken to keep keys for %s", span(t.terms.Ledger.Keeps)),
		Then:  "a call of unknown outcome can be repeated here only, and not once the keys are forgotten",
		Fix:   "say how long it keeps keys, and give servers that share it its name",
		Paste: l.offer(t, says("effect", "conditional"), says("key", t.Key), l.ledger()),
	}
}

func ledgerForgets(l *look, t *Tool) *Finding {
	if t.Effect != state.Conditional || t.terms.Ledger.Keeps > l.clocks.max {
		return nil
	}
	return &Finding{
		Says: fmt.Sprintf("its ledger keeps keys for %s, and a call may take %s", span(t.terms.Ledger.Keeps), span(l.clocks.max)),
		Then: "a lost call is treated as unsafe, for the key may be forgotten when it is repeated",
		Fix:  "let the ledger keep keys longer and say so, or shorten timeout.max of the calls",
	}
}

func noOutputSchema(l *look, t *Tool) *Finding {
	if !t.offered() || t.Output || t.Missing || l.in.Err != nil {
		return nil
	}
	return &Finding{
		Says:  "neither the tool nor the capability has an output schema",
		Then:  "an answer of another shape is taken, and fails where it is used",
		Fix:   "write down what the capability answers",
		Paste: fmt.Sprintf("capabilities:\n  %s:\n    output: {type: object, required: []}\n", scalar(t.Capability)),
	}
}

func slowerThanIdle(l *look, t *Tool) *Finding {
	if t.terms.LatencyP95 <= l.clocks.idle {
		return nil
	}
	return &Finding{
		Says: fmt.Sprintf("it declares that one call in twenty takes longer than %s, and the idle clock ends a quiet call after %s",
			span(t.terms.LatencyP95), span(l.clocks.idle)),
		Then: "calls end that would have been answered, and nobody knows whether they took effect",
		Fix:  fmt.Sprintf("timeout: {idle: %s} in the workflow's calls, or a tool that reports progress", span((2 * t.terms.LatencyP95).Round(time.Second))),
	}
}

// keyNames are what arguments for idempotency keys are called, in small letters
// without marks between the words.
var keyNames = []string{"idempotencykey", "idempotencytoken", "clienttoken", "clientrequestid", "requestkey"}

// keyOf is the tool's argument that looks as if it were for a key; "" without one.
func keyOf(t *Tool) string {
	if t.terms.Tool == nil {
		return ""
	}
	named, _ := properties(t.terms.Tool.InputSchema)
	for _, n := range named {
		if slices.Contains(keyNames, strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(n))) {
			return n
		}
	}
	return ""
}

// properties are the names of a schema's properties, sorted. readable is false for
// a schema that names none, or says more than its properties do.
func properties(schema json.RawMessage) (named []string, readable bool) {
	var s struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Ref        string                     `json:"$ref"`
		AllOf      json.RawMessage            `json:"allOf"`
		AnyOf      json.RawMessage            `json:"anyOf"`
		OneOf      json.RawMessage            `json:"oneOf"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil, false
	}
	for n := range s.Properties {
		named = append(named, n)
	}
	slices.Sort(named)
	return named, len(named) > 0 && s.Ref == "" && s.AllOf == nil && s.AnyOf == nil && s.OneOf == nil
}
