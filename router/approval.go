package router

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"junction/state/value"
)

// Pinned as [Server.Approval] holds back each tool that is not as it was approved.
const Pinned = "pinned"

// Why a tool is held back.
const (
	heldChanged = "its description or schema changed since it was approved; see junction servers --approve"
	heldNew     = "it was never approved; see junction servers --approve"
)

// ToolPrint is what a tool was when somebody approved it: of each part the SHA-256,
// in hex, of its canonical JSON; "" where there is none.
type ToolPrint struct {
	Description  string `json:"description,omitempty"`
	InputSchema  string `json:"input_schema,omitempty"`
	OutputSchema string `json:"output_schema,omitempty"`
	Annotations  string `json:"annotations,omitempty"`
}

// Print returns the tool's fingerprint as it is now.
func (t *Tool) Print() ToolPrint {
	p := ToolPrint{InputSchema: printOf(t.InputSchema), OutputSchema: printOf(t.OutputSchema), Annotations: printOf(t.Annotations)}
	if t.Description != "" {
		p.Description = sumOf([]byte(t.Description))
	}
	return p
}

// printOf does not depend on the order of keys or on space. What cannot be read as
// JSON is taken as it stands.
func printOf(raw json.RawMessage) string {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || string(raw) == "null" {
		return ""
	}
	if v, err := value.Parse(raw); err == nil {
		if canonical, err := value.Encode(v); err == nil {
			raw = canonical
		}
	}
	return sumOf(raw)
}

func sumOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Changed names the parts, for people, that are not as in p.
func (p ToolPrint) Changed(now ToolPrint) []string {
	var parts []string
	for _, part := range []struct{ name, was, is string }{
		{"description", p.Description, now.Description},
		{"input schema", p.InputSchema, now.InputSchema},
		{"output schema", p.OutputSchema, now.OutputSchema},
		{"annotations", p.Annotations, now.Annotations},
	} {
		if part.was != part.is {
			parts = append(parts, part.name)
		}
	}
	return parts
}

// Held says, for people, why the tool of s that has a name and a print now must not be
// called: it is not as it was approved, or never was. "" means that nothing is held
// against it.
func (s *Server) Held(tool string, now ToolPrint) string {
	if s.Approval == "" {
		return ""
	}
	switch approved, ok := s.Approved[tool]; {
	case !ok:
		return heldNew
	case approved != now:
		return heldChanged
	}
	return ""
}

// heldTools are the tools of a description that are held back: why, and what they were
// then.
func heldTools(s *Server, d *Description) (why map[string]string, prints map[string]ToolPrint) {
	if s.Approval == "" {
		return nil, nil
	}
	why, prints = map[string]string{}, map[string]ToolPrint{}
	for i := range d.Tools {
		name, now := d.Tools[i].Name, d.Tools[i].Print()
		if reason := s.Held(name, now); reason != "" {
			why[name], prints[name] = reason, now
		}
	}
	return why, prints
}

// heldTool says of a rejection which tool it is about.
func heldTool(tool, why string) string { return "tool " + some([]string{tool}) + ": " + why }

// heldNews returns the tools, by name, that c has not reported as held back the way
// they are now. The lock of its roster is held.
func (c *contact) heldNews(k *known) []string {
	if k.err != nil || c.reported == k {
		return nil
	}
	var was map[string]ToolPrint
	if c.reported != nil {
		was = c.reported.heldAs
	}
	c.reported = k
	var news []string
	for tool, now := range k.heldAs {
		if before, reported := was[tool]; !reported || before != now {
			news = append(news, tool)
		}
	}
	slices.Sort(news)
	return news
}
