package syntax

func (p *parser) atom() expr {
	t := p.peek()
	switch t.kind {
	case name:
		p.at++
		return expr{shape: identName, at: t}
	case number:
		p.at++
		return expr{shape: literal, at: t}
	case text:
		return p.strings()
	case keyword:
		switch {
		case p.take("None"):
			return expr{shape: none, at: t}
		case p.take("True", "False"):
			return expr{shape: constant, at: t}
		}
	case operator:
		switch t.text {
		case "...":
			p.at++
			return expr{shape: constant, at: t}
		case "(":
			return p.parenthesised()
		case "[":
			return p.listDisplay()
		case "{":
			return p.braces()
		}
	}
	p.fail(t, "invalid syntax: unexpected %s", t.describe())
	return expr{}
}

// strings parses literals that stand side by side and are one.
func (p *parser) strings() expr {
	first := p.peek()
	formatted, fields, seenBytes, seenText := false, false, false, false
	for p.peek().kind == text {
		t := p.next()
		seenBytes = seenBytes || t.str.bytes
		seenText = seenText || !t.str.bytes
		formatted = formatted || t.str.formatted && !t.str.template
		fields = fields || len(t.str.fields) > 0 || t.str.template
		for _, f := range t.str.fields {
			p.field(f)
		}
	}
	if seenBytes && seenText {
		p.fail(first, "cannot mix bytes and nonbytes literals")
	}
	if formatted && !fields {
		p.note(first, EmptyFString, "f-string without any placeholder: the f is not needed, or the braces were forgotten")
	}
	return expr{shape: literal, at: first}
}

// field parses the expression of a replacement field.
func (p *parser) field(tokens []token) {
	defer p.enter()()
	inner := &parser{tokens: tokens, depth: p.depth, functions: p.functions, loops: p.loops}
	inner.yieldOr(inner.starExpressions)
	if t := inner.peek(); t.kind != eof {
		inner.fail(t, "f-string: invalid syntax: unexpected %s", t.describe())
	}
	p.notes = append(p.notes, inner.notes...)
}

// parenthesised parses a group, a tuple or a generator.
func (p *parser) parenthesised() expr {
	defer p.enter()()
	open := p.expect("(")
	if p.take(")") {
		return expr{shape: tuple, at: open, closed: true}
	}
	e := p.yieldOr(p.starNamed)
	switch {
	case p.comprehensionFollows():
		p.comprehension()
		e = expr{shape: generator}
	case p.peek().is(","):
		e = expr{shape: tuple, elements: p.moreElements(e, ")")}
	case e.shape == starred:
		p.fail(e.at, "cannot use starred expression here")
	}
	p.close(open, ")")
	e.at, e.closed = open, true
	return e
}

func (p *parser) moreElements(first expr, end string) []expr {
	elements := []expr{first}
	for p.take(",") {
		if p.peek().is(end) {
			break
		}
		elements = append(elements, p.starNamed())
	}
	return elements
}

// close expects a closing bracket; what stands there instead most often lacks a
// comma before it.
func (p *parser) close(open token, word string) {
	if t := p.peek(); !t.is(word) {
		if p.startsExpression() && !t.is("*") {
			p.fail(t, "invalid syntax: unexpected %s; perhaps a comma is missing before it", t.describe())
		}
		p.fail(t, "invalid syntax: expected '%s' for the '%s' on line %d, found %s", word, open.text, open.line, t.describe())
	}
	p.at++
}

func (p *parser) listDisplay() expr {
	defer p.enter()()
	open := p.expect("[")
	e := expr{shape: list, at: open, closed: true}
	if p.take("]") {
		return e
	}
	first := p.starNamed()
	if p.comprehensionFollows() {
		p.comprehension()
		e.shape = display
	} else {
		e.elements = p.moreElements(first, "]")
	}
	p.close(open, "]")
	return e
}

// braces parses a set or a dict.
func (p *parser) braces() expr {
	defer p.enter()()
	open := p.expect("{")
	if p.take("}") {
		return expr{shape: display, at: open}
	}
	dict, first := false, true
	for {
		isDict := p.element()
		switch {
		case first:
			dict = isDict
		case dict != isDict && dict:
			p.fail(p.peek(), "':' expected after dictionary key")
		case dict != isDict:
			p.fail(p.peek(), "invalid syntax: a set has no keys")
		}
		if first && p.comprehensionFollows() {
			p.comprehension()
			break
		}
		first = false
		if !p.take(",") || p.peek().is("}") {
			break
		}
	}
	p.close(open, "}")
	return expr{shape: display, at: open}
}

// element parses one of a set or a dict and tells which of them it belongs to.
func (p *parser) element() (dict bool) {
	switch {
	case p.take("**"):
		p.binary(0)
		return true
	case p.peek().is("*"):
		p.starExpression()
		return false
	}
	p.namedExpression()
	if !p.take(":") {
		return false
	}
	p.expression()
	return true
}

func (p *parser) comprehensionFollows() bool {
	return p.peek().is("for") || p.peek().is("async") && p.after(1).is("for")
}

func (p *parser) comprehension() {
	for p.comprehensionFollows() {
		p.take("async")
		p.expect("for")
		p.target(p.targetList(), "assign to")
		p.expect("in")
		p.or()
		for p.take("if") {
			p.condition()
		}
	}
}

// condition parses the filter of a comprehension.
func (p *parser) condition() {
	if p.peek().kind == name && p.after(1).is(":=") {
		p.namedExpression() // refused by Python without brackets, but harmless
		return
	}
	p.or()
}
