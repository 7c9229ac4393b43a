package mcp

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"junction/router"
	"junction/state"
)

func TestSchemasAreCheckedAndNeverFetched(t *testing.T) {
	for _, tc := range []struct {
		name, schema string
		v            any
		fault        string // "": fits
	}{
		{"no schema", ``, "anything", ""},
		{"integer beyond 2^53", `{"type":"integer","minimum":9007199254740993}`, int64(9007199254740993), ""},
		{"enum", `{"enum":["a","b"]}`, "c", "must be one of"},
		{"reference within", `{"$defs":{"n":{"type":"number"}},"$ref":"#/$defs/n"}`, "x", "got string"},
		{"reference elsewhere", `{"$ref":"http://127.0.0.1:1/schema.json"}`, int64(1), "not followed"},
		{"reference to a file", `{"$ref":"file:///etc/passwd"}`, int64(1), "not followed"},
		{"draft 7", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"string"}`, int64(1), "got number"},
		{"a pattern of another language", `{"type":"string","pattern":"(?=x)y"}`, "anything", ""},
		{"no schema at all", `[1]`, "x", "cannot be used"},
	} {
		err := newSchema(json.RawMessage(tc.schema)).check(t.Context(), tc.v)
		switch {
		case tc.fault == "" && err != nil:
			t.Errorf("%s: %v", tc.name, err)
		case tc.fault != "" && (err == nil || !strings.Contains(err.Error(), tc.fault)):
			t.Errorf("%s: %v, want %q", tc.name, err, tc.fault)
		}
	}
}

func TestRetryAfterIsHeldAgainstTheServersOwnClock(t *testing.T) {
	day := func(v string) http.Header {
		return http.Header{"Retry-After": {v}, "Date": {"Tue, 01 Sep 2020 10:00:00 GMT"}}
	}
	for v, want := range map[string]time.Duration{
		"5": 5 * time.Second, "Tue, 01 Sep 2020 10:00:30 GMT": 30 * time.Second, "Tue, 01 Sep 2020 09:00:00 GMT": 0, "soon": 0,
	} {
		if d, said := retryAfter(day(v)); d != want || !said {
			t.Errorf("%s: %v, %v", v, d, said)
		}
	}
	if _, said := retryAfter(http.Header{}); said {
		t.Error("no header says something")
	}
}

func TestCredentialsGoToTheirOriginOnly(t *testing.T) {
	h := &origin{scheme: "http", host: "a.example", headers: map[string]string{"Authorization": "secret"}}
	b := &badge{card: &card{header: "X-Api-Key"}, value: []string{"secret"}}
	for url, want := range map[string]string{
		"http://a.example/x": "secret", "https://a.example/x": "", "http://a.example:81/x": "", "http://b.example/x": "",
	} {
		req, err := http.NewRequest(http.MethodPost, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"Authorization", "X-Api-Key"} {
			if got := h.dressed(req, b).Header.Get(name); got != want {
				t.Errorf("%s, %s: %q", url, name, got)
			}
		}
	}
}

func TestRoutingIsAClaimOfWhichTheReadablePartCounts(t *testing.T) {
	r := readRouting(json.RawMessage(`{"latency_p95_ms":"fast","max_concurrent_requests":-4,"capability":"code-review",
		"attributes":{"language":["go"],"depth":3},"language_support":["rust"],"review_depth":"deep"}`))
	if r.LatencyP95MS != 0 || r.MaxConcurrent != 0 || r.Capability != "code-review" ||
		strings.Join(r.Attributes["language"], ",") != "go" || strings.Join(r.Attributes["review_depth"], ",") != "deep" || len(r.Attributes) != 2 {
		t.Errorf("%+v", r)
	}
	if r := readRouting(json.RawMessage(`[]`)); r.Attributes != nil {
		t.Errorf("%+v", r)
	}
}

func FuzzReadResult(f *testing.F) {
	f.Add(`{"content":[{"type":"text","text":"x"}],"structuredContent":{"n":9007199254740993}}`)
	f.Add(`{"resultType":"task"}`)
	f.Add(`{"content":[null,1,{"type":"text"}],"isError":1}`)
	f.Fuzz(func(t *testing.T, raw string) {
		r, e := readResult(t.Context(), json.RawMessage(raw), nil)
		if (r == nil) == (e == nil) {
			t.Fatal("neither or both of a result and an error")
		}
		if e != nil && e.Code != router.OutputInvalid {
			t.Fatal(e.Code)
		}
	})
}

func FuzzReadLine(f *testing.F) {
	f.Add("a\nb\r\n"+strings.Repeat("x", 100)+"\nlast", 20)
	f.Fuzz(func(t *testing.T, in string, limit int) {
		limit = max(0, min(limit, 1<<16))
		r := bufio.NewReaderSize(strings.NewReader(in), 16)
		for i := 0; ; i++ {
			line, end, err := readLine(r, limit)
			if end == nil && len(line) > limit || len(end) > glimpse || strings.Contains(string(line), "\n") {
				t.Fatalf("%q under limit %d", line, limit)
			}
			if err != nil {
				break
			}
			if i > len(in) {
				t.Fatal("no end")
			}
		}
	})
}

func FuzzExcerpt(f *testing.F) {
	f.Add("a\x1b[31mb\u202ec\n")
	f.Fuzz(func(t *testing.T, s string) {
		out := excerpt(s)
		for _, r := range out {
			if unicode.IsControl(r) || r == '\u202e' {
				t.Fatalf("%q", out)
			}
		}
		if n := len([]rune(out)); n > excerptRunes+1 {
			t.Fatal(n)
		}
	})
}

func TestALinkLocalAddressIsRefusedBeforeAProxyIsAsked(t *testing.T) {
	o := new(Options).withDefaults()
	for _, url := range []string{"http://169.254.169.254/mcp", "http://[fe80::1%25eth0]:80/", "https://[::ffff:169.254.1.1]/"} {
		if _, e := newHTTPLink(&router.Dial{URL: url}, &o, nil, nil); e == nil || e.Execution != state.NotExecuted {
			t.Errorf("%s: %v", url, e)
		}
	}
}
