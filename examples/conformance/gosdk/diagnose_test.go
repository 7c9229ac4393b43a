package gosdk_test

import (
	"encoding/json"
	"testing"

	"junction/router"
	"junction/router/diagnose"
)

func TestADiagnosisFindsNothingWrong(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s *router.Server, _ string) {
		r := diagnose.Server(t.Context(), s, nil)
		if r.Status != diagnose.Passed {
			data, err := json.MarshalIndent(r, "", "  ")
			t.Errorf("%s, %v", data, err)
		}
	})
}
