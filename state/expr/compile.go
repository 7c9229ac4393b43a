package expr

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"junction/state/value"
)

type compiler struct {
	known []string
	used  map[string]bool
	errs  Errors
}

func (c *compiler) value(v any, path string) part {
	switch v := v.(type) {
	case string:
		return c.text(v, path)
	case []any:
		parts, static := make(list, len(v)), true
		for i, e := range v {
			parts[i] = c.value(e, path+"["+strconv.Itoa(i)+"]")
			static = static && isConstant(parts[i])
		}
		if static {
			return constant{unescaped(v)}
		}
		return parts
	case map[string]any:
		o, static := object{}, true
		for k := range v {
			o.keys = append(o.keys, k)
		}
		slices.Sort(o.keys)
		for _, k := range o.keys {
			p := c.value(v[k], join(path, k))
			o.parts = append(o.parts, p)
			static = static && isConstant(p)
		}
		if static {
			return constant{unescaped(v)}
		}
		return o
	}
	return constant{v}
}

func isConstant(p part) bool {
	_, ok := p.(constant)
	return ok
}

// unescaped copies a value without expressions, with $${ as ${.
func unescaped(v any) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, "$${", "${")
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = unescaped(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = unescaped(e)
		}
		return out
	}
	return v
}

func join(path, key string) string {
	step := value.Key(key)
	if path == "" || step[0] == '[' {
		return path + step
	}
	return path + "." + step
}

// text compiles one string.
func (c *compiler) text(s, path string) part {
	pieces, err := scan(s)
	if err != nil {
		err.Path = path
		c.errs = append(c.errs, err)
		return constant{s}
	}
	parts := make([]part, len(pieces))
	for i, p := range pieces {
		if p.expression {
			parts[i] = c.expression(p.text, path, p.offset)
		} else {
			parts[i] = constant{p.text}
		}
	}
	switch {
	case len(parts) == 0:
		return constant{""}
	case len(parts) == 1:
		return parts[0]
	}
	return mixed(parts)
}

// expression compiles what stands between ${ and }, at a byte offset of its
// string.
func (c *compiler) expression(source, path string, offset int) part {
	e := &expression{
		source: source, path: path, offset: offset,
		patterns: map[*ast.StringNode]pattern{}, fractions: map[*ast.FloatNode]any{}, calls: map[ast.Node]call{},
	}
	if len(source) > MaxSource {
		c.errs = append(c.errs, e.errorf(0, "", "the expression has %d bytes; at most %d are read", len(source), MaxSource))
		return e
	}
	tree, err := parse(source)
	if err != nil {
		c.errs = append(c.errs, e.syntax(err))
		return e
	}
	e.root = tree
	v := &validator{c: c, e: e}
	v.node(tree)
	return e
}

// parse reads an expression. The parser's own panics, should it have any, are
// syntax errors.
func parse(source string) (root ast.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			root, err = nil, fmt.Errorf("cannot be read: %v", p)
		}
	}()
	config := conf.CreateNew()
	config.MaxNodes = MaxNodes
	tree, err := parser.ParseWithConfig(source, config)
	if err != nil {
		return nil, err
	}
	return tree.Node, nil
}

// syntax turns an error of the parser into ours, without its picture.
func (e *expression) syntax(err error) *Error {
	var fe *file.Error
	if !errors.As(err, &fe) {
		return e.errorf(0, "", "%v", err)
	}
	hint := ""
	switch {
	case strings.TrimSpace(e.source) == "":
		hint = "write a name, such as ${repo}, or $${ for the characters ${"
	case strings.Contains(fe.Message, "Operator") && strings.Contains(fe.Message, `"="`):
		hint = "compare with =="
	}
	return e.errorf(fe.From, hint, "not an expression: %s", describe(fe.Message))
}

// describe takes the parser's token classes out of a message.
func describe(msg string) string {
	return strings.NewReplacer("unexpected token EOF", "it ends too early", "Operator(", "(", "Bracket(", "(",
		"Identifier(", "(", "Number(", "(", "String(", "(").Replace(msg)
}

// errorf makes an error at a place given in characters of the expression.
func (e *expression) errorf(at int, hint, format string, args ...any) *Error {
	bytes := len(e.source)
	for i := range e.source {
		if at == 0 {
			bytes = i
			break
		}
		at--
	}
	return &Error{Path: e.path, Offset: e.offset + bytes, Source: e.source, Message: fmt.Sprintf(format, args...), Hint: hint}
}
