package lab

import "testing"

// BenchmarkRun is one seed of G3 under the default policy: 50,000 calls.
func BenchmarkRun(b *testing.B) {
	all, err := Gate("G3")
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; b.Loop(); i++ {
		if _, err := Run(b.Context(), all[0], []string{Default}, Seeds(uint64(i), 1)); err != nil {
			b.Fatal(err)
		}
	}
}
