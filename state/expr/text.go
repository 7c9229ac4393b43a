package expr

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/expr-lang/expr/ast"

	"junction/state/value"
)

// runes counts characters.
func runes(r *run, s string) (any, error) {
	return int64(utf8.RuneCountInString(s)), r.scanned(len(s))
}

// words returns the arguments as texts, their lengths spent.
func (r *run) words(args []any) ([]string, error) {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a.(string)
		if err := r.scanned(len(out[i])); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// produced spends a text that was made.
func (r *run) produced(s string) (any, error) { return s, r.grow(len(s)) }

func trim(r *run, _ ast.Node, args []any) (any, error) {
	w, err := r.words(args)
	if err != nil {
		return nil, err
	}
	if len(w) == 2 {
		return strings.Trim(w[0], w[1]), r.step(len(w[0]) >> 4)
	}
	return strings.TrimSpace(w[0]), nil
}

func trimPrefix(r *run, _ ast.Node, args []any) (any, error) {
	w, err := r.words(args)
	if err != nil {
		return nil, err
	}
	return strings.TrimPrefix(w[0], w[1]), nil
}

func trimSuffix(r *run, _ ast.Node, args []any) (any, error) {
	w, err := r.words(args)
	if err != nil {
		return nil, err
	}
	return strings.TrimSuffix(w[0], w[1]), nil
}

func hasPrefix(r *run, _ ast.Node, args []any) (any, error) {
	w, err := r.words(args)
	if err != nil {
		return nil, err
	}
	return strings.HasPrefix(w[0], w[1]), nil
}

func hasSuffix(r *run, _ ast.Node, args []any) (any, error) {
	w, err := r.words(args)
	if err != nil {
		return nil, err
	}
	return strings.HasSuffix(w[0], w[1]), nil
}

func upper(r *run, _ ast.Node, args []any) (any, error) {
	w, err := r.words(args)
	if err != nil {
		return nil, err
	}
	return r.produced(strings.ToUpper(w[0]))
}

func lower(r *run, _ ast.Node, args []any) (any, error) {
	w, err := r.words(args)
	if err != nil {
		return nil, err
	}
	return r.produced(strings.ToLower(w[0]))
}

// split cuts a text at a separator, into at most a number of pieces.
func split(r *run, n ast.Node, args []any) (any, error) {
	w, err := r.words(args[:2])
	if err != nil {
		return nil, err
	}
	limit := int64(-1)
	if len(args) == 3 {
		i, ok := args[2].(int64)
		if !ok || i < 1 {
			return nil, fail(n, "", "the number of pieces must be a whole number from 1")
		}
		limit = min(i, MaxSteps)
	}
	if err := r.made(strings.Count(w[0], w[1]) + 1); err != nil {
		return nil, err
	}
	pieces := strings.SplitN(w[0], w[1], int(limit))
	out := make([]any, len(pieces))
	for i, p := range pieces {
		out[i] = p
	}
	return out, nil
}

func joined(r *run, n ast.Node, args []any) (any, error) {
	separator := ""
	if len(args) == 2 {
		separator = args[1].(string)
	}
	l := args[0].([]any)
	pieces := make([]string, len(l))
	for i, e := range l {
		s, ok := e.(string)
		if !ok {
			return nil, fail(n, "use map(list, string(#))", "join takes text; item %d is %s", i, article(e))
		}
		pieces[i] = s
		if err := r.grow(16 + len(s) + len(separator)); err != nil {
			return nil, err
		}
	}
	return strings.Join(pieces, separator), r.step(len(l))
}

func replace(r *run, _ ast.Node, args []any) (any, error) {
	w, err := r.words(args)
	if err != nil {
		return nil, err
	}
	hits := strings.Count(w[0], w[1])
	if err := r.grow(len(w[0]) + hits*len(w[2])); err != nil {
		return nil, err
	}
	return strings.ReplaceAll(w[0], w[1], w[2]), r.step(hits)
}

func repeat(r *run, n ast.Node, args []any) (any, error) {
	s := args[0].(string)
	times, ok := args[1].(int64)
	if !ok || times < 0 {
		return nil, fail(n, "", "repeat needs a whole number from 0")
	}
	if s == "" || times == 0 {
		return "", nil
	}
	if times > MaxMemory/int64(len(s)) {
		return nil, r.grow(MaxMemory + 1)
	}
	if err := r.grow(len(s) * int(times)); err != nil {
		return nil, err
	}
	return strings.Repeat(s, int(times)), nil
}

func indexOf(r *run, _ ast.Node, args []any) (any, error) {
	w, err := r.words(args)
	if err != nil {
		return nil, err
	}
	return characters(w[0], strings.Index(w[0], w[1])), nil
}

func lastIndexOf(r *run, _ ast.Node, args []any) (any, error) {
	w, err := r.words(args)
	if err != nil {
		return nil, err
	}
	return characters(w[0], strings.LastIndex(w[0], w[1])), nil
}

func characters(s string, i int) int64 {
	if i < 0 {
		return -1
	}
	return int64(utf8.RuneCountInString(s[:i]))
}

func typeName(_ *run, _ ast.Node, args []any) (any, error) { return value.Kind(args[0]), nil }

func toText(r *run, n ast.Node, args []any) (any, error) {
	if s, ok := args[0].(string); ok {
		return s, nil
	}
	return toJSON(r, n, args)
}

func toJSON(r *run, n ast.Node, args []any) (any, error) {
	v, err := r.copy(args[0], 0) // bounds what is encoded next
	if err != nil {
		return nil, err
	}
	data, err := value.Encode(v)
	if err != nil {
		return nil, fail(n, "", "%v", err)
	}
	return r.produced(string(data))
}

func fromJSON(r *run, n ast.Node, args []any) (any, error) {
	s := args[0].(string)
	// A list of small numbers takes some sixteen times its text.
	if err := r.grow(16 * len(s)); err != nil {
		return nil, err
	}
	if err := r.step(len(s) >> 3); err != nil {
		return nil, err
	}
	v, err := value.Parse([]byte(s))
	if err != nil {
		return nil, fail(n, "", "%v", err)
	}
	return v, nil
}

func toBase64(r *run, _ ast.Node, args []any) (any, error) {
	return r.produced(base64.StdEncoding.EncodeToString([]byte(args[0].(string))))
}

func fromBase64(r *run, n ast.Node, args []any) (any, error) {
	data, err := base64.StdEncoding.DecodeString(args[0].(string))
	if err != nil {
		return nil, fail(n, "", "the text is not base64")
	}
	if !utf8.Valid(data) {
		return nil, fail(n, "", "what the base64 holds is not text")
	}
	return r.produced(string(data))
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}
