package syntax

func (p *parser) statement() {
	defer p.enter()()
	t := p.peek()
	switch {
	case t.kind == indent:
		p.fail(p.after(1), "unexpected indent")
	case t.kind == name && t.text == "match" && p.match():
	case t.kind != keyword && !t.is("@"):
		p.simpleStatements()
	case p.take("if"):
		p.ifStatement(t)
	case p.take("while"):
		p.namedExpression()
		p.loop(t)
	case p.take("for"):
		p.forStatement(t)
	case p.take("try"):
		p.tryStatement(t)
	case p.take("with"):
		p.withStatement(t)
	case p.take("def"):
		p.function(t)
	case p.take("class"):
		p.class(t)
	case p.take("@"):
		p.decorated()
	case p.take("async"):
		p.asyncStatement()
	default:
		p.simpleStatements()
	}
}

func (p *parser) asyncStatement() {
	t := p.peek()
	switch {
	case p.take("def"):
		p.function(t)
	case p.take("for"):
		p.forStatement(t)
	case p.take("with"):
		p.withStatement(t)
	default:
		p.fail(t, "invalid syntax: unexpected %s after async", t.describe())
	}
}

func (p *parser) decorated() {
	p.namedExpression()
	if t := p.peek(); !p.takeKind(newline) {
		p.fail(t, "invalid syntax: unexpected %s", t.describe())
	}
	t := p.peek()
	switch {
	case p.take("@"):
		p.decorated()
	case p.take("def"):
		p.function(t)
	case p.take("class"):
		p.class(t)
	case t.is("async") && p.after(1).is("def"):
		p.at++
		p.function(p.next())
	default:
		p.fail(t, "invalid syntax: a decorator belongs to a function or a class")
	}
}

// block parses ':' and what belongs to a statement.
func (p *parser) block(of token) {
	if t := p.peek(); !p.take(":") {
		if t.is("=") {
			p.fail(t, "invalid syntax. Maybe you meant '==' or ':=' instead of '='?")
		}
		p.fail(t, "expected ':', found %s", t.describe())
	}
	if !p.takeKind(newline) {
		p.simpleStatements()
		return
	}
	if t := p.peek(); !p.takeKind(indent) {
		p.fail(t, "expected an indented block after '%s' statement on line %d", of.text, of.line)
	}
	for !p.takeKind(dedent) {
		if p.peek().kind == eof {
			return
		}
		p.statement()
	}
}

func (p *parser) ifStatement(t token) {
	p.namedExpression()
	p.block(t)
	for {
		t := p.peek()
		if !p.take("elif") {
			break
		}
		p.namedExpression()
		p.block(t)
	}
	p.elseBlock()
}

func (p *parser) elseBlock() {
	if t := p.peek(); p.take("else") {
		p.block(t)
	}
}

func (p *parser) loop(t token) {
	p.loops++
	p.block(t)
	p.loops--
	p.elseBlock()
}

func (p *parser) forStatement(t token) {
	p.target(p.targetList(), "assign to")
	p.expect("in")
	p.starExpressions()
	p.loop(t)
}

func (p *parser) tryStatement(t token) {
	p.block(t)
	handlers := false
	for {
		t := p.peek()
		if !p.take("except") {
			break
		}
		handlers = true
		if bare := p.handler(t); bare && p.peek().is("except") {
			p.fail(t, "default 'except:' must be last")
		}
	}
	if handlers {
		p.elseBlock()
	}
	f := p.peek()
	switch {
	case p.take("finally"):
		p.block(f)
	case !handlers:
		p.fail(f, "expected 'except' or 'finally' block")
	}
}

// handler parses an except clause; bare is one for every exception.
func (p *parser) handler(t token) (bare bool) {
	star := p.take("*")
	if !star && p.peek().is(":") {
		p.note(t, BareExcept, "bare except also catches SystemExit and KeyboardInterrupt: name the exceptions")
		p.block(t)
		return true
	}
	p.tupleOf(p.expression)
	if p.take("as") {
		p.name()
	}
	p.block(t)
	return false
}

// withStatement parses a with statement, whose items may stand in brackets: to
// know whether brackets are those or belong to the first item, it is tried.
func (p *parser) withStatement(t token) {
	bracketed := func() {
		open := p.expect("(")
		p.withItem()
		for p.take(",") {
			if p.peek().is(")") {
				break
			}
			p.withItem()
		}
		p.close(open, ")")
		if !p.peek().is(":") {
			p.fail(p.peek(), "expected ':'")
		}
	}
	if !p.peek().is("(") || p.attempt(bracketed) != nil {
		p.withItem()
		for p.take(",") {
			p.withItem()
		}
	}
	p.block(t)
}

func (p *parser) withItem() {
	p.expression()
	if p.take("as") {
		if t := p.peek(); p.take("*") {
			p.fail(t, "cannot assign to starred")
		}
		p.target(p.binary(0), "assign to")
	}
}

func (p *parser) function(t token) {
	p.name()
	p.typeParameters()
	open := p.expect("(")
	p.parameters(")", true)
	p.close(open, ")")
	if p.take("->") {
		p.tupleOf(p.expression)
	}
	loops := p.loops
	p.functions, p.enclosing, p.loops = p.functions+1, p.enclosing+1, 0
	p.block(t)
	p.functions, p.enclosing, p.loops = p.functions-1, p.enclosing-1, loops
}

func (p *parser) class(t token) {
	p.name()
	p.typeParameters()
	if p.peek().is("(") {
		p.arguments()
	}
	functions, loops := p.functions, p.loops
	p.functions, p.loops = 0, 0
	p.block(t)
	p.functions, p.loops = functions, loops
}
