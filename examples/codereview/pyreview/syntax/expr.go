package syntax

// shape is what the parser remembers of an expression.
type shape int

const (
	other      shape = iota
	identName        // x
	attribute        // x.y
	subscript        // x[y]
	starred          // *x
	tuple            // x, y
	list             // [x, y]
	display          // {…}, and comprehensions that make a list, set or dict
	literal          // a number or a string
	none             // None
	constant         // True, False or ...
	call             // x()
	comparison       // x < y
	generator        // (x for y in z)
	yielded          // yield x
	named            // x := y
)

type expr struct {
	shape    shape
	at       token
	elements []expr // of tuples and lists; of starred, what has the star
	closed   bool   // in brackets of its own
}

// starExpressions parses "a, *b, c": a tuple when there is a comma.
func (p *parser) starExpressions() expr {
	return p.tupleOf(p.starExpression)
}

// tupleOf parses items with commas between them.
func (p *parser) tupleOf(item func() expr) expr {
	first := item()
	if !p.peek().is(",") {
		return first
	}
	t := expr{shape: tuple, at: first.at, elements: []expr{first}}
	for p.take(",") {
		if !p.startsExpression() {
			break
		}
		t.elements = append(t.elements, item())
	}
	return t
}

// startsExpression tells whether an expression, with or without a star, begins
// at the next token.
func (p *parser) startsExpression() bool {
	t := p.peek()
	switch t.kind {
	case name, number, text:
		return true
	case keyword:
		return t.is("False", "None", "True", "await", "lambda", "not", "yield")
	case operator:
		return t.is("(", "[", "{", "-", "+", "~", "...", "*")
	}
	return false
}

func (p *parser) starExpression() expr {
	if t := p.peek(); p.take("*") {
		return expr{shape: starred, at: t, elements: []expr{p.binary(0)}}
	}
	return p.expression()
}

// starNamed parses an element of a list, set or tuple in brackets.
func (p *parser) starNamed() expr {
	if p.peek().is("*") {
		return p.starExpression()
	}
	return p.namedExpression()
}

func (p *parser) namedExpression() expr {
	if p.peek().kind == name && p.after(1).is(":=") {
		t := p.next()
		p.at++
		p.expression()
		return expr{shape: named, at: t}
	}
	return p.expression()
}

func (p *parser) expression() expr {
	defer p.enter()()
	if p.peek().is("lambda") {
		return p.lambda()
	}
	e := p.or()
	if p.take("if") {
		p.or()
		p.expect("else")
		p.expression()
		return expr{at: e.at}
	}
	return e
}

func (p *parser) yieldOr(otherwise func() expr) expr {
	t := p.peek()
	if !p.take("yield") {
		return otherwise()
	}
	if p.functions == 0 {
		p.fail(t, "'yield' outside function")
	}
	if p.take("from") {
		p.expression()
	} else if p.startsExpression() {
		p.starExpressions()
	}
	return expr{shape: yielded, at: t}
}

func (p *parser) or() expr {
	e := p.and()
	for p.take("or") {
		p.and()
		e = expr{at: e.at}
	}
	return e
}

func (p *parser) and() expr {
	e := p.not()
	for p.take("and") {
		p.not()
		e = expr{at: e.at}
	}
	return e
}

func (p *parser) not() expr {
	t := p.peek()
	for p.take("not") {
		if !p.peek().is("not") {
			p.comparison()
			return expr{at: t}
		}
	}
	return p.comparison()
}

func (p *parser) comparison() expr {
	left := p.binary(0)
	result := left
	for {
		op := p.peek()
		switch {
		case p.take("<", ">", "==", ">=", "<=", "!=", "in"):
		case op.is("not") && p.after(1).is("in"):
			p.at += 2
		case p.take("is"):
			p.take("not")
		default:
			return result
		}
		right := p.binary(0)
		p.compared(op, left, right)
		left, result = right, expr{shape: comparison, at: result.at}
	}
}

// compared reports comparisons that do not mean what they say.
func (p *parser) compared(op token, left, right expr) {
	switch {
	case op.is("==", "!=") && (left.shape == none || right.shape == none):
		p.note(op, CompareNone, "comparison with None by '"+op.text+"': use 'is' or 'is not', which no class can redefine")
	case op.is("is") && (left.shape == literal || right.shape == literal):
		p.note(op, CompareLiteral, "'is' with a literal compares identities, not values: use '==' or '!='")
	}
}

// levels are the binary operators from the loosest to the tightest.
var levels = [...][]string{{"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%", "@"}}

// binary parses operators of a level and all that bind tighter.
func (p *parser) binary(level int) expr {
	if level == len(levels) {
		return p.unary()
	}
	e := p.binary(level + 1)
	for p.take(levels[level]...) {
		p.binary(level + 1)
		e = expr{at: e.at}
	}
	return e
}

func (p *parser) unary() expr {
	t := p.peek()
	if p.take("+", "-", "~") {
		defer p.enter()()
		if e := p.unary(); e.shape == literal && t.text == "-" {
			return expr{shape: literal, at: t}
		}
		return expr{at: t}
	}
	e := p.await()
	if p.take("**") {
		defer p.enter()()
		p.unary()
		return expr{at: e.at}
	}
	return e
}

func (p *parser) await() expr {
	t := p.peek()
	if p.take("await") {
		p.primary()
		return expr{at: t}
	}
	return p.primary()
}

// primary parses an atom with what follows it: attributes, calls, subscripts.
func (p *parser) primary() expr {
	e := p.atom()
	for {
		switch {
		case p.take("."):
			p.name()
			e = expr{shape: attribute, at: e.at}
		case p.peek().is("("):
			p.arguments()
			e = expr{shape: call, at: e.at}
		case p.peek().is("["):
			p.subscripts()
			e = expr{shape: subscript, at: e.at}
		default:
			return e
		}
	}
}

func (p *parser) lambda() expr {
	t := p.expect("lambda")
	p.parameters(":", false)
	p.expect(":")
	loops := p.loops
	p.functions, p.loops = p.functions+1, 0
	p.expression()
	p.functions, p.loops = p.functions-1, loops
	return expr{at: t}
}
