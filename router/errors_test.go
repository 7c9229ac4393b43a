package router_test

import (
	"strings"
	"testing"

	"junction/router"
)

func TestAttemptsThatEndedAlikeAreToldOnce(t *testing.T) {
	attempt := func(server, message string) *router.AttemptError {
		return &router.AttemptError{Server: server, Tool: "do", Err: &router.CallError{Code: router.Transport, Message: message}}
	}
	err := &router.AttemptsError{Capability: "work", Attempts: []*router.AttemptError{
		attempt("a", "reset"), attempt("a", "reset"), attempt("b", "reset"), attempt("a", "reset"),
	}}
	got := err.Error()
	if !strings.HasPrefix(got, "work failed after 4 attempts: do on a: ") || strings.Count(got, "do on a") != 2 || strings.Count(got, "do on b") != 1 {
		t.Errorf("%s", got)
	}
	if strings.Count(got, " (2 times)") != 1 || strings.Index(got, " (2 times)") > strings.Index(got, "do on b") {
		t.Errorf("the count stands with the attempts it counts: %s", got)
	}
}
