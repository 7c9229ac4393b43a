// Package secrets finds credentials in files of any language. What it finds is
// masked: no finding carries more than a secret's first four characters.
package secrets

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"strings"
	"unicode"

	"junction/examples/codereview/reviewer"
)

// Reviewer looks for credentials line by line.
type Reviewer struct{}

// New returns a secrets reviewer.
func New() *Reviewer { return &Reviewer{} }

// Name implements reviewer.Reviewer.
func (*Reviewer) Name() string { return "secrets" }

// Languages implements reviewer.Reviewer: it reads anything.
func (*Reviewer) Languages() []string { return []string{"any"} }

// Close implements reviewer.Reviewer.
func (*Reviewer) Close() error { return nil }

// Review implements reviewer.Reviewer.
func (v *Reviewer) Review(ctx context.Context, r reviewer.Request) (reviewer.Review, error) {
	var found []reviewer.Finding
	lines := bufio.NewScanner(strings.NewReader(r.Code))
	lines.Buffer(nil, len(r.Code)+1) // one line may be the whole file
	for n := 1; lines.Scan(); n++ {
		if err := ctx.Err(); err != nil {
			return reviewer.Review{}, err
		}
		found = append(found, scan(r.Path(), n, lines.Text())...)
	}
	if err := lines.Err(); err != nil {
		return reviewer.Review{}, fmt.Errorf("read %s: %w", r.Path(), err)
	}
	if len(found) == 0 {
		return reviewer.Conclude(v.Name(), nil), nil
	}
	return reviewer.Conclude(v.Name(), found,
		"Revoke the credentials found in "+r.Path()+": removing them from the file leaves them in the history."), nil
}

func scan(path string, line int, text string) []reviewer.Finding {
	var found []reviewer.Finding
	var taken [][2]int
	for _, rule := range rules {
		for _, at := range rule.pattern.FindAllStringSubmatchIndex(text, -1) {
			start, end := at[2], at[3]
			secret := text[start:end]
			if overlaps(taken, start, end) || (rule.check != nil && !rule.check(secret)) {
				continue
			}
			taken = append(taken, [2]int{start, end})
			found = append(found, reviewer.Finding{
				Path:     path,
				Line:     line,
				Column:   start + 1,
				Severity: rule.severity,
				Rule:     rule.name,
				Message:  rule.what + " is written in the file: " + Mask(secret),
			})
		}
	}
	return found
}

func overlaps(taken [][2]int, start, end int) bool {
	for _, t := range taken {
		if start < t[1] && t[0] < end {
			return true
		}
	}
	return false
}

// Mask keeps a secret's first four characters.
func Mask(secret string) string {
	r := []rune(secret)
	return string(r[:min(4, len(r))]) + "****"
}

// entropy is Shannon's, in bits per byte.
func entropy(s string) float64 {
	var counts [256]int
	for i := range len(s) {
		counts[s[i]]++
	}
	bits := 0.0
	for _, n := range counts {
		if n > 0 {
			p := float64(n) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// varied refuses fillers such as a token of forty x.
func varied(s string) bool { return entropy(s) > 3 && !placeholder(s) }

// notExample refuses what documentation uses.
func notExample(s string) bool { return !strings.Contains(strings.ToUpper(s), "EXAMPLE") }

func placeholder(s string) bool {
	l := strings.ToLower(s)
	for _, word := range []string{"example", "placeholder", "changeme", "your-", "your_", "xxxx", "dummy", "redacted"} {
		if strings.Contains(l, word) {
			return true
		}
	}
	return false
}

// mixed wants letters of both cases and digits, as generated secrets have and
// identifiers seldom do.
func mixed(s string) bool {
	return strings.ContainsFunc(s, unicode.IsDigit) &&
		strings.ContainsFunc(s, unicode.IsUpper) &&
		strings.ContainsFunc(s, unicode.IsLower)
}
