package expr

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/expr-lang/expr/ast"

	"junction/state/value"
)

// exactInt is the largest magnitude up to which every integer is a float64.
const exactInt = 1 << 53

// canonical gives a float64 its canonical form.
func canonical(n ast.Node, f float64) (any, error) {
	v, err := value.Normalize(f)
	if err != nil {
		return nil, fail(n, "", "the result is no number (%v)", f)
	}
	return v, nil
}

func arithmetic(n ast.Node, op string, a, b any) (any, error) {
	x, ok := a.(int64)
	y, ok2 := b.(int64)
	if ok && ok2 {
		if v, done, err := integers(n, op, x, y); done {
			return v, err
		}
	}
	f, err := fraction(n, a)
	if err != nil {
		return nil, err
	}
	g, err := fraction(n, b)
	if err != nil {
		return nil, err
	}
	switch op {
	case "+":
		return canonical(n, f+g)
	case "-":
		return canonical(n, f-g)
	case "*":
		return canonical(n, f*g)
	case "/":
		if g == 0 {
			return nil, fail(n, "", "division by zero")
		}
		return canonical(n, f/g)
	case "**", "^":
		return canonical(n, math.Pow(f, g))
	}
	return nil, fail(n, "", "%s takes whole numbers", op)
}

// integers does what stays within integers; done is false for what does not.
func integers(n ast.Node, op string, x, y int64) (v any, done bool, err error) {
	var z int64
	fits := true
	switch op {
	case "+":
		z = x + y
		fits = (z > x) == (y > 0)
	case "-":
		z = x - y
		fits = (z < x) == (y > 0)
	case "*":
		z, fits = multiply(x, y)
	case "/", "%":
		switch {
		case y == 0:
			return nil, true, fail(n, "", "division by zero")
		case y == -1: // MinInt64 / −1 is beyond int64
			if op == "%" {
				return int64(0), true, nil
			}
			z, fits = -x, x != math.MinInt64
		case op == "%":
			z = x % y
		case x%y == 0:
			z = x / y
		default:
			return nil, false, nil
		}
	case "**", "^":
		if y < 0 {
			return nil, false, nil
		}
		z, fits = power(x, y)
	}
	if !fits {
		return nil, true, fail(n, "", "the result of %s is beyond the range of integers (int64)", op)
	}
	return z, true, nil
}

func multiply(x, y int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(x), magnitude(y))
	limit := uint64(math.MaxInt64)
	negative := (x < 0) != (y < 0)
	if negative {
		limit++
	}
	if hi != 0 || lo > limit {
		return 0, false
	}
	if negative {
		return -int64(lo), true
	}
	return int64(lo), true
}

func magnitude(x int64) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

func power(x, y int64) (int64, bool) {
	switch x {
	case 0, 1:
		if y == 0 {
			return 1, true
		}
		return x, true
	case -1:
		return 1 - 2*(y&1), true
	}
	z, fits := int64(1), true
	for ; y > 0 && fits; y-- { // at most 64 rounds: |x| ≥ 2
		z, fits = multiply(z, x)
	}
	return z, fits
}

// fraction takes a number into float64, if that is exact.
func fraction(n ast.Node, v any) (float64, error) {
	i, ok := v.(int64)
	if !ok {
		return v.(float64), nil
	}
	if i > exactInt || i < -exactInt {
		return 0, fail(n, "", "an integer beyond 2⁵³ cannot be mixed with fractions exactly")
	}
	return float64(i), nil
}

// compareNumbers orders two numbers exactly.
func compareNumbers(a, b any) int {
	switch x := a.(type) {
	case int64:
		if y, ok := b.(int64); ok {
			return cmp.Compare(x, y)
		}
		return compareMixed(x, b.(float64))
	case float64:
		if y, ok := b.(int64); ok {
			return -compareMixed(y, x)
		}
		return cmp.Compare(x, b.(float64))
	}
	return 0
}

func compareMixed(i int64, f float64) int {
	switch {
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := math.Floor(f)
	if c := cmp.Compare(i, int64(whole)); c != 0 {
		return c
	}
	return cmp.Compare(whole, f)
}

// integer evaluates a node that must be a whole number.
func (r *run) integer(n ast.Node) (int64, error) {
	v, err := r.node(n)
	if err != nil {
		return 0, err
	}
	i, ok := v.(int64)
	if !ok {
		return 0, fail(n, "", "a whole number is needed; %s is %s", r.describe(n), article(v))
	}
	return i, nil
}
