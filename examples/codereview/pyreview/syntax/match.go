package syntax

// match parses a match statement. The word is no keyword: false means that it
// is a name here.
func (p *parser) match() bool {
	t := p.peek()
	head := func() {
		p.at++
		p.tupleOf(p.starNamed)
		p.expect(":")
		if !p.takeKind(newline) || !p.takeKind(indent) {
			p.fail(t, "invalid syntax")
		}
		if c := p.peek(); c.kind != name || c.text != "case" {
			p.fail(c, "invalid syntax")
		}
	}
	if p.attempt(head) != nil {
		return false
	}
	for !p.takeKind(dedent) {
		c := p.next()
		if c.kind == eof {
			break
		}
		if c.kind != name || c.text != "case" {
			p.fail(c, "invalid syntax: expected 'case', found %s", c.describe())
		}
		p.patterns()
		if p.take("if") {
			p.namedExpression()
		}
		p.block(c)
	}
	return true
}

// patterns parses a pattern, or several with commas between them.
func (p *parser) patterns() {
	p.starPattern()
	for p.take(",") {
		if p.peek().is(":", "if") {
			return
		}
		p.starPattern()
	}
}

func (p *parser) starPattern() {
	if p.take("*") {
		p.name()
		return
	}
	p.pattern()
}

func (p *parser) pattern() {
	defer p.enter()()
	p.closedPattern()
	for p.take("|") {
		p.closedPattern()
	}
	if p.take("as") {
		p.name()
	}
}

func (p *parser) closedPattern() {
	t := p.peek()
	switch {
	case t.kind == name:
		p.dottedName()
		if p.peek().is("(") {
			p.classPattern()
		}
	case t.kind == text:
		p.strings()
	case t.kind == number, t.is("-"):
		p.numberPattern()
	case p.take("None", "True", "False"):
	case t.is("("):
		p.sequencePattern(")")
	case t.is("["):
		p.sequencePattern("]")
	case t.is("{"):
		p.mappingPattern()
	default:
		p.fail(t, "invalid syntax: unexpected %s in a pattern", t.describe())
	}
}

func (p *parser) numberPattern() {
	p.signed()
	if p.take("+", "-") {
		p.signed()
	}
}

func (p *parser) signed() {
	p.take("-")
	if t := p.peek(); !p.takeKind(number) {
		p.fail(t, "invalid syntax: expected a number, found %s", t.describe())
	}
}

func (p *parser) sequencePattern(end string) {
	open := p.next()
	for !p.peek().is(end) {
		p.starPattern()
		if !p.take(",") {
			break
		}
	}
	p.close(open, end)
}

func (p *parser) mappingPattern() {
	open := p.next()
	for !p.peek().is("}") {
		if p.take("**") {
			p.name()
		} else {
			p.closedPattern()
			p.expect(":")
			p.pattern()
		}
		if !p.take(",") {
			break
		}
	}
	p.close(open, "}")
}

func (p *parser) classPattern() {
	open := p.next()
	keywords := false
	for !p.peek().is(")") {
		t := p.peek()
		if t.kind == name && p.after(1).is("=") {
			p.at += 2
			keywords = true
		} else if keywords {
			p.fail(t, "positional patterns follow keyword patterns")
		}
		p.pattern()
		if !p.take(",") {
			break
		}
	}
	p.close(open, ")")
}
