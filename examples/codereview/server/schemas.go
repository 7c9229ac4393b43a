package server

// The schemas of the tools. Clients check arguments and answers against them.
const (
	finding = `{
		"type": "object",
		"required": ["path", "line", "column", "severity", "rule", "message", "reviewer"],
		"properties": {
			"path": {"type": "string"},
			"line": {"type": "integer", "minimum": 0, "description": "From 1; 0 means the whole file."},
			"column": {"type": "integer", "minimum": 0, "description": "In bytes from 1; 0 means the whole line."},
			"severity": {"enum": ["info", "low", "medium", "high"]},
			"rule": {"type": "string"},
			"message": {"type": "string"},
			"reviewer": {"type": "string"}
		}
	}`
	reviewInput = `{
		"type": "object",
		"required": ["code", "language"],
		"properties": {
			"code": {"type": "string", "description": "The file's content."},
			"language": {"type": "string"},
			"context": {
				"type": "object",
				"properties": {
					"repo": {"type": "string", "description": "Directory of the git repository, for reviewers that look at the whole package."},
					"path": {"type": "string", "description": "The file's path from the repository's root."},
					"revision": {"type": "string", "description": "The commit the content is of."}
				}
			}
		}
	}`
	reviewOutput = `{
		"type": "object",
		"required": ["issues", "severity_summary", "suggestions"],
		"properties": {
			"issues": {"type": "array", "items": ` + finding + `},
			"severity_summary": {"type": "object", "additionalProperties": {"type": "integer"}},
			"suggestions": {"type": "array", "items": {"type": "string"}}
		}
	}`
	diffInput = `{
		"type": "object",
		"required": ["repo"],
		"properties": {"repo": {"type": "string", "description": "A directory inside of a git repository."}}
	}`
	diffOutput = `{
		"type": "object",
		"required": ["repo", "revision", "base", "files", "skipped", "listing"],
		"properties": {
			"repo": {"type": "string"},
			"revision": {"type": "string"},
			"base": {"type": "string"},
			"files": {"type": "array", "items": {
				"type": "object",
				"required": ["path", "status", "language", "after", "revision", "reviewable"],
				"properties": {"path": {"type": "string"}, "status": {"enum": ["added", "modified", "renamed"]}, "reviewable": {"type": "boolean"}}
			}},
			"skipped": {"type": "array", "items": {"type": "object", "required": ["path", "status", "reason"]}},
			"listing": {"type": "array", "items": {"type": "object", "required": ["path", "language", "reviewable"]}}
		}
	}`
	reportInput = `{
		"type": "object",
		"required": ["findings"],
		"properties": {
			"repo": {"type": "string"},
			"revision": {"type": "string"},
			"base": {"type": "string"},
			"findings": {"type": "array", "items": ` + finding + `},
			"files": {"type": "array", "items": {"type": "object", "required": ["path"]}},
			"skipped": {"type": "array", "items": {"type": "object", "required": ["path", "reason"]}}
		}
	}`
	reportOutput = `{
		"type": "object",
		"required": ["markdown", "severity_summary"],
		"properties": {"markdown": {"type": "string"}, "severity_summary": {"type": "object"}}
	}`
	publishInput = `{
		"type": "object",
		"required": ["idempotencyKey", "text"],
		"properties": {
			"idempotencyKey": {"type": "string", "minLength": 1, "maxLength": 255},
			"text": {"type": "string"},
			"path": {"type": "string", "description": "File to write."}
		}
	}`
	publishOutput = `{
		"type": "object",
		"required": ["receipt", "sha256", "bytes", "path"],
		"properties": {"receipt": {"type": "integer"}, "sha256": {"type": "string"}, "bytes": {"type": "integer"}, "path": {"type": "string"}}
	}`
	executionsInput  = `{"type": "object", "properties": {}}`
	executionsOutput = `{
		"type": "object",
		"required": ["total", "keys"],
		"properties": {"total": {"type": "integer"}, "keys": {"type": "object", "additionalProperties": {"type": "integer"}}}
	}`
)
