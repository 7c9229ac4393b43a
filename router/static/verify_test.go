package static_test

import (
	"testing"

	"junction/router/static"
)

func TestAnOfferNamesWhatVerifiesIt(t *testing.T) {
	c, err := static.Parse("junction.yaml", []byte(server(`command: x
offers:
  - {capability: c, tool: t, verify: look}
  - capability: d
    tool: u
    verify:
      tool: find
      with: {id: "${key}", sku: "${with.sku}"}
      result: {happened: "${result.structured.count > 0}"}`)), nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, mapped := c.Servers[0].Offers[0].Verify, c.Servers[0].Offers[1].Verify
	if plain.Tool != "look" || plain.With != nil || plain.Result != nil {
		t.Errorf("plain %+v", plain)
	}
	with, err := mapped.With.Eval(t.Context(), map[string]any{"key": "k", "with": map[string]any{"sku": "s"}})
	if err != nil || with.(map[string]any)["id"] != "k" || with.(map[string]any)["sku"] != "s" {
		t.Errorf("with %v, %v", with, err)
	}
	told, err := mapped.Result.Eval(t.Context(), map[string]any{"result": map[string]any{"structured": map[string]any{"count": int64(2)}}})
	if err != nil || told.(map[string]any)["happened"] != true {
		t.Errorf("result %v, %v", told, err)
	}
}
