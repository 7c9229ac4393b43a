package document

import (
	"slices"
	"strings"
)

// Suggest returns the word of known that is most like word, or "" when none is
// like it: at most a third of its letters, and at least one, may be added,
// dropped, changed or swapped with a neighbour; else one of them begins with the
// other, of at least three letters. Case does not count.
func Suggest(word string, known []string) string {
	if len(word) > 64 {
		return ""
	}
	w := []rune(strings.ToLower(word))
	best, bestDistance := "", max(1, len(w)/3)+1
	for _, k := range slices.Sorted(slices.Values(known)) {
		if k == word || len(k) > 64 {
			continue
		}
		if d := distance(w, []rune(strings.ToLower(k))); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	if best == "" {
		return beginning(w, known)
	}
	return best
}

// beginning finds a word of known that begins with w, or with which w begins.
func beginning(w []rune, known []string) string {
	for _, k := range slices.Sorted(slices.Values(known)) {
		word, other := string(w), strings.ToLower(k)
		if min(len(word), len(other)) >= 3 && word != other && (strings.HasPrefix(word, other) || strings.HasPrefix(other, word)) {
			return k
		}
	}
	return ""
}

// Hint says which of known may have been meant by word, or lists what there is.
func Hint(word string, known []string) string {
	if s := Suggest(word, known); s != "" {
		return `did you mean "` + s + `"?`
	}
	if len(known) == 0 {
		return ""
	}
	all := slices.Compact(slices.Sorted(slices.Values(known)))
	if len(all) > 12 {
		return "known: " + strings.Join(all[:12], ", ") + ", …"
	}
	return "known: " + strings.Join(all, ", ")
}

// distance is the optimal string alignment distance.
func distance(a, b []rune) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := last[j-1]
			if a[i-1] != b[j-1] {
				change++
			}
			row[j] = min(change, last[j]+1, row[j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
