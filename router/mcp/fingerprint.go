package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"junction/router"
	"junction/state/value"
)

// digestOf is over the bytes as received: where it is equal, nothing has to be
// parsed to know that nothing changed.
func digestOf(version string, doc json.RawMessage, raw []json.RawMessage) [32]byte {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%d\n%s\n", version, len(doc), doc)
	for _, page := range raw {
		fmt.Fprintf(h, "%d\n%s\n", len(page), page)
	}
	return [32]byte(h.Sum(nil))
}

// fingerprint is the SHA-256, in hex, of the canonical capability document:
// name, version, protocol, capabilities and tools by name, with sorted keys.
func fingerprint(d *router.Description, capabilities json.RawMessage, tools []json.RawMessage) (string, error) {
	caps, err := value.Parse(orNull(capabilities))
	if err != nil {
		return "", err
	}
	byName := map[string]any{}
	for _, raw := range tools {
		v, err := value.Parse(raw)
		if err != nil {
			return "", err
		}
		if m, ok := v.(map[string]any); ok {
			name, _ := m["name"].(string)
			byName[name] = m
		}
	}
	doc, err := value.Encode(map[string]any{
		"name": d.Name, "version": d.Version, "protocol": d.ProtocolVersion, "capabilities": caps, "tools": byName,
	})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:]), nil
}

func orNull(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("null")
	}
	return raw
}
