package main

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"testing"
)

func TestAStoreThatCannotBeWrittenSaysWhereElseItCouldBe(t *testing.T) {
	for _, cause := range []error{fs.ErrPermission, syscall.EROFS} {
		err := wireError(fmt.Errorf("open database x: %w", cause))
		var e *exitError
		if !errors.As(err, &e) || e.code != exitFailed || !strings.Contains(e.next, "--store") {
			t.Errorf("%v: %#v", cause, err)
		}
	}
}
