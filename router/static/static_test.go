package static_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/router/static"
	"junction/state"
	"junction/state/document"
	"junction/state/expr"
)

// options are surroundings of which a test knows everything.
func options(env map[string]string) *static.Options {
	return &static.Options{
		Hostname:  "host-1",
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok },
	}
}

func parse(t *testing.T, text string, env map[string]string) *static.Config {
	t.Helper()
	c, err := static.Parse("/etc/junction/junction.yaml", []byte(text), options(env))
	if err != nil {
		t.Fatalf("Parse:\n%v", err)
	}
	return c
}

// templates compares compiled mappings by what they make of one input.
var templates = cmp.Comparer(func(a, b *expr.Template) bool {
	if a == nil || b == nil {
		return a == b
	}
	in := map[string]any{"with": map[string]any{"path": "a.js"}, "result": map[string]any{"structured": []any{int64(1)}}}
	x, errX := a.Eval(context.Background(), in)
	y, errY := b.Eval(context.Background(), in)
	return errX == nil && errY == nil && cmp.Equal(x, y)
})

func TestAFileSaysHowToReachServersAndWhatTheyOffer(t *testing.T) {
	c := parse(t, `
store: rediss://:${REDIS_PASSWORD}@cache:6380/2
discovery: {}
mcpServers:
  eslint:
    command: npx
    args: ["@eslint/mcp", "--root=${ROOT:-.}"]
    env: {CI: "true", TOKEN: "${TOKEN}"}
    cwd: web
    latency_p95: 850ms
    max_concurrent: 4
    weight: 0.5
    trust: true
    offers:
      - capability: code-review
        tool: lint-files
        attributes: {language: [javascript, typescript], review_depth: shallow}
        effect: safe
        with: {filePaths: ["${with.path}"]}
        result: {issues: "${result.structured}"}
        probe: {filePaths: [probe.js]}
      - {capability: format, tool: fix}
  billing:
    url: https://billing.internal/mcp
    headers: {Authorization: "Bearer ${TOKEN}"}
    server_name: billing.example
    ca: tls/ca.pem
    offers:
      - capability: charge
        tool: charge
        effect: conditional
        key: _meta.idempotencyKey
        ledger: {name: billing, keeps: 48h}
capabilities:
  code-review:
    input: {type: object, required: [code]}
    output: {type: object}
`, map[string]string{"TOKEN": "s3cret", "REDIS_PASSWORD": "hunter2"})

	want := []*router.Server{{
		ID: "billing", Name: "billing", Source: "file",
		Dial: router.Dial{
			URL: "https://billing.internal/mcp", Headers: map[string]string{"Authorization": "Bearer s3cret"},
			ServerName: "billing.example", CAFile: "/etc/junction/tls/ca.pem",
		},
		Offers: []router.Offer{{
			Capability: "charge", Tool: "charge", Effect: state.Conditional, Key: "_meta.idempotencyKey",
			Ledger: router.Ledger{Name: "billing", Keeps: 48 * time.Hour},
		}},
	}, {
		ID: "eslint", Name: "eslint", Source: "file",
		Dial: router.Dial{
			Command: "npx", Args: []string{"@eslint/mcp", "--root=."}, Dir: "/etc/junction/web",
			Env: map[string]string{"CI": "true", "TOKEN": "s3cret"},
		},
		LatencyP95: 850 * time.Millisecond, MaxConcurrent: 4, Weight: 0.5, Trusted: true,
		Offers: []router.Offer{{
			Capability: "code-review", Tool: "lint-files", Effect: state.Safe,
			Attributes: map[string][]string{"language": {"javascript", "typescript"}, "review_depth": {"shallow"}},
			With:       template(t, map[string]any{"filePaths": []any{"${with.path}"}}, "with"),
			Result:     template(t, map[string]any{"issues": "${result.structured}"}, "result"),
			Probe:      map[string]any{"filePaths": []any{"probe.js"}},
		}, {
			Capability: "format", Tool: "fix",
		}},
	}}
	if diff := cmp.Diff(want, c.Servers, templates); diff != "" {
		t.Errorf("servers (-want +got):\n%s", diff)
	}
	if want := "rediss://:hunter2@cache:6380/2"; c.Store != want {
		t.Errorf("store = %q, want %q", c.Store, want)
	}
	contract := c.Contracts["code-review"]
	if got := string(contract.Input); got != `{"required":["code"],"type":"object"}` {
		t.Errorf("input contract = %s", got)
	}
	if got := string(contract.Output); got != `{"type":"object"}` || contract.Capability != "code-review" {
		t.Errorf("output contract of %q = %s", contract.Capability, got)
	}
}

// What the package documentation shows is a file that loads.
func TestTheDocumentedFileLoads(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for line := range strings.Lines(string(doc)) {
		if example, ok := strings.CutPrefix(line, "//\t"); ok {
			text.WriteString(example)
		}
	}
	c := parse(t, text.String(), map[string]string{"BILLING_TOKEN": "t", "CONSUL_HTTP_TOKEN": "t", "REVIEW_TOKEN": "t", "SEARCH_TOKEN": "t", "SEARCH_SECRET": "t"})
	if len(c.Servers) != 3 || len(c.Servers[2].Dial.Auth) != 4 || c.Consul == nil || len(c.Consul.Services) != 1 || len(c.Contracts) != 1 || c.Store == "" {
		t.Errorf("loaded %v", c)
	}
}

func template(t *testing.T, v any, name string) *expr.Template {
	t.Helper()
	tmpl, err := expr.CompileValue(v, name)
	if err != nil {
		t.Fatal(err)
	}
	return tmpl
}

// The file people have for their MCP client loads as it is.
func TestAClientsJSONFileLoads(t *testing.T) {
	c, err := static.Parse("/home/me/mcp.json", []byte(`{
	"mcpServers": {
		"filesystem": {"type": "stdio", "command": "./bin/fs", "args": ["/srv"], "env": {}},
		"remote": {"type": "http", "url": "http:\/\/127.0.0.1:9\/mcp", "headers": {}},
		"off": {"command": "${NEVER_SET}", "disabled": true}
	}
}`), options(nil))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]router.Dial{
		"filesystem": {Command: "/home/me/bin/fs", Args: []string{"/srv"}, Dir: "/home/me"},
		"remote":     {URL: "http://127.0.0.1:9/mcp"},
	}
	got := map[string]router.Dial{}
	for _, s := range c.Servers {
		got[s.ID] = s.Dial
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestCommandsAreFoundFromTheFile(t *testing.T) {
	for _, c := range []struct{ name, command, want string }{
		{"a bare name is left to PATH", "npx", "npx"},
		{"this program's own name is kept", "junction", "junction"},
		{"a relative path is relative to the file", "./bin/server", "/etc/junction/bin/server"},
		{"so is one below a directory", "bin/server", "/etc/junction/bin/server"},
		{"so is one above", "../server", "/etc/server"},
		{"an absolute path stays", "/opt/server", "/opt/server"},
		{"a variable can be the path", "${BIN}/server", "/opt/bin/server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := parse(t, "mcpServers: {s: {command: \""+c.command+"\"}}", map[string]string{"BIN": "/opt/bin"})
			if d := got.Servers[0].Dial; filepath.ToSlash(d.Command) != c.want || d.Dir != "/etc/junction" {
				t.Errorf("command %q in %q, want %q in the file's directory", d.Command, d.Dir, c.want)
			}
		})
	}
}

func TestALedgerHasAName(t *testing.T) {
	const offers = `, offers: [{capability: c, tool: t, effect: conditional, key: k}]`
	for _, c := range []struct{ name, server, want string }{
		{"host and server for stdio", `{command: x` + offers + `}`, "host-1/s"},
		{"the URL for HTTP", `{url: "http://h:1/mcp"` + offers + `}`, "http://h:1/mcp"},
		{"without what may be a credential", `{url: "http://u:p@h:1/mcp?key=k#f"` + offers + `}`, "http://h:1/mcp#s"},
		{"headers may tell tenants apart", `{url: "http://h:1/mcp", headers: {X-Tenant: a}` + offers + `}`, "http://h:1/mcp#s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := parse(t, "mcpServers: {s: "+c.server+"}", nil).Servers[0].Offers[0]
			if want := (router.Ledger{Name: c.want, Keeps: 24 * time.Hour}); o.Ledger != want {
				t.Errorf("ledger = %+v, want %+v", o.Ledger, want)
			}
		})
	}
}

func TestVariablesExpandOnlyWhereTheyMay(t *testing.T) {
	c := parse(t, `
mcpServers:
  s:
    command: x
    offers:
      - capability: c
        tool: "${TOOL}"
        attributes: {language: "${LANGUAGE}"}
`, map[string]string{"TOOL": "expanded", "LANGUAGE": "expanded"})
	o := c.Servers[0].Offers[0]
	if o.Tool != "${TOOL}" || !slices.Equal(o.Attributes["language"], []string{"${LANGUAGE}"}) {
		t.Errorf("tool %q, attributes %v: expanded", o.Tool, o.Attributes)
	}
}

// Servers that share a ledger map arguments alike: then a repeated call is the
// same call to it.
func TestServersOnOneLedgerMayShareIt(t *testing.T) {
	c := parse(t, `
mcpServers:
  a: {command: a, offers: [&charge {capability: charge, tool: charge, effect: conditional, key: id, ledger: {name: billing}, with: {amount: "${with.amount}"}}]}
  b: {command: b, offers: [*charge, {capability: refund, tool: refund, effect: conditional, key: ref, ledger: {name: billing}}]}
`, nil)
	var names []string
	for _, s := range c.Servers {
		for _, o := range s.Offers {
			names = append(names, s.ID+" "+o.Capability+" "+o.Ledger.Name)
		}
	}
	want := []string{"a charge billing", "b charge billing", "b refund billing"}
	if !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
}

func ExampleParse() {
	config, err := static.Parse("junction.yaml", []byte(`
mcpServers:
  eslint:
    command: npx
    args: ["@eslint/mcp"]
    offers:
      - {capability: code-review, tool: lint-files, effect: safe, attributes: {language: javascript}}
`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range config.Discovery().Snapshot().Servers {
		for _, o := range s.Offers {
			fmt.Println(s.ID, "offers", o.Capability, "for", strings.Join(o.Attributes["language"], ", "))
		}
	}
	// Output: eslint offers code-review for javascript
}

// Every fault is told at once, each with its place and what to write instead.
func ExampleParse_faults() {
	_, err := static.Parse("junction.yaml", []byte(`
mcpServers:
  eslint:
    comand: npx
    offers:
      - capability: code-review
        tool: lint-files
        effect: save
        with: {filePaths: ["${wth.path}"]}
`), nil)
	var faults document.Faults
	if errors.As(err, &faults) {
		for _, f := range faults {
			fmt.Println(f)
		}
	}
	// Output:
	// junction.yaml:4:5: unknown key "comand" (did you mean "command"?)
	// junction.yaml:8:17: "save" is none of safe, conditional, unsafe (did you mean "safe"?)
	// junction.yaml:9:31: in ${wth.path}: unknown name "wth" (did you mean "with"?)
}

// Whatever the text, reading it ends, faults name the file, and what is read
// is the same every time.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "mcpServers:\n  a: {command: x, args: [\"${A:-b}\"]}\n",
		"mcpServers: {a: {url: \"http://h\", offers: [{capability: c, tool: t, effect: conditional, key: k, with: {x: \"${with.y}\"}}]}}",
		"capabilities: {c: {input: {type: object}, output: true}}", "store: ${X", "mcpServers: {a: {command: \"${B:-}\"}}", `{"mcpServers":{"a":{"command":"x","env":{"A":"1"}}}}`,
		"discovery: {consul: \"http://h:1\", token: \"${A}\", services: {s: {headers: {A: \"${A}\"}, addresses: [\"10.0.0.0/8\", \"${A}\"], offers: [{capability: c, tool: t}]}}}",
		"mcpServers: &x {a: *x}", "capabilities: {c: {input: {$ref: \"http://h/x\"}}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := static.Parse("j.yaml", []byte(text), options(map[string]string{"A": "value-of-a"}))
		if err != nil {
			var fs document.Faults
			if !errors.As(err, &fs) || len(fs) == 0 {
				t.Fatalf("not a list of faults: %v", err)
			}
			for _, fault := range fs {
				if fault.File != "j.yaml" || fault.Message == "" {
					t.Errorf("fault without place or message: %+v", fault)
				}
			}
			if strings.Contains(err.Error(), "value-of-a") {
				t.Errorf("a variable's value is in a fault: %v", err)
			}
			return
		}
		again, err := static.Parse("j.yaml", []byte(text), options(map[string]string{"A": "value-of-a"}))
		if err != nil || !maps.EqualFunc(c.Contracts, again.Contracts, func(a, b router.Contract) bool { return cmp.Equal(a, b) }) {
			t.Fatalf("a second reading differs: %v", err)
		}
		if (c.Consul == nil) != (again.Consul == nil) || c.String() != again.String() {
			t.Errorf("a second reading is %v after %v", again, c)
		}
		for i, s := range c.Servers {
			if s.Dial.Command == "" == (s.Dial.URL == "") {
				t.Errorf("server %s is reached in no way or in two", s.ID)
			}
			if again.Servers[i].ID != s.ID {
				t.Errorf("order differs")
			}
		}
	})
}
