package mcp_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"junction/router"
	"junction/state"
)

// handshake is a hand-written server whose answer to server/discover the test
// chooses; it counts handshakes of the earlier era.
type handshake struct {
	discover  func(w http.ResponseWriter, id string)
	earlier   int
	rest      scripted
	protocols []string // headers of tools/call
}

func (h *handshake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch {
	case bytes.Contains(body, []byte(`"server/discover"`)):
		h.discover(w, string(idOf(body)))
		return
	case bytes.Contains(body, []byte(`"initialize"`)):
		h.earlier++
	case bytes.Contains(body, []byte(`"tools/call"`)):
		h.protocols = append(h.protocols, r.Header.Get("Mcp-Protocol-Version"))
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	h.rest.ServeHTTP(w, r)
}

func TestTheEraIsFoundByWhatTheServerSaysNotByItsAnswering(t *testing.T) {
	discover := func(versions string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			answer(w, id, `{"supportedVersions":[`+versions+`],"capabilities":{"tools":{}}}`)
		}
	}
	unsupported := func(versions string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(400)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32022,"message":"no","data":{"supported":[%s]}}}`, id, versions)
		}
	}
	plain := func(code int) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, _ string) { http.Error(w, "no", code) }
	}
	once := func(first, then func(http.ResponseWriter, string)) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, id string) {
			now := first
			first = then
			now(w, id)
		}
	}
	for name, tc := range map[string]struct {
		discover func(http.ResponseWriter, string)
		protocol string // "": refused
		code     router.Code
		earlier  int
	}{
		"lists the later version":                {discover: discover(`"2026-07-28","2025-11-25"`), protocol: "2026-07-28"},
		"answers, but lists only earlier ones":   {discover: discover(`"2025-11-25"`), protocol: "2025-11-25", earlier: 1},
		"answers without a list":                 {discover: discover(``), protocol: "2025-11-25", earlier: 1},
		"unsupported, with an earlier in common": {discover: unsupported(`"2025-11-25"`), protocol: "2025-11-25", earlier: 1},
		"unsupported, with nothing in common":    {discover: unsupported(`"2031-01-01"`), code: router.VersionUnsupported},
		"unsupported, though it lists it":        {discover: unsupported(`"2026-07-28"`), code: router.VersionUnsupported},
		"unsupported, lists it and an earlier":   {discover: unsupported(`"2026-07-28","2025-11-25"`), protocol: "2025-11-25", earlier: 1},
		"unsupported only the first time":        {discover: once(unsupported(`"2026-07-28"`), discover(`"2026-07-28"`)), protocol: "2026-07-28"},
		"a bare 404":                             {discover: plain(404), protocol: "2025-11-25", earlier: 1},
		"a bare 400":                             {discover: plain(400), protocol: "2025-11-25", earlier: 1},
		"401, which no handshake cures":          {discover: plain(401), code: router.AuthRequired},
		"429, which is no word on the era":       {discover: plain(429), code: router.ServerOverload},
	} {
		t.Run(name, func(t *testing.T) {
			h := &handshake{discover: tc.discover}
			h.rest.call = status(200, `{"jsonrpc":"2.0","id":$ID,"result":`+fine+`}`)
			s, _ := raw(t, h)
			c := newClient(t, nil)
			d, err := c.Describe(t.Context(), s)
			if tc.protocol == "" {
				if e := callError(t, err); e.Code != tc.code || e.Execution != state.NotExecuted {
					t.Errorf("%s %s: %s", e.Code, e.Execution, e.Message)
				}
			} else if err != nil || d.ProtocolVersion != tc.protocol || d.Modern != strings.HasPrefix(tc.protocol, "2026") {
				t.Fatalf("%+v, %v", d, err)
			} else if _, err := c.Call(t.Context(), s, call("echo", nil)); err != nil || h.protocols[0] != tc.protocol {
				t.Errorf("call under %q: %v", h.protocols, err)
			}
			if h.earlier != tc.earlier {
				t.Errorf("%d handshakes of the earlier era, want %d", h.earlier, tc.earlier)
			}
		})
	}
}
