package thirdparty_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"junction/router"
	"junction/state"
)

// routed returns a router over the example's servers, the HTTP one at address,
// and those servers' callers.
func routed(t *testing.T, address string) *router.Router {
	t.Helper()
	r := router.New(servers(t, address).Discovery(), client(t), &router.Options{Seed: 1})
	t.Cleanup(r.Close)
	return r
}

// findings lists a review's issues as "severity rule line".
func findings(t *testing.T, issues any) []string {
	t.Helper()
	list, ok := issues.([]any)
	if !ok {
		t.Fatalf("issues are %#v", issues)
	}
	var all []string
	for _, i := range list {
		issue := i.(map[string]any)
		if !strings.HasSuffix(issue["path"].(string), "cart.js") || issue["message"] == "" {
			t.Errorf("issue %v", issue)
		}
		all = append(all, issue["severity"].(string)+" "+issue["rule"].(string))
	}
	slices.Sort(all)
	return all
}

// What ESLint finds in sample/cart.js by the rules beside it.
var inCart = []string{"error eqeqeq", "error no-undef", "warning no-unused-vars", "warning no-unused-vars"}

func TestAMappedOfferGivesRealFindings(t *testing.T) {
	installed(t)
	answer, err := routed(t, nowhere(t)).Do(t.Context(), state.Call{
		Capability: "code-review",
		Need:       map[string]any{"language": "javascript"},
		With:       map[string]any{"code": "", "language": "javascript", "context": map[string]any{"path": "cart.js"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if answer.Server != "eslint" || answer.Tool != "lint-files" || answer.IsError {
		t.Errorf("answer from %s by %s, a tool's error: %v", answer.Server, answer.Tool, answer.IsError)
	}
	value, ok := answer.Value.(map[string]any)
	if !ok || !slices.Equal(slices.Collect(maps.Keys(value)), []string{"issues"}) {
		t.Fatalf("value %v", answer.Value)
	}
	if diff := cmp.Diff(inCart, findings(t, value["issues"])); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// A language nobody reviews is refused with the reason, not tried.
func TestANeedThatNoServerMeetsIsExplained(t *testing.T) {
	installed(t)
	_, err := routed(t, nowhere(t)).Do(t.Context(), state.Call{
		Capability: "code-review", Need: map[string]any{"language": "rust"},
		With: map[string]any{"code": "", "language": "rust"},
	})
	var none *router.NoCandidateError
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "eslint") {
		t.Errorf("error %v", err)
	}
}

// One instance refuses connections: the other serves every call.
func TestTheInstanceThatIsThereServes(t *testing.T) {
	installed(t)
	r := routed(t, nowhere(t))
	for range 5 {
		answer, err := r.Do(t.Context(), state.Call{Capability: "echo", With: map[string]any{"message": "hello"}})
		if err != nil {
			t.Fatal(err)
		}
		if answer.Server != "everything" || !cmp.Equal(answer.Value, any(map[string]any{"text": "Echo: hello"})) {
			t.Errorf("%s answers %v", answer.Server, answer.Value)
		}
	}
}

// Two healthy instances of one product share the calls.
func TestTwoInstancesShareTheCalls(t *testing.T) {
	installed(t)
	r := routed(t, overHTTP(t))
	served := map[string]int{}
	// How the calls are split follows the latencies, which a busy machine makes
	// up; that each gets some does not.
	for n := 0; n < 1000 && (served["everything"] == 0 || served["everything-http"] == 0); n++ {
		answer, err := r.Do(t.Context(), state.Call{Capability: "weather", With: map[string]any{"city": "New York"}})
		if err != nil {
			t.Fatal(err)
		}
		served[answer.Server]++
	}
	if served["everything"] == 0 || served["everything-http"] == 0 {
		t.Errorf("calls served: %v", served)
	}
}

func TestAnArgumentTheSchemaForbidsIsNotSent(t *testing.T) {
	installed(t)
	_, err := routed(t, nowhere(t)).Do(t.Context(), state.Call{Capability: "weather", With: map[string]any{"city": "Atlantis"}})
	if err == nil || !strings.Contains(err.Error(), "input schema") {
		t.Errorf("error %v", err)
	}
}

func TestAServersToolCanBeCalledDirectly(t *testing.T) {
	installed(t)
	answer, err := routed(t, nowhere(t)).Do(t.Context(), state.Call{
		Server: "files", Tool: "read_text_file", Effect: state.Safe, Max: time.Minute,
		With: map[string]any{"path": "cart.js", "head": int64(2)},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := "// A file with faults, for reviewers to find.\nexport function total(items) {\n"
	value, ok := answer.Value.(map[string]any)
	if !ok || strings.TrimSpace(value["content"].(string)) != strings.TrimSpace(want) {
		t.Errorf("content %v", answer.Value)
	}
}
