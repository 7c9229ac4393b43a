package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// prepare returns the input of the scenario's workflow, nil where it needs none.
func (c *caller) prepare(ctx context.Context, given string) ([]byte, error) {
	if strings.HasPrefix(c.scenario, "auth/") {
		return nil, c.authorize(given)
	}
	switch c.scenario {
	case "http-custom-headers":
		return callsOf(given)
	case "json-schema-2020-12-preservation":
		return c.schemaOf(ctx, "json_schema_2020_12_tool")
	}
	return nil, nil
}

// authorize chooses the servers file in which junction is a client of the suite's
// authorization server. Where the suite tells no client of its own, it is one that
// is not registered there.
func (c *caller) authorize(given string) error {
	var as struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
		Key    string `json:"private_key_pem"`
	}
	if given != "" {
		if err := json.Unmarshal([]byte(given), &as); err != nil {
			return fmt.Errorf("reading %s: %w", envContext, err)
		}
	}
	c.servers = filepath.Join(c.workflows, "oauth.yaml")
	c.env = append(c.env, "CONFORMANCE_CLIENT_ID="+cmp.Or(as.ID, "stranger"), "CONFORMANCE_CLIENT_SECRET="+cmp.Or(as.Secret, "unregistered"))
	if as.Key == "" {
		return nil
	}
	c.servers = filepath.Join(c.workflows, "oauth-key.yaml")
	file := filepath.Join(c.dir, "key.pem")
	c.env = append(c.env, "CONFORMANCE_KEY_FILE="+file)
	return os.WriteFile(file, []byte(as.Key), 0o600)
}

// callsOf are the calls that the suite asks for, with their arguments as they are.
func callsOf(given string) ([]byte, error) {
	var asked struct {
		Calls json.RawMessage `json:"toolCalls"`
	}
	if err := json.Unmarshal([]byte(given), &asked); err != nil {
		return nil, fmt.Errorf("reading %s: %w", envContext, err)
	}
	return json.Marshal(map[string]json.RawMessage{"calls": asked.Calls})
}

// schemaOf is the input schema of a tool, as junction shows it.
func (c *caller) schemaOf(ctx context.Context, tool string) ([]byte, error) {
	_, printed, err := c.junction(ctx, "servers", "--config", c.servers, "--json", "--schemas")
	if err != nil {
		return nil, err
	}
	var servers []struct {
		Schemas map[string]struct {
			Input json.RawMessage `json:"input"`
		} `json:"schemas"`
	}
	if err := json.Unmarshal(printed, &servers); err != nil {
		return nil, err
	}
	if len(servers) != 1 || servers[0].Schemas[tool].Input == nil {
		return nil, fmt.Errorf("junction shows no schema of %s", tool)
	}
	return json.Marshal(map[string]json.RawMessage{"schema": servers[0].Schemas[tool].Input})
}

// question is what a run waits for, as junction prints it.
type question struct {
	ID     string          `json:"id"`
	Schema json.RawMessage `json:"schema"`
}

// form is as much of a JSON Schema as an answer needs.
type form struct {
	Type       string          `json:"type"`
	Default    json.RawMessage `json:"default"`
	Enum       []any           `json:"enum"`
	Properties map[string]form `json:"properties"`
}

// answer agrees: it takes the first of several choices, says yes, and leaves out
// what has a default, which is for junction to fill in.
func (q question) answer() (string, error) {
	var f form
	if err := json.Unmarshal(q.Schema, &f); err != nil {
		return "", fmt.Errorf("the schema of question %s: %w", q.ID, err)
	}
	value, err := f.agree()
	if err != nil {
		return "", fmt.Errorf("question %s: %w", q.ID, err)
	}
	text, err := json.Marshal(value)
	return string(text), err
}

func (f form) agree() (any, error) {
	switch {
	case len(f.Enum) > 0:
		return f.Enum[0], nil
	case f.Type == "boolean":
		return true, nil
	case f.Type == "object":
		fields := map[string]any{}
		for name, field := range f.Properties {
			if field.Default != nil {
				continue
			}
			value, err := field.agree()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			fields[name] = value
		}
		return fields, nil
	}
	return nil, fmt.Errorf("no answer is known for a %q", f.Type)
}
