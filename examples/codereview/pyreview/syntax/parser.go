package syntax

import "fmt"

// parser checks tokens against Python's grammar by recursive descent. A fault
// of syntax ends it by a panic that file, or attempt, recovers.
type parser struct {
	tokens    []token
	at        int
	depth     int
	notes     []Fault
	functions int // around this place, lambdas included, up to the next class
	enclosing int // functions around this place, with those around classes
	loops     int // around this place in this function
}

// file parses a whole program.
func (p *parser) file() (fault *Fault) {
	defer recoverFault(&fault)
	for p.peek().kind != eof {
		if p.peek().kind == newline { // an empty program
			p.at++
			continue
		}
		p.statement()
	}
	return nil
}

func recoverFault(fault **Fault) {
	if r := recover(); r != nil {
		f, ok := r.(*Fault)
		if !ok {
			panic(r)
		}
		*fault = f
	}
}

// attempt parses, and takes everything back when that fails.
func (p *parser) attempt(f func()) (fault *Fault) {
	before := *p
	defer func() {
		if fault != nil {
			notes := before.notes
			*p = before
			p.notes = notes[:len(notes):len(notes)]
		}
	}()
	defer recoverFault(&fault)
	f()
	return nil
}

func (p *parser) peek() token { return p.tokens[p.at] }

func (p *parser) next() token {
	t := p.tokens[p.at]
	if t.kind != eof {
		p.at++
	}
	return t
}

// after is the token n places further on.
func (p *parser) after(n int) token { return p.tokens[min(p.at+n, len(p.tokens)-1)] }

func (t token) is(words ...string) bool {
	if t.kind != operator && t.kind != keyword {
		return false
	}
	for _, w := range words {
		if t.text == w {
			return true
		}
	}
	return false
}

// take consumes the next token if it is one of the words.
func (p *parser) take(words ...string) bool {
	if !p.peek().is(words...) {
		return false
	}
	p.at++
	return true
}

func (p *parser) takeKind(k kind) bool {
	if p.peek().kind != k {
		return false
	}
	p.at++
	return true
}

func (p *parser) expect(word string) token {
	if t := p.peek(); !t.is(word) {
		p.fail(t, "invalid syntax: expected '%s', found %s", word, t.describe())
	}
	return p.next()
}

func (p *parser) name() token {
	if t := p.peek(); t.kind != name {
		p.fail(t, "invalid syntax: expected a name, found %s", t.describe())
	}
	return p.next()
}

func (p *parser) fail(at token, format string, args ...any) {
	panic(&Fault{Line: at.line, Column: at.column, Rule: Syntax, Message: fmt.Sprintf(format, args...)})
}

// note reports a habit.
func (p *parser) note(at token, rule, message string) {
	p.notes = append(p.notes, Fault{Line: at.line, Column: at.column, Rule: rule, Message: message})
}

// enter bounds recursion: the program is foreign, and the stack is not endless.
func (p *parser) enter() (leave func()) {
	if p.depth++; p.depth > maxDepth {
		t := p.peek()
		panic(&Fault{Line: t.line, Column: t.column, Rule: TooDeep, Message: "nested too deeply to be checked"})
	}
	return func() { p.depth-- }
}
