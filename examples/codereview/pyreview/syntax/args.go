package syntax

// arguments parses those of a call or a class.
func (p *parser) arguments() {
	defer p.enter()()
	open := p.expect("(")
	seen := make(map[string]bool)
	keywords, unpacked := false, false
	for !p.peek().is(")") {
		t := p.peek()
		switch {
		case p.take("**"):
			p.expression()
			unpacked = true
		case p.take("*"):
			p.expression()
			if unpacked {
				p.fail(t, "iterable argument unpacking follows keyword argument unpacking")
			}
		case t.kind == name && p.after(1).is("="):
			p.at += 2
			p.expression()
			if seen[t.text] {
				p.fail(t, "keyword argument repeated: %s", t.text)
			}
			seen[t.text], keywords = true, true
		default:
			e := p.namedExpression()
			p.positional(e, keywords, unpacked)
		}
		if !p.take(",") {
			break
		}
	}
	p.close(open, ")")
}

func (p *parser) positional(e expr, keywords, unpacked bool) {
	if p.comprehensionFollows() {
		p.comprehension()
		return
	}
	if p.peek().is("=") {
		p.fail(e.at, "expression cannot contain assignment, perhaps you meant \"==\"?")
	}
	switch {
	case unpacked:
		p.fail(e.at, "positional argument follows keyword argument unpacking")
	case keywords:
		p.fail(e.at, "positional argument follows keyword argument")
	}
}

// subscripts parses "[a, b:c, *d]".
func (p *parser) subscripts() {
	defer p.enter()()
	open := p.expect("[")
	for {
		if p.peek().is("*") {
			p.starExpression()
		} else {
			p.slice()
		}
		if !p.take(",") || p.peek().is("]") {
			break
		}
	}
	p.close(open, "]")
}

func (p *parser) slice() {
	if !p.peek().is(":") {
		p.namedExpression()
	}
	for colons := 0; colons < 2 && p.take(":"); colons++ {
		if !p.peek().is(":", ",", "]") {
			p.expression()
		}
	}
}

// parameters parses those of a function or lambda up to the token that ends
// them.
func (p *parser) parameters(end string, annotated bool) {
	l := &parameterList{names: make(map[string]bool)}
	for !p.peek().is(end) {
		t := p.peek()
		switch {
		case p.take("/"):
			l.slash(p, t)
		case p.take("**"):
			l.doubleStar = true
			p.parameter(l, annotated, false)
			if p.take("="); p.tokens[p.at-1].is("=") {
				p.fail(t, "var-keyword argument cannot have default value")
			}
		case p.take("*"):
			l.bareStar(p, t)
			if p.peek().is(",", end) {
				l.wantsName = true
			} else {
				p.parameter(l, annotated, true)
			}
		default:
			l.plain(p, t)
			p.parameter(l, annotated, false)
			l.defaulted(p, t)
		}
		if !p.take(",") {
			break
		}
		if l.doubleStar && !p.peek().is(end) {
			p.fail(p.peek(), "arguments cannot follow var-keyword argument")
		}
	}
	if l.wantsName {
		p.fail(p.peek(), "named arguments must follow bare *")
	}
}

// parameterList is what has been seen of a list of parameters.
type parameterList struct {
	names                     map[string]bool
	slashed, star, doubleStar bool
	wantsName                 bool // after a bare star
	defaults                  bool
}

func (l *parameterList) slash(p *parser, t token) {
	switch {
	case l.slashed:
		p.fail(t, "/ may appear only once")
	case l.star:
		p.fail(t, "/ must be ahead of *")
	case len(l.names) == 0:
		p.fail(t, "at least one argument must precede /")
	}
	l.slashed = true
}

func (l *parameterList) bareStar(p *parser, t token) {
	if l.star {
		p.fail(t, "* argument may appear only once")
	}
	l.star = true
}

func (l *parameterList) plain(p *parser, t token) {
	if t.kind != name {
		p.fail(t, "invalid syntax: expected a parameter, found %s", t.describe())
	}
	l.wantsName = false
}

// defaulted parses a default value, if there is one.
func (l *parameterList) defaulted(p *parser, t token) {
	if !p.take("=") {
		if l.defaults && !l.star {
			p.fail(t, "parameter without a default follows parameter with a default")
		}
		return
	}
	l.defaults = true
	if e := p.expression(); e.shape == list || e.shape == display {
		p.note(e.at, MutableDefault, "the default of '"+t.text+"' is made once and shared by all calls: use None and make it in the function")
	}
}

// parameter parses a name and its annotation.
func (p *parser) parameter(l *parameterList, annotated, variadic bool) {
	t := p.name()
	if l.names[t.text] {
		p.fail(t, "duplicate argument '%s' in function definition", t.text)
	}
	l.names[t.text] = true
	if !annotated || !p.take(":") {
		return
	}
	if variadic {
		p.starExpression()
		return
	}
	p.expression()
}

// typeParameters parses "[T: int = str, *Ts, **P]", if it is there.
func (p *parser) typeParameters() {
	if !p.peek().is("[") {
		return
	}
	open := p.next()
	for !p.peek().is("]") {
		p.take("*", "**")
		p.name()
		if p.take(":") {
			p.expression()
		}
		if p.take("=") {
			p.starExpression()
		}
		if !p.take(",") {
			break
		}
	}
	p.close(open, "]")
}
