package value

import (
	"math"
	"strconv"
	"strings"
)

// A float64 has at most 767 significant decimal digits; a longer number cannot
// be one.
const maxDigits = 767

// number gives a JSON number its exact form: an int64 when it is integral and
// fits, else a float64 when that, printed to as many digits, reads the same.
func number(tok string) (any, error) {
	if len(tok) <= 20 && !strings.ContainsAny(tok, ".eE") {
		if n, err := strconv.ParseInt(tok, 10, 64); err == nil {
			return n, nil
		}
	}
	neg, digits, exp := decimal(tok)
	if digits == "" {
		return int64(0), nil
	}
	if exp >= 0 && len(digits)+exp <= 19 {
		s := digits + strings.Repeat("0", exp)
		if neg {
			s = "-" + s
		}
		if n, err := strconv.ParseInt(s, 10, 64); err == nil {
			return n, nil
		}
	}
	if len(digits) > maxDigits {
		return nil, failf("a number of %d digits cannot be kept exactly; send it as text", len(digits))
	}
	f, err := strconv.ParseFloat(tok, 64)
	if err != nil {
		return nil, failf("%s is beyond the range of numbers; send it as text", shorten(tok))
	}
	if a := math.Abs(f); len(digits) <= 15 && a > 1e-290 && a < 1e290 {
		return f, nil // fifteen digits always survive in a normal float64
	}
	_, got, gotExp := decimal(strconv.FormatFloat(f, 'e', len(digits)-1, 64))
	if got != digits || gotExp != exp {
		return nil, failf("%s cannot be kept exactly; send it as text", shorten(tok))
	}
	return f, nil
}

// decimal splits a number into sign, significant digits without zeros at
// either end, and the power of ten of the last digit. Zero has no digits. An
// exponent beyond ±1,000,000 is held there: no float64 reaches it.
func decimal(tok string) (neg bool, digits string, exp int) {
	tok, neg = strings.CutPrefix(tok, "-")
	if i := strings.IndexAny(tok, "eE"); i >= 0 {
		n, err := strconv.Atoi(tok[i+1:])
		if err != nil || n > 1e6 || n < -1e6 {
			n = 1e6
			if tok[i+1] == '-' {
				n = -n
			}
		}
		tok, exp = tok[:i], n
	}
	whole, frac, _ := strings.Cut(tok, ".")
	exp -= len(frac)
	digits = strings.TrimLeft(whole+frac, "0")
	trimmed := strings.TrimRight(digits, "0")
	exp += len(digits) - len(trimmed)
	return neg, trimmed, exp
}

func shorten(tok string) string {
	if len(tok) <= 40 {
		return tok
	}
	return tok[:37] + "…"
}

// float gives a Go float its canonical form.
func float(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, failf("%v is no JSON number", f)
	}
	if i, ok := integral(f); ok {
		return i, nil
	}
	return f, nil
}

// integral returns a float that is an int64 as one.
func integral(f float64) (int64, bool) {
	if f == math.Trunc(f) && f >= -1<<63 && f < 1<<63 {
		return int64(f), true
	}
	return 0, false
}

// appendFloat writes a finite, canonical float64 in the shortest form that
// reads back the same, with the layout of ECMAScript and encoding/json.
func appendFloat(dst []byte, f float64) []byte {
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 → e-9
		dst = dst[:n-1]
	}
	return dst
}
