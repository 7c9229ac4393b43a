package consul

// What an instance says in its tags.
const (
	// Mark is the tag of services that speak MCP; [Options.Tag] may name another.
	Mark = "mcp"
	// A tag NAME=VALUE is an attribute of every offer: language=go. Any other tag
	// names a capability, unless MetaCapabilities says which ones there are.
	attributeSign = "="
)

// What an instance says in its Meta. Consul takes letters, digits, - and _ in a
// key and up to 512 bytes in a value. Keys that end in -CAP in the list below may
// also stand without it, for every capability; the longer key wins. A key that is
// not of this list is an attribute of every offer, its value a list with commas.
const (
	MetaScheme       = "mcp-scheme"         // http (the default) or https
	MetaPath         = "mcp-path"           // of the MCP endpoint; /mcp unless said
	MetaCapabilities = "mcp-capabilities"   // names with commas; unsaid: the plain tags
	MetaTool         = "mcp-tool"           // mcp-tool-CAP; without CAP only where there is one capability
	MetaEffect       = "mcp-effect"         // mcp-effect-CAP: safe, conditional or unsafe
	MetaKey          = "mcp-key"            // mcp-key-CAP: the argument that carries the key, or _meta.NAME; a conditional effect needs it
	MetaLedger       = "mcp-ledger"         // mcp-ledger-CAP: the ledger's name; unsaid: the instance's own
	MetaKeeps        = "mcp-keeps"          // mcp-keeps-CAP: how long it keeps keys, as 24h
	MetaLatencyP95   = "mcp-latency-p95-ms" // declared milliseconds; measurements override it
	MetaConcurrent   = "mcp-max-concurrent" // calls at once; one beyond goes elsewhere or waits
	MetaDepth        = "mcp-depth"          // of a review: shallow, deep, …
)

// trustedKeys count only where [Options.Trust] is set: whoever can register a
// service could otherwise have a payment repeated by calling it safe.
var trustedKeys = []string{MetaEffect, MetaKey, MetaLedger, MetaKeeps}

// reserved begins every key that has a meaning of its own. A key of this kind
// that has none is a problem, since it is most likely misspelt.
const reserved = "mcp-"
