// Package static reads the servers file, junction.yaml: which MCP servers there
// are, how to reach them, what the operator declares of them, which registry has
// others, and where threads are kept. JSON of the same shape, such as an MCP client's own file, loads as
// well.
//
//	store: sqlite:.junction/state.db     # where threads are kept
//	mcpServers:
//	  eslint:                            # its name: letters, digits, . _ -
//	    command: npx                     # looked up on PATH; ./x is beside this file
//	    args: ["@eslint/mcp"]
//	    env: {CI: "true"}                # the child's own; ours is not passed on
//	    cwd: web                         # relative to this file, which is the default
//	    offers:
//	      - capability: code-review
//	        tool: lint-files
//	        attributes: {language: [javascript, typescript], review_depth: shallow}
//	        effect: safe                 # safe, conditional or unsafe; unsaid: see trust, else unsafe
//	        with: {filePaths: ["${with.context.path}"]}
//	        result: {issues: "${result.structured}"}
//	        probe: {filePaths: [ok.js]}  # arguments of the health check; safe tools only
//	  billing:
//	    url: https://billing.example/mcp
//	    headers: {Authorization: "Bearer ${BILLING_TOKEN}"} # with every request
//	    ca: tls/ca.pem                   # who signs its certificate, unless the system knows
//	    server_name: billing.example     # that its certificate is for, unless the url's host
//	    trust: true                      # its own effect hints count where effect is unsaid
//	    approval: pinned                 # its tools are called only as they were approved
//	    latency_p95: 850ms               # declared; measurements override it
//	    max_concurrent: 120              # a call beyond goes elsewhere or waits
//	    weight: 2                        # times the share of others; 1 unless said
//	    offers:
//	      - capability: charge
//	        tool: charge
//	        effect: conditional
//	        key: idempotencyKey          # the argument for the key, or _meta.NAME
//	        ledger: {name: billing, keeps: 24h}
//	        verify: find_charge          # a safe tool that says whether a call took effect
//	  search:
//	    url: https://search.example/mcp
//	    auth:                            # shown where the server asks for it
//	      - {scheme: bearer, token: "${SEARCH_TOKEN}"}
//	      - {scheme: api-key, header: X-Key, token_file: run/key} # read anew when it changed
//	      - {scheme: mcp-jwt, token_file: /var/run/secrets/mcp.jwt}
//	      - scheme: oauth
//	        oauth:                       # client credentials
//	          issuer: https://auth.example
//	          client_id: junction
//	          client_secret: ${SEARCH_SECRET} # or key_file: its key (PEM; RSA or EC P-256)
//	          scopes: [search]           # unless said, those that the server names
//	discovery:                           # servers beside those above
//	  consul: http://127.0.0.1:8500      # enough by itself: {consul: URL}
//	  token: ${CONSUL_HTTP_TOKEN}        # or token_file: its path
//	  datacenter: dc1                    # that of the agent asked, unless said
//	  tag: mcp                           # of the services that are MCP servers
//	  trust: false                       # effects they state of themselves there count
//	  services:                          # what is said of services found there
//	    code-review-go:
//	      offers:                        # as above
//	        - {capability: code-review, tool: review, effect: safe, attributes: {language: go}}
//	      trust: false                   # its servers' own effect hints count
//	      headers: {Authorization: "Bearer ${REVIEW_TOKEN}"} # and auth
//	      addresses: [10.0.0.0/8, 127.0.0.1]  # the headers go only there, or
//	      server_name: reviewer.internal # to https with a certificate of this name
//	      latency_p95: 850ms
//	      max_concurrent: 120
//	capabilities:                        # what every offer is held to, after mapping
//	  code-review:
//	    input:  {type: object, required: [code, language]}
//	    output: {type: object, required: [issues]}
//
// The command junction stands for the running program. Clients' files also have
// type and disabled. A type has to go with the command or url beside it, and
// whatever it says, a url is spoken to by Streamable HTTP. A disabled server is
// left out, and its variables need not be set. Any other key is a fault.
//
// # Credentials
//
// headers go with every request; auth goes where the server asks for it, and is a
// list in the order of preference. The first one is used whose scheme the
// server takes, compared without case; one that is refused is followed by the next.
// Each goes to the origin of the url only, and a client's secret to its issuer
// only: the one that is named here, else one that the server's metadata names at
// the server's own origin. header is Authorization unless said, and X-API-Key for
// api-key; in Authorization the scheme's name precedes the token, elsewhere the
// token stands alone. A server that takes a credential and never asks for one gets
// it by headers.
//
// # Mappings
//
// with makes the tool's arguments of the capability's, named with; result makes
// the capability's answer of the tool's, named result, which has structured,
// text, content and isError. Both are templates of package expr. Without with
// the arguments pass through; without result the structured content does, else
// {text}.
//
// # Approval
//
// A tool of a server with approval: pinned is neither offered nor called while its
// description, schemas or annotations are not those that somebody approved, or before
// somebody did. What was approved stands in a [Lock] beside this file, which
// junction servers --approve writes.
//
// verify names a safe tool of the same server, which is asked what became of a call
// of unknown outcome before a person is. Written as {tool, with, result} it has
// mappings of its own: with makes its arguments of the call's, named with, and of the
// idempotency key, named key; result makes {happened, result} of its answer, which
// without one must have that form.
//
// # Ledgers
//
// Servers that name the same ledger deduplicate by key together, so a call of
// unknown outcome may be repeated at the other one. They must map arguments
// alike and keep keys equally long. An unnamed ledger is the server's own: by
// host and name for a command, by URL for HTTP, and by name too where
// credentials might tell tenants of one URL apart. Of a service in Consul each
// instance has its own.
//
// # Discovery
//
// Consul over https takes ca, cert and key (PEM files) and server_name, which its
// certificate must be valid for instead of the address's host. Paths are
// relative to this file. A file may have discovery and no mcpServers. Where both
// know a server of the same name, this file's is used.
//
// Whoever can register a service chooses where calls to it go, so headers and auth
// need addresses or server_name, or both, and an instance gets them when it fits
// one of them. A range of all addresses is a fault. server_name and ca are as those
// of a server.
//
// A later version of this section needs a restart: Refresh says so.
//
// # Routing
//
//	routing:                             # each line may be left out
//	  score: product                     # or linear
//	  transform: plain                   # or excess, {excess: 0.65}, {power: 2}
//	  picker: weighted-random            # or least-loaded
//	  attempts: 3                        # of a hop
//	  retry_share: 0.2                   # retries and hedges, of the calls …
//	  retry_floor: 3                     # … and so many at once in any case
//	  hedge: {after: p95}                # or a time: safe hops ask a second server then
//	  probe: {every: 15s, timeout: 5s, strikes: 3}
//	  prometheus: http://127.0.0.1:9090  # error rates for the linear score
//
// A later version of this section needs a restart, too.
//
// # Proxy
//
//	proxy:                               # of junction proxy; each line may be left out
//	  ping_interval: 20s                 # of silence before a heartbeat; 0: none
//	  ping_timeout: 5s                   # to answer one; three are missed in a row
//	  queue: 100                         # requests that wait for one server that is away …
//	  wait: 50s                          # … and how long
//
// A bare number here is milliseconds. The command's flags win, and a later version
// counts from its next start on.
//
// # Variables
//
// ${NAME} and ${NAME:-default} expand in store, command, args, env, url, headers,
// auth, discovery (but for the offers in it) and routing's prometheus, and nowhere else; $${ is a literal
// ${. An unset variable without default is a fault. What variables held is in no
// fault and in no String: messages quote keys and names only.
//
// # Invariants
//
// A file is taken whole or not at all: [Load] reports every fault at once, each
// with line, column and what to write instead, and returns no configuration
// beside them.
//
// [Config.Discovery] follows the file while a program runs. What it shows is
// always one version of the file that had no fault; a later version with faults
// is reported by Refresh and leaves the last good one in place, marked stale.
// Servers that did not change keep their identity over versions.
package static
