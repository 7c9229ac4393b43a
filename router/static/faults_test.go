package static_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"junction/router/static"
	"junction/state/document"
)

// server puts lines of one server, from line 3 on, into a file.
func server(lines string) string {
	return "mcpServers:\n  s:\n" + indent(lines, 4)
}

// offer puts lines of one offer, from line 5 on, into a file.
func offer(lines string) string {
	return server("command: x\noffers:\n  -\n" + indent("capability: c\ntool: t\n"+lines, 4))
}

func indent(lines string, by int) string {
	pad := strings.Repeat(" ", by)
	return pad + strings.ReplaceAll(strings.TrimSpace(lines), "\n", "\n"+pad) + "\n"
}

func TestFaultsNamePlaceAndRemedy(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"misspelt top-level key", "mcpservers: {}\n", `1:1: unknown key "mcpservers" (did you mean "mcpServers"?)`},
		{"empty file", "", "a mapping is expected here, not nothing"},
		{"unset variable in store", "store: redis://${PW}@h\n", "1:8: environment variable PW is not set: set it, or give a default as ${PW:-…}"},
		{"misspelt server key", server("comand: x\nurl: http://h"), `3:5: unknown key "comand" (did you mean "command"?)`},
		{"no way to reach it", server("trust: true"), "3:5: nothing says how to reach this server (add command: … or url: …)"},
		{"two ways to reach it", server("command: x\nurl: http://h/mcp"), "4:10: a server has a command or a url, not both"},
		{"empty command", server(`command: ""`), "3:14: the command is empty"},
		{"empty command by a variable", server("command: ${NOPE:-}"), "3:14: the command is empty"},
		{"empty url by a variable", server("url: ${NOPE:-}"), "3:10: the URL of a server begins with"},
		{"type against command", server("command: x\ntype: http"), "4:11: type http does not go with a command"},
		{"type against url", server("type: stdio\nurl: http://h"), "3:11: type stdio does not go with a url"},
		{"unknown type", server("command: x\ntype: stdoi"), `4:11: "stdoi" is none of stdio, http, streamable-http, streamableHttp, sse (did you mean "stdio"?)`},
		{"headers without url", server("command: x\nheaders: {A: b}"), "4:5: headers means nothing for a server with a command"},
		{"certificate without TLS", server("url: http://h\nca: ca.pem"), "4:5: ca means nothing for an address that does not begin with https:// (write https:// in url, or remove it)"},
		{"certificate of a command", server("command: x\nserver_name: h"), "4:5: server_name means nothing for a server with a command"},
		{"variable in ca", server("url: https://h\nca: ${CA}"), "4:9: variables do not expand in ca (write it out"},
		{"variable in server_name", server("url: https://h\nserver_name: ${NAME}"), "4:18: variables do not expand in server_name"},
		{"empty ca", server("url: https://h\nca: \"\""), "4:9: text that is not empty is expected here"},
		{"name in a certificate", server("url: https://10.0.0.1\nserver_name: https://h"), "4:18: the name in a certificate is a host's"},
		{"args without command", server("url: http://h\nargs: [a]"), "4:5: args means nothing for a server with a url"},
		{"other scheme", server("url: ftp://h"), "3:10: the URL of a server begins with http:// or https://"},
		{"no host", server("url: http:///mcp"), "3:10: the URL names no host"},
		{"no URL", server("url: \"http://h:x:y\""), "3:10: this is no URL"},
		{"number in env", server("command: x\nenv: {PORT: 3001}"), "4:17: text is expected here, not a number (put it in quotes)"},
		{"truth value in args", server("command: x\nargs: [true]"), "4:12: text is expected here, not true or false (put it in quotes)"},
		{"bad header name", server("url: http://h\nheaders: {\"a b\": c}"), `4:15: "a b" cannot be the name of a header`},
		{"line break in header", server("url: http://h\nheaders: {A: \"b\\nc\"}"), "4:15: the value of header A holds a line break"},
		{"one key for every call", server("url: http://h\nheaders: {Idempotency-Key: abc}"), "4:15: Idempotency-Key would be the same for every call"},
		{"a header of the protocol's", server("url: http://h\nheaders: {mcp-session-id: abc}"), "4:15: the header mcp-session-id is set for each request by itself"},
		{"bad variable name", server("command: x\nenv: {\"A=B\": c}"), `"A=B" cannot be the name of an environment variable`},
		{"variable in cwd", server("command: x\ncwd: ${HOME}/x"), "4:10: variables do not expand in cwd"},
		{"server name", "mcpServers:\n  my server: {command: x}\n", `2:3: "my server" cannot name a server`},
		{"server name, remedy", "mcpServers:\n  my server: {command: x}\n", "(call it my-server)"},
		{"nameless server", "mcpServers:\n  \"\": {command: x}\n", "2:3: a server needs a name"},
		{"no concurrency", server("command: x\nmax_concurrent: 0"), "4:21: a whole number from 1 to"},
		{"no weight", server("command: x\nweight: 0"), "4:13: a number above 0 and up to 1000000 is expected here (write disabled: true to take the server out)"},
		{"latency without unit", server("command: x\nlatency_p95: 850"), "4:18: a length of time is expected here, not a number"},
		{"offer without tool", server("command: x\noffers: [{capability: c}]"), `4:14: the key "tool" is missing`},
		{"misspelt effect", offer("effect: save"), `8:17: "save" is none of safe, conditional, unsafe (did you mean "safe"?)`},
		{"conditional without key", offer("effect: conditional"), "8:17: effect: conditional needs a key"},
		{"key on a safe offer", offer("effect: safe\nkey: id"), "9:14: key is only for effect: conditional, and this offer is safe"},
		{"key on an offer of unsaid effect", offer("key: id"), "8:14: key is only for effect: conditional, and this offer says none"},
		{"ledger on a safe offer", offer("effect: safe\nledger: {name: l}"), "9:17: ledger is only for effect: conditional"},
		{"key mapped by hand", offer("effect: conditional\nkey: id\nwith: {id: \"${with.id}\"}"), `the argument "id" carries the key, which the router fills in`},
		{"meta key without name", offer("effect: conditional\nkey: _meta."), "9:14: nothing follows _meta. here"},
		{"misspelt ledger key", offer("effect: conditional\nkey: id\nledger: {keep: 1h}"), `unknown key "keep" (did you mean "keeps"?)`},
		{"verify of a safe tool", offer("effect: safe\nverify: look"), "9:17: verify is for calls with an effect, and this offer is safe"},
		{"verify without a tool", offer("verify: {with: {}}"), `tool`},
		{"verify with an unknown name", offer("verify: {tool: look, with: {id: '${kee}'}}"), `kee`},
		{"probe of an unsafe tool", offer("probe: {a: 1}"), "8:16: a probe calls the tool again and again, so it needs effect: safe"},
		{"attribute without value", offer("attributes: {language: []}"), "8:32: the attribute language has no value"},
		{"attribute that is a number", offer("attributes: {version: 1.0}"), "8:31: text is expected here, not a number (put it in quotes)"},
		{"unknown name in with", offer("with: {a: \"x ${result.b}\"}"), `8:24: in ${result.b}: unknown name "result"`},
		{"unknown name deep in result", offer("result: {a: [1, {b: \"${with}\"}]}"), `in ${with}: unknown name "with"`},
		{"open expression", offer("with: \"${with.a\""), "8:16: "},
		{"same tool twice", server("command: x\noffers:\n  - {capability: c, tool: t}\n  - {capability: c, tool: t}"), "6:9: t is offered for c twice (put their attributes together)"},
		{"misspelt contract key", "capabilities:\n  c: {inptu: {}}\n", `2:7: unknown key "inptu" (did you mean "input"?)`},
		{"schema of the wrong type", "capabilities:\n  c: {input: object}\n", "2:14: a JSON Schema is expected here, not text"},
		{"schema fault, deep", "capabilities:\n  c:\n    input: {type: object, properties: {code: {type: strnig}}}\n", "3:53: not a JSON Schema: got string, want array; or value must be one of 'array'"},
		{"schema from elsewhere", "capabilities:\n  c:\n    input: {$ref: \"http://h/s.json\"}\n", "3:12: not a JSON Schema that can be used: http://h/s.json is not read"},
		{"same key twice", "mcpServers:\n  a: {command: x}\n  a: {command: y}\n", `3:3: the key "a" stands here twice`},
		{"not YAML", "mcpServers: [\n", "not YAML"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := static.Parse("/etc/j.yaml", []byte(c.text), options(nil))
			var fs document.Faults
			if !errors.As(err, &fs) {
				t.Fatalf("Parse = %v, want faults", err)
			}
			if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "/etc/j.yaml:") {
				t.Errorf("faults:\n%v\nwant one with\n%s", err, c.want)
			}
		})
	}
}

func TestServersOnOneLedgerMustMapAlike(t *testing.T) {
	const file = `
mcpServers:
  a: {command: a, offers: [{capability: charge, tool: t, effect: conditional, key: id, ledger: {name: l}, with: {amount: "${with.amount}"}}]}
  b: {command: b, offers: [{capability: charge, tool: t, effect: conditional, %s}]}
`
	for _, c := range []struct{ name, second, want string }{
		{"other arguments", `key: id, ledger: {name: l}, with: {sum: "${with.amount}"}`, "4:28: server a and server b share the ledger l for charge and map arguments differently"},
		{"passed through", `key: id, ledger: {name: l}`, "server a and server b share the ledger l for charge and map arguments differently"},
		{"other key", `key: ref, ledger: {name: l}, with: {amount: "${with.amount}"}`, "carry the key in different places"},
		{"other lifetime", `key: id, ledger: {name: l, keeps: 1h}, with: {amount: "${with.amount}"}`, "ledger l keeps keys for 24h0m0s at server a and for 1h0m0s at server b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := static.Parse("j.yaml", fmt.Appendf(nil, file, c.second), options(nil))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("faults: %v\nwant one with %q", err, c.want)
			}
		})
	}
}

func TestAllFaultsAreToldAtOnceInOrder(t *testing.T) {
	_, err := static.Parse("j.yaml", []byte(`store: ${A}
mcpServers:
  x y: {comand: z}
  ok: {command: "${B}", offers: [{tool: t, effect: conditional}]}
capabilities:
  c: {input: {type: 7}}
`), options(nil))
	var fs document.Faults
	if !errors.As(err, &fs) {
		t.Fatal(err)
	}
	var lines []int
	for _, f := range fs {
		lines = append(lines, f.Line)
	}
	if got := fmt.Sprint(lines); got != "[1 3 3 4 4 4 6]" {
		t.Errorf("faults in lines %s:\n%v", got, err)
	}
}

func TestNoSecretIsInAFaultOrAString(t *testing.T) {
	const secret = "hunter2"
	env := map[string]string{"SECRET": secret, "BROKEN": "http://u:" + secret + "@[::1", "LINES": secret + "\nx"}
	for _, text := range []string{
		"mcpServers: {s: {url: \"${BROKEN}\"}}",
		"mcpServers: {s: {url: \"ftp://${SECRET}@h\"}}",
		"mcpServers: {s: {url: \"http://h\", headers: {A: \"${LINES}\"}}}",
		"mcpServers: {s: {command: \"${SECRET}\", args: [\"${SECRET}\", \"${UNSET}\"], env: {A: \"${SECRET} ${hunter}\"}}}",
		"store: \"redis://:${SECRET}@h ${UNSET}\"",
	} {
		_, err := static.Parse("j.yaml", []byte(text), options(env))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("%s\ngives %v", text, err)
		}
	}
	// Text that YAML takes for something else is quoted by its faults elsewhere.
	for _, text := range []string{
		"mcpServers: {s: {command: x, env: {PIN: 0123987}}}",
		"mcpServers: {s: {command: x, env: {PIN: !0123987 a}}}",
		"mcpServers: {s: {command: x, env: {PIN: *0123987}}}",
		"mcpServers: {s: {url: \"http://h\", headers: {PIN: 01239870123987012398701239870123987}}}",
	} {
		_, err := static.Parse("j.yaml", []byte(text), options(env))
		if err == nil || strings.Contains(err.Error(), "123987") || !strings.Contains(err.Error(), "quotes") {
			t.Errorf("%s\ngives %v", text, err)
		}
	}
	c := parse(t, "store: \"redis://:${SECRET}@h\"\nmcpServers: {s: {command: x, env: {A: \"${SECRET}\"}}}", env)
	web := parse(t, "mcpServers: {s: {url: \"https://me:${SECRET}@h:1/a%2Fb?key=${SECRET}#${SECRET}\"}}", env)
	if got := web.Servers[0].Endpoint(); got != "https://h:1/a%2Fb" {
		t.Errorf("the endpoint for records is %s", got)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if s := fmt.Sprintf(verb, c); strings.Contains(s, secret) || !strings.Contains(s, "1 servers") {
			t.Errorf("%s gives %s", verb, s)
		}
	}
}
