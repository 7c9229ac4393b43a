package schema_test

import (
	"regexp"
	"testing"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kubectl apply -k builds this.
func TestTheKustomizationHoldsAllButTheExampleOfASecret(t *testing.T) {
	t.Parallel()
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), "../kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	all := manifests(t)
	delete(all, "Secret junction")
	pinned := regexp.MustCompile(`image: junction:[0-9]+\.[0-9]+\.[0-9]+\n`)
	for _, r := range built.Resources() {
		id := r.GetKind() + " " + r.GetName()
		if all[id] == nil {
			t.Errorf("%s is built and stands in no file", id)
		}
		delete(all, id)
		if r.GetKind() != "Namespace" && r.GetNamespace() != "junction" {
			t.Errorf("%s is in namespace %q", id, r.GetNamespace())
		}
		if text, err := r.AsYAML(); err != nil || r.GetKind() == "Deployment" && !pinned.Match(text) {
			t.Errorf("%s has an image without a version: %v", id, err)
		}
	}
	for id := range all {
		t.Errorf("%s is left out", id)
	}
}
