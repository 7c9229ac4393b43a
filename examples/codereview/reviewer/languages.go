package reviewer

import (
	"path"
	"strings"
)

// The languages that have a reviewer among the examples.
const (
	Go         = "go"
	JavaScript = "javascript"
	TypeScript = "typescript"
	Python     = "python"
	Rust       = "rust"
	Text       = "text" // what nothing else is known of
)

var byExtension = map[string]string{
	".go":  Go,
	".js":  JavaScript,
	".mjs": JavaScript,
	".cjs": JavaScript,
	".jsx": JavaScript,
	".ts":  TypeScript,
	".tsx": TypeScript,
	".mts": TypeScript,
	".cts": TypeScript,
	".py":  Python,
	".pyi": Python,
	".rs":  Rust,

	".c":     "c",
	".h":     "c",
	".cc":    "c++",
	".cpp":   "c++",
	".hpp":   "c++",
	".cs":    "c#",
	".css":   "css",
	".ex":    "elixir",
	".html":  "html",
	".java":  "java",
	".json":  "json",
	".kt":    "kotlin",
	".lua":   "lua",
	".md":    "markdown",
	".php":   "php",
	".proto": "protobuf",
	".rb":    "ruby",
	".scala": "scala",
	".sh":    "shell",
	".sql":   "sql",
	".swift": "swift",
	".toml":  "toml",
	".xml":   "xml",
	".yaml":  "yaml",
	".yml":   "yaml",
}

// Language tells a file's language from its name; Text when it cannot.
func Language(name string) string {
	if l, ok := byExtension[strings.ToLower(path.Ext(name))]; ok {
		return l
	}
	switch path.Base(name) {
	case "Dockerfile":
		return "dockerfile"
	case "Makefile":
		return "make"
	}
	return Text
}
