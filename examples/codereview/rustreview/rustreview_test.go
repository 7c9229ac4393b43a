package rustreview_test

import (
	"testing"

	"junction/examples/codereview/reviewer"
	"junction/examples/codereview/rustreview"
)

func review(t *testing.T, code string) []reviewer.Finding {
	t.Helper()
	if err := rustreview.Available(); err != nil {
		t.Skip(err)
	}
	v, err := rustreview.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := v.Close(); err != nil {
			t.Error(err)
		}
	})
	r, err := v.Review(t.Context(), reviewer.Request{Code: code, Context: reviewer.Context{Path: "src/lib.rs"}})
	if err != nil {
		t.Fatal(err)
	}
	return r.Issues
}

func TestSyntaxFaultsAreFoundAtTheirPlace(t *testing.T) {
	got := review(t, "fn sound() {}\n\nfn broken(a: ) {\n}\n")
	if len(got) == 0 || got[0].Line != 3 || got[0].Severity != reviewer.High || got[0].Path != "src/lib.rs" {
		t.Errorf("issues %+v, want one at line 3", got)
	}
}

func TestSoundCodeHasNoFindings(t *testing.T) {
	for name, code := range map[string]string{
		"other modules and crates": "mod absent;\nuse serde::Serialize;\n#[derive(Serialize)]\nstruct A;\n",
		"async":                    "async fn f() { g().await }\n",
		"a name of 2015":           "fn f() { let async = 1; }\n",
		"a macro of its own":       "macro_rules! m { ($a:expr) => { $a } }\nfn f() { m!(1) }\n",
	} {
		t.Run(name, func(t *testing.T) {
			if got := review(t, code); len(got) != 0 {
				t.Errorf("issues %+v", got)
			}
		})
	}
}

func TestMacrosAreNotExpanded(t *testing.T) {
	if got := review(t, "const A: &str = include_str!(\"/etc/hostname\");\ncompile_error!(env!(\"HOME\"));\n"); len(got) != 0 {
		t.Errorf("issues %+v: the macros were expanded", got)
	}
}
