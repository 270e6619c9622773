package syntax

import (
	"fmt"
	"strings"
)

// maxDepth is how deep expressions and blocks may be nested.
const maxDepth = 500

// MaxProblems is how many problems of a text are reported.
const MaxProblems = 100

// Parse reads a text. The tree holds what could be read; what is wrong is returned in order of
// place, warnings among it, and up to MaxProblems.
func Parse(text string) (*File, []Problem) {
	tokens, problems := Scan(text)
	f := &File{Text: text, Tokens: tokens[:0]}
	for i := range tokens {
		if t := &tokens[i]; t.Kind == Comment {
			f.Comments = append(f.Comments, *t)
		} else {
			f.Tokens = append(f.Tokens, *t)
		}
	}
	p := &parser{file: f, tokens: f.Tokens, problems: problems}
	p.top()
	return f, ordered(p.problems)
}

// ordered returns problems in order of place, without those that follow from one before them on the
// same place.
func ordered(problems []Problem) []Problem {
	sortProblems(problems)
	out := problems[:0]
	for _, q := range problems {
		if n := len(out); n > 0 && !out[n-1].Warning && !q.Warning &&
			q.Pos.Offset < out[n-1].End.Offset {
			continue
		}
		out = append(out, q)
	}
	return out[:min(len(out), MaxProblems)]
}

// parser reads the tokens of a model.
//
// Large: a recursive-descent parser has a method for each rule of the grammar, and they share the
// place in the text and the problems.
type parser struct {
	file     *File
	tokens   []Token
	at       int32
	problems []Problem
	depth    int
	heading  bool  // the beginning of a block is being read, up to its :
	owed     int   // how many `end` belong to blocks of which the beginning was wrong
	read     []Arg // those of the brackets that are open
}

// abandoned ends the reading of a statement; what is wrong was reported.
type abandoned struct{}

func (p *parser) peek() *Token { return &p.tokens[p.at] }

// ahead returns a token further on, the EOF behind the end.
func (p *parser) ahead(n int32) *Token {
	return &p.tokens[min(p.at+n, int32(len(p.tokens)-1))] // texts are bounded
}

func (p *parser) step() int32 {
	at := p.at
	if p.tokens[at].Kind != EOF {
		p.at++
	}
	return at
}

// since returns the span from a token to the last one that was read.
func (p *parser) since(from int32) Span { return Span{from, max(from, p.at-1)} }

// span returns the span from the beginning of a node to the last token that was read.
func (p *parser) spanFrom(n Node) Span { return p.since(n.Tokens().From) }

// report notes a problem. That something is missing at the end of the file says nothing behind a text
// that does not end.
func (p *parser) report(code string, t *Token, hint, format string, args ...any) {
	if last := len(p.tokens) - 1; t.Kind == EOF && last > 0 && p.tokens[last-1].Kind == Unknown &&
		p.tokens[last-1].End().Offset == t.Pos.Offset {
		return
	}
	p.problems = append(p.problems, Problem{Code: code, Pos: t.Pos, End: t.End(),
		Message: fmt.Sprintf(format, args...), Hint: hint})
}

func (p *parser) warn(code string, t *Token, hint, format string, args ...any) {
	p.report(code, t, hint, format, args...)
	p.problems[len(p.problems)-1].Warning = true
}

// fail reports a problem and abandons the statement.
func (p *parser) fail(code string, t *Token, hint, format string, args ...any) {
	p.report(code, t, hint, format, args...)
	panic(abandoned{})
}

// expected reports that something else was expected at the token at hand, and abandons the
// statement. Behind a word of the language that may be the mistake itself, it names its line too.
func (p *parser) expected(what, hint string) {
	t := p.peek()
	if t.Kind == Keyword && strings.Contains(what, "name") {
		p.fail(CodeReserved, t, "choose another name",
			"expected %s, and %s is a word of the language", what, t.Text)
	}
	if n := p.file.Numeral(p.at); n != "" {
		p.fail(CodeSyntax, t, NumeralHint, "%s is not a number", n)
	}
	p.report(CodeSyntax, t, hint, "expected %s, found %s", what, shown(t))
	before := &p.tokens[max(p.at-1, 0)]
	if n := len(p.problems); n > 0 && before.Kind == Keyword && before.Pos.Line < t.Pos.Line {
		last := &p.problems[len(p.problems)-1]
		last.Related = append(last.Related, Related{before.Pos, "it stands behind " + before.Text})
	}
	panic(abandoned{})
}

// shown is a token as messages show it.
func shown(t *Token) string {
	const limit = 40
	text := t.Text
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i] + "…"
	}
	if r := []rune(text); len(r) > limit {
		text = string(r[:limit]) + "…"
	}
	if t.Kind == EOF {
		return t.Kind.String()
	}
	return text
}

// sign reads a sign or a keyword if it is the next token, and notes its role.
func (p *parser) sign(text string, role Role) bool {
	t := p.peek()
	if !t.is(text) {
		return false
	}
	t.Role = role
	p.step()
	return true
}

// want is sign for what has to be there.
func (p *parser) want(text string, role Role, hint string) {
	if !p.sign(text, role) {
		p.expected("`"+text+"`", hint)
	}
}

// nested runs f one level deeper.
func (p *parser) nested(f func()) {
	if p.depth++; p.depth > maxDepth {
		p.fail(CodeTooDeep, p.peek(), "give parts of it names of their own",
			"this is nested more than %d levels deep", maxDepth)
	}
	f()
	p.depth--
}

// top reads the whole file.
func (p *parser) top() {
	if p.peek().Kind == Block {
		p.file.Doc = p.doc()
	}
	for p.peek().Kind != EOF && !p.many() {
		if s := p.recovering(p.topStatement,
			func(t *Token) bool { return t.Pos.Column == 1 || opens(t) }); s != nil {
			p.file.Body = append(p.file.Body, s)
		}
	}
	p.dropped(p.file.Body)
}

// many reports whether there are so many problems that reading on is of no use.
func (p *parser) many() bool { return len(p.problems) > 4*MaxProblems }

// opens reports whether a token begins a definition, which only stands at the top of a file.
func opens(t *Token) bool {
	if t.Kind != Keyword {
		return false
	}
	switch t.Text {
	case "import", "entity", "typedef", "index", "implementation", "implement":
		return true
	}
	return false
}

// recovering reads a statement; when that fails, it goes on at the next token that begins a line
// and where another may begin.
func (p *parser) recovering(read func() Statement, begins func(*Token) bool) (out Statement) {
	depth, owed, from := p.depth, p.owed, p.at
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(abandoned); !ok {
				panic(r)
			}
			p.depth, p.owed, p.read, out = depth, owed, p.read[:0], nil
			if p.at == from {
				p.step()
			}
			if p.heading {
				p.heading = false
				p.skipBlock(begins)
				return
			}
			for t := p.peek(); t.Kind != EOF && (!p.firstOnLine() || !begins(t)); t = p.peek() {
				p.step()
			}
		}
	}()
	return read()
}

// skipBlock goes on behind a block of which the beginning was wrong, with its `end`, or at the next
// statement that is not part of it for sure. Then that `end` is still to come.
func (p *parser) skipBlock(begins func(*Token) bool) {
	inner := 0
	for t := p.peek(); t.Kind != EOF; t = p.peek() {
		if p.firstOnLine() {
			switch {
			case t.is("end"):
				p.step()
				if inner--; inner < 0 {
					return
				}
				continue
			case t.is("else"), t.is("elif"): // may be part of it
			case begins(t):
				if !opens(t) || t.Pos.Column != 1 {
					p.owed += inner + 1
				}
				return
			case t.is("for"), t.is("if"):
				inner++
			}
		}
		p.step()
	}
}

// settle reads the line with the `end` or the `else` of a block of which the beginning was wrong.
func (p *parser) settle() {
	if p.sign("end", NoRole) {
		p.owed--
		return
	}
	for p.step(); p.peek().Kind != EOF && !p.firstOnLine(); {
		p.step()
	}
}

// firstOnLine reports whether the token at hand is the first on its line.
func (p *parser) firstOnLine() bool {
	return p.at == 0 || p.tokens[p.at-1].End().Line < p.peek().Pos.Line
}

// topStatement reads a definition or a statement.
func (p *parser) topStatement() Statement {
	if opens(p.peek()) {
		p.owed = 0 // no block goes on behind that
	}
	if t := p.peek(); t.Kind == Keyword {
		switch t.Text {
		case "import":
			return p.imports()
		case "entity":
			return p.entity()
		case "typedef":
			return p.typedef()
		case "index":
			return p.index()
		case "implementation":
			return p.implementation()
		case "implement":
			return p.implement()
		}
	}
	return p.statement(true)
}

// statement reads what may also stand in a block; a relation only at the top. It returns nil for the
// rest of a block of which the beginning was wrong.
func (p *parser) statement(top bool) Statement {
	t := p.peek()
	switch {
	case t.is("for"):
		return p.loop()
	case t.is("if"):
		return p.condition()
	case opens(t) && !top:
		p.fail(CodeSyntax, t, "end the block above with `end`, or move this out of it",
			"%s stands only at the top of a file", t.Text)
	case t.is("end") || t.is("else") || t.is("elif"):
		if p.owed > 0 {
			p.settle()
			return nil
		}
		p.fail(CodeSyntax, t, "remove it, or look for what it should belong to",
			"there is no block that `%s` could belong to", t.Text)
	}
	p.declared()
	p.foreignBlock()
	from := p.at
	if name, ok := p.entityPath(); ok && p.peek().is(".") {
		if !top {
			p.fail(CodeSyntax, p.peek(), "end the block above with `end`, or move this out of it",
				"a relation stands only at the top of a file")
		}
		return p.relation(name)
	}
	p.at = from
	e := p.expression()
	switch {
	case p.peek().is("="), p.peek().is("+="):
		return p.assignment(e)
	}
	return &Bare{p.since(from), e}
}

// assignment reads what is behind its target.
func (p *parser) assignment(target Expression) Statement {
	switch target.(type) {
	case *Ref, *Attr:
	default:
		p.fail(CodeSyntax, p.peek(), "assign to a variable, or to an attribute: x = 1, x.y = 1",
			"only variables and attributes can be assigned to")
	}
	extend := p.peek().Text == "+="
	if ref, ok := target.(*Ref); ok && extend {
		p.fail(CodeSyntax, p.peek(),
			"add to the relation of an instance, as in x.files += ..., or use = once",
			"+= adds to relations, and %s is a variable", ref.Name.Text)
	}
	p.sign(p.peek().Text, Assigns)
	value := p.expression()
	return &Assign{p.spanFrom(target), target, extend, value}
}

// block reads statements up to one of the words, which it leaves. within is what is said of a
// missing end.
func (p *parser) block(within string, ends ...string) []Statement {
	var out []Statement
	owed := p.owed
	p.owed = 0
	p.nested(func() {
		column := p.peek().Pos.Column
		for {
			t := p.peek()
			for _, word := range ends {
				if t.is(word) && p.owed == 0 {
					p.dropped(out)
					return
				}
			}
			if t.Kind == EOF || opens(t) && t.Pos.Column == 1 {
				p.fail(CodeSyntax, t, "write `end` behind the last statement of the block",
					"%s is not ended", within)
			}
			begins := func(t *Token) bool { return t.Pos.Column <= column }
			if s := p.recovering(func() Statement { return p.statement(false) }, begins); s != nil {
				out = append(out, s)
			}
			if p.many() {
				panic(abandoned{})
			}
		}
	})
	p.owed = owed
	return out
}

// opensBlock reads the : between the beginning of a block and its statements.
func (p *parser) opensBlock(hint string) {
	if p.peek().is("=") {
		hint = "two values are compared by =="
	}
	p.want(":", OpensBlock, hint)
	p.heading = false
}

func (p *parser) loop() Statement {
	from := p.step()
	p.heading = true
	v := p.name("the name of a variable")
	p.want("in", NoRole, "write it such as `for x in list:`")
	in := p.expression()
	p.opensBlock("a `:` stands before the statements")
	body := p.block("this `for`", "end")
	p.step()
	return &For{p.since(from), v, in, body}
}

// condition reads an if up to its end, with all that belongs to it.
func (p *parser) condition() Statement {
	from := p.step()
	out := p.conditional(from)
	p.want("end", NoRole, "an `if` ends with `end`")
	out.Span = p.since(from)
	return out
}

func (p *parser) conditional(from int32) *If {
	p.heading = true
	out := &If{Condition: p.expression()}
	p.opensBlock("a `:` stands before the statements")
	out.Then = p.block("this `if`", "end", "else", "elif")
	at := p.at
	switch {
	case p.sign("elif", NoRole):
		p.nested(func() { out.Else = []Statement{p.conditional(at)} })
	case p.sign("else", NoRole):
		p.heading = true
		p.opensBlock("a `:` stands before the statements")
		out.Else = p.block("this `else`", "end")
	}
	out.Span = p.since(from)
	return out
}

// dropped warns of expressions whose value nobody uses, when they look as if they belonged to the
// statement before.
func (p *parser) dropped(body []Statement) {
	for i := 1; i < len(body); i++ {
		b, ok := body[i].(*Bare)
		if !ok {
			continue
		}
		t, before := &p.tokens[b.From], &p.tokens[b.From-1]
		if n := p.file.Numeral(b.From); n != "" {
			p.warn(CodeDropped, t, NumeralHint,
				"%s begins a statement of its own, whose value is dropped: %s is not a number",
				t.Text, n)
		}
		if before.End().Line == t.Pos.Line {
			p.droppedBehind(b, t)
		}
	}
}
