package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	protocol "github.com/mark3labs/mcp-go/mcp"

	"junction/router"
)

// maxPages bounds a tool list that never ends.
const maxPages = 1000

// maxTools bounds how many tools a server may list: each takes its part of every
// reading, decision and page.
const maxTools = 10_000

// catalog is what a server can do, as last read: the description and, beside
// it, what calls need. It is never changed.
type catalog struct {
	description *router.Description
	tools       map[string]*tool
	digest      [32]byte      // of the bytes received: equal means unchanged
	ttl         time.Duration // the server's ttlMs; 0: unsaid
	read        time.Time
}

type tool struct {
	print         func() router.ToolPrint
	input, output *schema
	headers       *protocol.Tool // non-nil: arguments to repeat as headers
	tasks         string         // earlier era: whether it is called as a task; one of taskRequired, taskOptional, else never
}

// pages is a tool list as received.
type pages struct {
	raw  []json.RawMessage
	size int // of all of them, bytes
	ttl  time.Duration
}

type wireTool struct {
	Name         string          `json:"name"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
	Execution    struct {
		Tasks string `json:"taskSupport"`
	} `json:"execution"`
	Meta map[string]json.RawMessage `json:"_meta"`
}

// wireServer is the part of an answer to initialize or server/discover that
// describes the server.
type wireServer struct {
	ServerInfo   protocol.Implementation `json:"serverInfo"` // earlier era
	Capabilities json.RawMessage         `json:"capabilities"`
	Meta         struct {
		ServerInfo protocol.Implementation `json:"io.modelcontextprotocol/serverInfo"`
	} `json:"_meta"`
}

// list reads every page of the server's tools.
func (c *conn) list(ctx context.Context) (*pages, *router.CallError) {
	p := &pages{}
	seen := map[string]bool{}
	for cursor := ""; ; {
		params := "{}"
		if cursor != "" {
			quoted, err := json.Marshal(cursor)
			if err != nil {
				return nil, unknown(router.OutputInvalid, "the tool list's cursor is not text", err)
			}
			params = `{"cursor":` + string(quoted) + `}`
		}
		resp, e := c.send(ctx, string(protocol.MethodToolsList), []byte(params), nil)
		if e != nil {
			return nil, e
		}
		var page struct {
			NextCursor string `json:"nextCursor"`
			TTL        *int64 `json:"ttlMs"`
		}
		if err := json.Unmarshal(resp.Result, &page); err != nil {
			return nil, unknown(router.OutputInvalid, "the tool list cannot be read", err)
		}
		if page.TTL != nil {
			p.ttl = max(time.Second, time.Duration(min(*page.TTL, int64(time.Hour/time.Millisecond)))*time.Millisecond)
		}
		if p.size += len(resp.Result); p.size > c.limit {
			return nil, unknown(router.OutputInvalid, "the tool list is larger than allowed", errTooLarge)
		}
		p.raw = append(p.raw, resp.Result)
		if page.NextCursor == "" {
			return p, nil
		}
		if seen[page.NextCursor] || len(p.raw) == maxPages {
			return nil, unknown(router.OutputInvalid, "the tool list does not end", nil)
		}
		seen[page.NextCursor], cursor = true, page.NextCursor
	}
}

// readCatalog lists the tools and parses them, unless the bytes are those of
// last, whose parsed form then stands.
func (c *conn) readCatalog(ctx context.Context, last *catalog) (*catalog, *router.CallError) {
	doc := c.link.opening().document(c.modern)
	var server wireServer
	if err := json.Unmarshal(doc, &server); err != nil {
		return nil, unknown(router.OutputInvalid, "the handshake's answer cannot be read", err)
	}
	p := &pages{}
	if hasTools(server.Capabilities) {
		var e *router.CallError
		if p, e = c.list(ctx); e != nil {
			return nil, e
		}
	}
	digest := digestOf(c.version, doc, p.raw)
	next := &catalog{digest: digest, ttl: p.ttl, read: time.Now()}
	if last != nil && last.digest == digest {
		next.tools = last.tools
		d := *last.description
		d.Session = c.session(d.Fingerprint)
		next.description = &d
		return next, nil
	}
	if err := c.parse(next, &server, p, last); err != nil {
		return nil, unknown(router.OutputInvalid, "the server's description cannot be read: "+excerpt(err.Error()), nil)
	}
	return next, nil
}

func hasTools(capabilities json.RawMessage) bool {
	var c struct {
		Tools json.RawMessage `json:"tools"`
	}
	return json.Unmarshal(capabilities, &c) == nil && len(c.Tools) > 0 && string(c.Tools) != "null"
}

func (c *conn) parse(next *catalog, server *wireServer, p *pages, last *catalog) error {
	info := server.ServerInfo
	if c.modern {
		info = server.Meta.ServerInfo
	}
	d := &router.Description{
		Name: info.Name, Version: info.Version, ProtocolVersion: c.version, Modern: c.modern,
		Routing: serverRouting(server.Capabilities),
	}
	next.tools = map[string]*tool{}
	tasks := !c.modern && offersTasks(server.Capabilities)
	var raws []json.RawMessage
	listed := 0
	for _, page := range p.raw {
		var list struct {
			Tools []json.RawMessage `json:"tools"`
		}
		if err := json.Unmarshal(page, &list); err != nil {
			return err
		}
		if listed += len(list.Tools); listed > maxTools {
			return fmt.Errorf("it lists more than %d tools", maxTools)
		}
		for _, raw := range list.Tools {
			var w wireTool
			if err := json.Unmarshal(raw, &w); err != nil {
				c.log.Warn("tool left out: it cannot be read", "error", excerpt(err.Error()))
				continue
			}
			if !presentable(w.Name) {
				c.log.Warn("tool left out: nobody could write its name", "tool", excerpt(w.Name))
				continue
			}
			t, ok := c.newTool(&w, last)
			if next.tools[w.Name] != nil || !ok {
				continue
			}
			described := w.describe()
			t.print = sync.OnceValue(described.Print)
			if tasks {
				t.tasks = w.Execution.Tasks
			}
			next.tools[w.Name] = t
			d.Tools = append(d.Tools, described)
			raws = append(raws, raw)
		}
	}
	slices.SortStableFunc(d.Tools, func(a, b router.Tool) int { return strings.Compare(a.Name, b.Name) })
	var err error
	if d.Fingerprint, err = fingerprint(d, server.Capabilities, raws); err != nil {
		return err
	}
	d.Session = c.session(d.Fingerprint)
	next.description = d
	return nil
}

// longestName bounds a tool's name; the specification asks for 128 at most.
const longestName = 256

// presentable reports whether a tool's name can stand in a file, a message and a
// terminal.
func presentable(name string) bool {
	return name != "" && len(name) <= longestName && legible(name, longestName) == name
}

func (w *wireTool) describe() router.Tool {
	t := router.Tool{
		Name: w.Name, Description: w.Description, InputSchema: w.InputSchema,
		Annotations: w.Annotations, Routing: readRouting(w.Meta[routingKey]),
	}
	var hints map[string]json.RawMessage
	read(w.Annotations, &hints)
	read(hints["readOnlyHint"], &t.ReadOnly)
	read(hints["idempotentHint"], &t.Idempotent)
	if newSchema(w.OutputSchema) != nil {
		t.OutputSchema = w.OutputSchema
	}
	return t
}

// newTool keeps the compiled schemas of a tool that did not change. A tool
// whose header annotations are malformed must not be offered over HTTP.
func (c *conn) newTool(w *wireTool, last *catalog) (*tool, bool) {
	t := &tool{input: newSchema(w.InputSchema), output: newSchema(w.OutputSchema)}
	if last != nil {
		if old := last.tools[w.Name]; old != nil {
			t.input, t.output = old.input.unless(t.input), old.output.unless(t.output)
		}
	}
	if c.modern && c.http && bytes.Contains(w.InputSchema, []byte("x-mcp-header")) {
		t.headers = &protocol.Tool{Name: w.Name, RawInputSchema: w.InputSchema}
		if err := protocol.ValidateParamHeaderAnnotations(t.headers); err != nil {
			c.log.Warn("tool left out: its header annotations are malformed", "tool", excerpt(w.Name), "error", excerpt(err.Error()))
			return nil, false
		}
	}
	return t, true
}

// unless returns s where fresh says the same, so that it stays compiled.
func (s *schema) unless(fresh *schema) *schema {
	if s != nil && fresh != nil && bytes.Equal(s.raw, fresh.raw) {
		return s
	}
	return fresh
}
