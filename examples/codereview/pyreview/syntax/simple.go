package syntax

// simpleStatements parses a line of statements with semicolons between them.
func (p *parser) simpleStatements() {
	for {
		p.simple()
		if !p.take(";") {
			break
		}
		if p.peek().kind == newline {
			break
		}
	}
	if t := p.peek(); !p.takeKind(newline) && t.kind != eof {
		p.fail(t, "invalid syntax: unexpected %s", t.describe())
	}
}

func (p *parser) simple() {
	t := p.peek()
	switch {
	case p.take("pass"):
	case p.take("break", "continue"):
		if p.loops == 0 {
			p.fail(t, "'%s' outside loop", t.text)
		}
	case p.take("return"):
		if p.functions == 0 {
			p.fail(t, "'return' outside function")
		}
		if p.startsExpression() {
			p.starExpressions()
		}
	case p.take("raise"):
		p.raise()
	case p.take("global", "nonlocal"):
		if t.text == "nonlocal" && p.enclosing == 0 {
			p.fail(t, "nonlocal declaration not allowed at module level")
		}
		p.name()
		for p.take(",") {
			p.name()
		}
	case p.take("del"):
		p.target(p.targetList(), "delete")
	case p.take("assert"):
		p.assert(t)
	case p.take("import"):
		p.importModules()
	case p.take("from"):
		p.importFrom()
	case p.typeAliasFollows():
		p.at++
		p.name()
		p.typeParameters()
		p.expect("=")
		p.expression()
	default:
		p.assignment()
	}
}

func (p *parser) raise() {
	if !p.startsExpression() {
		return
	}
	e := p.expression()
	if e.shape == identName && e.at.text == "NotImplemented" || e.shape == call && e.at.text == "NotImplemented" {
		p.note(e.at, RaiseNotImpl, "NotImplemented is no exception: raise NotImplementedError")
	}
	if p.take("from") {
		p.expression()
	}
}

func (p *parser) assert(t token) {
	if e := p.expression(); e.shape == tuple && len(e.elements) > 0 && !p.peek().is(",") {
		p.note(t, AssertTuple, "an assertion on a tuple is always true: remove the brackets")
	}
	if p.take(",") {
		p.expression()
	}
}

func (p *parser) typeAliasFollows() bool {
	t := p.peek()
	return t.kind == name && t.text == "type" && p.after(1).kind == name && p.after(2).is("=", "[")
}

func (p *parser) importModules() {
	for {
		p.dottedName()
		if p.take("as") {
			p.name()
		}
		if !p.take(",") {
			return
		}
	}
}

func (p *parser) dottedName() {
	p.name()
	for p.take(".") {
		p.name()
	}
}

func (p *parser) importFrom() {
	dots := 0
	for p.take(".", "...") {
		dots++
	}
	if dots == 0 || !p.peek().is("import") {
		p.dottedName()
	}
	p.expect("import")
	if p.take("*") {
		return
	}
	open := p.peek()
	brackets := p.take("(")
	for {
		p.name()
		if p.take("as") {
			p.name()
		}
		comma := p.take(",")
		if !comma || brackets && p.peek().is(")") {
			break
		}
		if t := p.peek(); t.kind == newline {
			p.fail(t, "trailing comma not allowed without surrounding parentheses")
		}
	}
	if brackets {
		p.close(open, ")")
	}
}

var augmented = []string{"+=", "-=", "*=", "@=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>=", "**=", "//="}

// assignment parses an expression, and what is assigned to it.
func (p *parser) assignment() {
	e := p.yieldOr(p.starExpressions)
	switch t := p.peek(); {
	case p.take(":"):
		if !e.assignable() {
			p.fail(e.at, "illegal target for annotation")
		}
		p.expression()
		if p.take("=") {
			p.yieldOr(p.starExpressions)
		}
	case p.take(augmented...):
		if !e.assignable() {
			p.fail(e.at, "'%s' is an illegal expression for augmented assignment", e.describe())
		}
		p.yieldOr(p.starExpressions)
	case t.is("="):
		for p.take("=") {
			p.target(e, "assign to")
			e = p.yieldOr(p.starExpressions)
		}
	}
}

// assignable tells a name, an attribute or an item.
func (e expr) assignable() bool {
	return e.shape == identName || e.shape == attribute || e.shape == subscript
}

// targetList parses what a loop or del names: expressions that stop before a
// comparison.
func (p *parser) targetList() expr {
	return p.tupleOf(func() expr {
		if t := p.peek(); p.take("*") {
			return expr{shape: starred, at: t, elements: []expr{p.binary(0)}}
		}
		return p.binary(0)
	})
}

// target refuses what cannot be assigned to or deleted.
func (p *parser) target(e expr, what string) {
	switch {
	case e.assignable():
	case e.shape == starred && what != "delete":
		p.target(e.elements[0], what)
	case e.shape == tuple || e.shape == list:
		for _, element := range e.elements {
			p.target(element, what)
		}
	default:
		p.fail(e.at, "cannot %s %s", what, e.describe())
	}
}

func (e expr) describe() string {
	switch e.shape {
	case literal:
		return "literal"
	case none:
		return "None"
	case constant:
		return e.at.text
	case call:
		return "function call"
	case comparison:
		return "comparison"
	case display:
		return "dict display, set display or comprehension"
	case generator:
		return "generator expression"
	case yielded:
		return "yield expression"
	case named:
		return "named expression"
	case starred:
		return "starred"
	case tuple:
		return "tuple"
	case list:
		return "list"
	}
	return "expression"
}
