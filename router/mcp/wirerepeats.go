package mcp

import (
	"bytes"
	"encoding/json"
	"sync"

	protocol "github.com/mark3labs/mcp-go/mcp"
)

// repeats are the tools of which arguments are repeated in headers (x-mcp-header, in
// the later era over HTTP), as the lists that passed through a [Wire] say. What is
// kept of all of them together is bounded as one answer is.
type repeats struct {
	limit int

	mu    sync.Mutex
	tools map[string]*protocol.Tool
	size  int
}

// learn takes in a page of tools; the first page replaces what was known.
func (r *repeats) learn(params, result []byte) {
	var page struct {
		Tools []struct {
			Name  string          `json:"name"`
			Input json.RawMessage `json:"inputSchema"`
		} `json:"tools"`
	}
	marked := bytes.Contains(result, []byte("x-mcp-header"))
	if marked && json.Unmarshal(result, &page) != nil {
		return
	}
	all, _ := fieldsOf(params)
	r.mu.Lock()
	defer r.mu.Unlock()
	if valueOf(all, "cursor") == nil || r.tools == nil {
		r.tools, r.size = map[string]*protocol.Tool{}, 0
	}
	for _, t := range page.Tools {
		if !bytes.Contains(t.Input, []byte("x-mcp-header")) || r.size+len(t.Input) > r.limit {
			continue
		}
		tool := &protocol.Tool{Name: t.Name, RawInputSchema: t.Input}
		if protocol.ValidateParamHeaderAnnotations(tool) == nil {
			r.tools[t.Name] = tool
			r.size += len(t.Input)
		}
	}
}

// of is the tool, where arguments of it are repeated; else nil.
func (r *repeats) of(name string) *protocol.Tool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tools[name]
}
