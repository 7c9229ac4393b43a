package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"junction/examples/codereview/gitdiff"
	"junction/examples/codereview/report"
	"junction/examples/codereview/reviewer"
)

// The probes use a capability the way a call does, on as little as there can be,
// and look at the answer. None of them leaves anything behind.

// faulty is, by language, a file with one serious fault.
var faulty = map[string]string{
	reviewer.Go:         "package probe\n\nfunc f() int { return \"\" }\n",
	reviewer.JavaScript: "let a = ;\n",
	reviewer.Python:     "def f(:\n    pass\n",
	reviewer.Rust:       "fn f( {}\n",
	"any":               "-----BEGIN " + "PRIVATE KEY-----\n", // in two, so that this file holds none
}

// probeReview reviews a faulty file in the reviewer's first language. A reviewer
// that finds nothing in it does not work, whatever it says.
func probeReview(v reviewer.Reviewer) func(context.Context) error {
	return func(ctx context.Context) error {
		language := v.Languages()[0]
		review, err := v.Review(ctx, reviewer.Request{Code: faulty[language], Language: language})
		if err != nil {
			return err
		}
		serious := func(f reviewer.Finding) bool { return f.Severity == reviewer.High }
		if slices.ContainsFunc(review.Issues, serious) {
			return nil
		}
		for _, f := range review.Issues {
			return fmt.Errorf("the fault in a file of %s was not found: %s", language, f.Message)
		}
		return fmt.Errorf("the fault in a file of %s was not found", language)
	}
}

// probeDiff reads a repository of one commit with one file, made for this.
func probeDiff(ctx context.Context) (err error) {
	dir, err := oneCommit()
	if err != nil {
		return fmt.Errorf("make a repository to read: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	d, err := gitdiff.Read(ctx, dir, nil)
	if err != nil {
		return err
	}
	if len(d.Files) != 1 || d.Files[0].Path != probeFile {
		return fmt.Errorf("a repository of one file was read as %d files", len(d.Files))
	}
	return nil
}

func probeReport(context.Context) error {
	if out := report.Render(report.Input{}); !strings.HasPrefix(out.Markdown, "# ") {
		return errors.New("an empty report has no heading")
	}
	return nil
}

// probe looks whether texts can be published, without opening a ledger that
// does not exist yet: it begins with the first publication.
func (l *lazyLedger) probe(ctx context.Context) error {
	_, err := os.Stat(l.path)
	if errors.Is(err, os.ErrNotExist) {
		return l.room()
	}
	if err != nil {
		return fmt.Errorf("ledger %s: %w", l.path, err)
	}
	open, err := l.open(ctx)
	if err != nil {
		return err
	}
	return open.Check(ctx)
}
