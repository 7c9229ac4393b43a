package expr

import (
	"slices"

	"github.com/expr-lang/expr/ast"
)

// function is one function of the language. Either plain or each is set.
type function struct {
	min, max int     // arguments; max −1: any number
	takes    []kinds // what each argument may be; the last goes for all that follow
	gives    kinds
	optional bool // the first argument may be missing
	plain    func(r *run, n ast.Node, args []any) (any, error)
	each     func(r *run, w walk) (any, error) // of a list, with a predicate
}

// call is a function as an expression uses it.
type call struct {
	name string
	function
}

var functions = map[string]function{
	"all":           {min: 2, max: 2, gives: isBool, each: all},
	"none":          {min: 2, max: 2, gives: isBool, each: none},
	"any":           {min: 2, max: 2, gives: isBool, each: anyOf},
	"one":           {min: 2, max: 2, gives: isBool, each: one},
	"filter":        {min: 2, max: 2, gives: isList, each: filter},
	"map":           {min: 2, max: 2, gives: isList, each: mapped},
	"count":         {min: 1, max: 2, gives: isNumber, each: count},
	"sum":           {min: 1, max: 2, gives: isNumber, each: sum},
	"find":          {min: 2, max: 2, gives: isAny, each: find},
	"findLast":      {min: 2, max: 2, gives: isAny, each: findLast},
	"findIndex":     {min: 2, max: 2, gives: isNumber | isNull, each: findIndex},
	"findLastIndex": {min: 2, max: 2, gives: isNumber | isNull, each: findLastIndex},
	"groupBy":       {min: 2, max: 2, gives: isObject, each: groupBy},
	"sortBy":        {min: 2, max: 3, gives: isList, each: sortBy},
	"reduce":        {min: 2, max: 3, gives: isAny, each: reduce},

	"len":     {min: 1, max: 1, takes: []kinds{isList | isObject | isText}, gives: isNumber, plain: length},
	"type":    {min: 1, max: 1, takes: []kinds{isAny}, gives: isText, plain: typeName},
	"string":  {min: 1, max: 1, takes: []kinds{isAny}, gives: isText, plain: toText},
	"int":     {min: 1, max: 1, takes: []kinds{isNumber | isText}, gives: isNumber, plain: toInt},
	"float":   {min: 1, max: 1, takes: []kinds{isNumber | isText}, gives: isNumber, plain: toNumber},
	"abs":     {min: 1, max: 1, takes: []kinds{isNumber}, gives: isNumber, plain: abs},
	"ceil":    {min: 1, max: 1, takes: []kinds{isNumber}, gives: isNumber, plain: ceil},
	"floor":   {min: 1, max: 1, takes: []kinds{isNumber}, gives: isNumber, plain: floor},
	"round":   {min: 1, max: 1, takes: []kinds{isNumber}, gives: isNumber, plain: round},
	"max":     {min: 1, max: -1, takes: []kinds{isNumber | isList}, gives: isNumber, plain: largest},
	"min":     {min: 1, max: -1, takes: []kinds{isNumber | isList}, gives: isNumber, plain: smallest},
	"mean":    {min: 1, max: -1, takes: []kinds{isNumber | isList}, gives: isNumber, plain: mean},
	"median":  {min: 1, max: -1, takes: []kinds{isNumber | isList}, gives: isNumber, plain: median},
	"has":     {min: 2, max: 2, takes: []kinds{isAny, isText | isNumber}, gives: isBool, optional: true, plain: has},
	"get":     {min: 2, max: 3, takes: []kinds{isAny, isText | isNumber, isAny}, gives: isAny, optional: true, plain: get},
	"default": {min: 2, max: 2, takes: []kinds{isAny, isAny}, gives: isAny, optional: true, plain: otherwise},

	"first":     {min: 1, max: 1, takes: []kinds{isList}, gives: isAny, plain: first},
	"last":      {min: 1, max: 1, takes: []kinds{isList}, gives: isAny, plain: last},
	"take":      {min: 2, max: 2, takes: []kinds{isList, isNumber}, gives: isList, plain: take},
	"reverse":   {min: 1, max: 1, takes: []kinds{isList}, gives: isList, plain: reverse},
	"sort":      {min: 1, max: 2, takes: []kinds{isList, isText}, gives: isList, plain: sorted},
	"uniq":      {min: 1, max: 1, takes: []kinds{isList}, gives: isList, plain: uniq},
	"concat":    {min: 1, max: -1, takes: []kinds{isList}, gives: isList, plain: concat},
	"flatten":   {min: 1, max: 1, takes: []kinds{isList}, gives: isList, plain: flatten},
	"keys":      {min: 1, max: 1, takes: []kinds{isObject}, gives: isList, plain: keys},
	"values":    {min: 1, max: 1, takes: []kinds{isObject}, gives: isList, plain: values},
	"toPairs":   {min: 1, max: 1, takes: []kinds{isObject}, gives: isList, plain: toPairs},
	"fromPairs": {min: 1, max: 1, takes: []kinds{isList}, gives: isObject, plain: fromPairs},

	"trim":        {min: 1, max: 2, takes: []kinds{isText}, gives: isText, plain: trim},
	"trimPrefix":  {min: 2, max: 2, takes: []kinds{isText}, gives: isText, plain: trimPrefix},
	"trimSuffix":  {min: 2, max: 2, takes: []kinds{isText}, gives: isText, plain: trimSuffix},
	"upper":       {min: 1, max: 1, takes: []kinds{isText}, gives: isText, plain: upper},
	"lower":       {min: 1, max: 1, takes: []kinds{isText}, gives: isText, plain: lower},
	"split":       {min: 2, max: 3, takes: []kinds{isText, isText, isNumber}, gives: isList, plain: split},
	"join":        {min: 1, max: 2, takes: []kinds{isList, isText}, gives: isText, plain: joined},
	"replace":     {min: 3, max: 3, takes: []kinds{isText}, gives: isText, plain: replace},
	"repeat":      {min: 2, max: 2, takes: []kinds{isText, isNumber}, gives: isText, plain: repeat},
	"indexOf":     {min: 2, max: 2, takes: []kinds{isText}, gives: isNumber, plain: indexOf},
	"lastIndexOf": {min: 2, max: 2, takes: []kinds{isText}, gives: isNumber, plain: lastIndexOf},
	"hasPrefix":   {min: 2, max: 2, takes: []kinds{isText}, gives: isBool, plain: hasPrefix},
	"hasSuffix":   {min: 2, max: 2, takes: []kinds{isText}, gives: isBool, plain: hasSuffix},
	"toJSON":      {min: 1, max: 1, takes: []kinds{isAny}, gives: isText, plain: toJSON},
	"fromJSON":    {min: 1, max: 1, takes: []kinds{isText}, gives: isAny, plain: fromJSON},
	"toBase64":    {min: 1, max: 1, takes: []kinds{isText}, gives: isText, plain: toBase64},
	"fromBase64":  {min: 1, max: 1, takes: []kinds{isText}, gives: isText, plain: fromBase64},
}

// argument returns what argument i of a plain function may be.
func (f function) argument(i int) kinds {
	if f.each != nil {
		return map[bool]kinds{true: isList, false: isAny}[i == 0]
	}
	return f.takes[min(i, len(f.takes)-1)]
}

// call evaluates a function. Arguments are of the kinds it takes when it runs.
func (r *run) call(n ast.Node, args []ast.Node) (any, error) {
	f := r.e.calls[n]
	if f.each != nil {
		v, err := r.node(args[0])
		if err != nil {
			return nil, err
		}
		items, ok := v.([]any)
		if !ok {
			return nil, fail(args[0], "", "%s takes a list; %s is %s", f.name, r.describe(args[0]), article(v))
		}
		return f.each(r, walk{n: n, name: f.name, args: args, items: items})
	}
	vals := make([]any, len(args))
	for i, a := range args {
		v, err := r.argument(f, i, a)
		if err != nil {
			return nil, err
		}
		if k := f.argument(i); kindOf(v)&k == 0 {
			return nil, fail(a, "", "%s takes %s; %s is %s", f.name, k.describe(), r.describe(a), article(v))
		}
		vals[i] = v
	}
	return f.plain(r, n, vals)
}

func (r *run) argument(f call, i int, n ast.Node) (any, error) {
	if i == 0 && f.optional {
		return r.lenient(n)
	}
	return r.node(n)
}

// walk is a list with a predicate.
type walk struct {
	n     ast.Node
	name  string
	args  []ast.Node
	items []any
}

// over evaluates the predicate for each item, in order or from the end, until
// visit has seen enough.
func (w walk) over(r *run, backwards bool, visit func(i int, result any) (enough bool, err error)) error {
	s := &scope{of: w.args[0], items: w.items}
	for k := range w.items {
		s.index = k
		if backwards {
			s.index = len(w.items) - 1 - k
		}
		v, err := w.at(r, s)
		if err != nil {
			return err
		}
		if enough, err := visit(s.index, v); enough || err != nil {
			return err
		}
	}
	return nil
}

// at evaluates the predicate for the item a scope stands at; without a
// predicate it is the item.
func (w walk) at(r *run, s *scope) (any, error) {
	if len(w.args) < 2 {
		return s.items[s.index], r.step(1)
	}
	r.scopes = append(r.scopes, s)
	v, err := r.node(w.args[1].(*ast.PredicateNode).Node)
	r.scopes = r.scopes[:len(r.scopes)-1]
	return v, err
}

// where is over for predicates that are true or false.
func (w walk) where(r *run, backwards bool, hit func(i int) (enough bool, err error)) error {
	return w.over(r, backwards, func(i int, v any) (bool, error) {
		yes, ok := v.(bool)
		if !ok {
			at := w.n
			if len(w.args) > 1 {
				at = w.args[1]
			}
			return true, fail(at, "", "the predicate of %s must be true or false; for item %d it is %s", w.name, i, article(v))
		}
		if !yes {
			return false, nil
		}
		return hit(i)
	})
}

// text returns argument i, which must be one of words; the first when absent.
func choice(n ast.Node, args []any, i int, words ...string) (string, error) {
	if i >= len(args) {
		return words[0], nil
	}
	s, _ := args[i].(string)
	if !slices.Contains(words, s) {
		return "", fail(n, "", "the order is one of %q", words)
	}
	return s, nil
}
