// Package jsreview reviews JavaScript and TypeScript with esbuild's parser,
// which knows the current language, JSX and types. Nothing is bundled or run,
// and no other file is read.
package jsreview

import (
	"context"
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"junction/examples/codereview/reviewer"
)

// Reviewer parses one file at a time.
type Reviewer struct{}

// New returns a JavaScript and TypeScript reviewer.
func New() *Reviewer { return &Reviewer{} }

// Name implements reviewer.Reviewer.
func (*Reviewer) Name() string { return "javascript" }

// Languages implements reviewer.Reviewer.
func (*Reviewer) Languages() []string {
	return []string{reviewer.JavaScript, reviewer.TypeScript}
}

// Close implements reviewer.Reviewer.
func (*Reviewer) Close() error { return nil }

// Review implements reviewer.Reviewer.
func (v *Reviewer) Review(ctx context.Context, r reviewer.Request) (reviewer.Review, error) {
	if err := ctx.Err(); err != nil {
		return reviewer.Review{}, err
	}
	if strings.Contains(r.Code[:min(len(r.Code), 1024)], "@flow") {
		return reviewer.Conclude(v.Name(), []reviewer.Finding{{
			Path: r.Path(), Severity: reviewer.Info, Rule: "not-reviewed",
			Message: "not reviewed: Flow's types are not understood",
		}}), nil
	}
	result := api.Transform(r.Code, api.TransformOptions{
		Sourcefile:  r.Path(),
		Loader:      loader(r),
		LogLevel:    api.LogLevelSilent,
		LogLimit:    0,
		Target:      api.ESNext,
		TsconfigRaw: `{"compilerOptions": {"experimentalDecorators": true}}`, // accepts the older decorators too
		JSX:         api.JSXPreserve,
	})
	var found []reviewer.Finding
	for _, m := range result.Errors {
		found = append(found, finding(r.Path(), m, reviewer.High, "syntax"))
	}
	for _, m := range result.Warnings {
		found = append(found, finding(r.Path(), m, reviewer.Medium, m.ID))
	}
	return reviewer.Conclude(v.Name(), reviewer.Within(r.Code, found)), nil
}

func finding(name string, m api.Message, severity reviewer.Severity, rule string) reviewer.Finding {
	f := reviewer.Finding{Path: name, Severity: severity, Rule: rule, Message: m.Text}
	if m.Location != nil {
		f.Line, f.Column = m.Location.Line, m.Location.Column+1
	}
	return f
}

// loader chooses the dialect by the file's extension, else by the language.
// Plain .js files may hold JSX, as many do.
func loader(r reviewer.Request) api.Loader {
	switch strings.ToLower(path.Ext(r.Context.Path)) {
	case ".tsx":
		return api.LoaderTSX
	case ".ts", ".mts", ".cts":
		return api.LoaderTS
	case ".js", ".jsx", ".mjs", ".cjs":
		return api.LoaderJSX
	}
	if r.Language == reviewer.TypeScript {
		return api.LoaderTSX
	}
	return api.LoaderJSX
}
