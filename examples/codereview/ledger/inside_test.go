package ledger

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
)

func TestACallersPatienceEndsWithInProgress(t *testing.T) {
	l, err := Open(t.Context(), filepath.Join(t.TempDir(), "l.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}()
	free, err := l.claim(t.Context(), "k")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Publish(ctx, "k", Publication{Text: "a"}); !errors.Is(err, ErrInProgress) {
		t.Errorf("%v, want in progress", err)
	}
	free()
	if r, err := l.Publish(t.Context(), "k", Publication{Text: "a"}); err != nil || r.ID != 1 {
		t.Errorf("receipt %+v, %v", r, err)
	}
}
