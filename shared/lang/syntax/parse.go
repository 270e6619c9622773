package syntax

import (
	"fmt"
	"strings"
)

// maxDepth is the largest nesting depth of expressions and blocks.
const maxDepth = 500

// MaxProblems is the largest number of problems that Parse returns for a text.
const MaxProblems = 100

// Parse parses a text. The tree holds the valid parts. The problems, which include warnings, are
// sorted by position and limited to MaxProblems.
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

// ordered sorts problems by position. It drops errors that lie inside the range of the previous
// error, since they are its consequences.
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

// parser parses the tokens of a model.
//
// Large: a recursive-descent parser has a method for each rule of the grammar. The methods share
// the position in the text and the problems.
type parser struct {
	file     *File
	tokens   []Token
	at       int32
	problems []Problem
	depth    int
	heading  bool  // the parser is in the header of a block, before its :
	owed     int   // number of expected `end` words of blocks with an invalid header
	read     []Arg // arguments of the open brackets
	blocks   blocks
}

// abandoned is the panic value that stops the parsing of a statement after its problem was
// reported.
type abandoned struct{}

func (p *parser) peek() *Token { return &p.tokens[p.at] }

// ahead returns the nth token after the current one, or EOF at the end of the file.
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

// since returns the span from a token to the last consumed token.
func (p *parser) since(from int32) Span { return Span{from, max(from, p.at-1)} }

// spanFrom returns the span from the first token of a node to the last consumed token.
func (p *parser) spanFrom(n Node) Span { return p.since(n.Tokens().From) }

// report records a problem. It drops problems at the end of the file if the file ends with an
// unterminated text, because they are consequences of that error.
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

// fail reports a problem and stops the parsing of the statement.
func (p *parser) fail(code string, t *Token, hint, format string, args ...any) {
	p.report(code, t, hint, format, args...)
	panic(abandoned{})
}

// expected reports that the current token is not the expected one, and stops the parsing of the
// statement. If a keyword on an earlier line precedes the token, the problem refers to it, since
// the keyword may be the actual mistake.
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

// shown shortens a token for messages.
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

// sign consumes a sign or a keyword if it is the next token, and records its role.
func (p *parser) sign(text string, role Role) bool {
	t := p.peek()
	if !t.is(text) {
		return false
	}
	t.Role = role
	p.step()
	return true
}

// want is sign for a required token: it reports a problem if the token is missing.
func (p *parser) want(text string, role Role, hint string) {
	if !p.sign(text, role) {
		p.expected("`"+text+"`", hint)
	}
}

// nested runs f one level deeper, and reports a problem if the nesting is too deep.
func (p *parser) nested(f func()) {
	if p.depth++; p.depth > maxDepth {
		p.fail(CodeTooDeep, p.peek(), "give parts of it names of their own",
			"this is nested more than %d levels deep", maxDepth)
	}
	f()
	p.depth--
}

// top parses the whole file.
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

// many reports whether there are too many problems to continue.
func (p *parser) many() bool { return len(p.problems) > 4*MaxProblems }

// opens reports whether a token starts a definition, which is only allowed at the top level of a
// file.
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

// recovering parses a statement. If that fails, it skips to the next token that is the first on its
// line and that begins accepts.
func (p *parser) recovering(read func() Statement, begins func(*Token) bool) (out Statement) {
	depth, owed, from, open := p.depth, p.owed, p.at, len(p.blocks.open)
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(abandoned); !ok {
				panic(r)
			}
			p.depth, p.owed, p.read, out = depth, owed, p.read[:0], nil
			p.blocks.open = p.blocks.open[:open]
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

// skipBlock skips the rest of a block with an invalid header. It stops after the `end` of the
// block, or before a statement that cannot be part of the block. In the second case, it records
// that the `end` is still expected, unless the statement is a definition in column 1.
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
			case t.is("else"), t.is("elif"): // may be part of the block
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

// settle consumes the `end`, or the line of the `else`, of a block with an invalid header.
func (p *parser) settle() {
	if p.sign("end", NoRole) {
		p.owed--
		return
	}
	for p.step(); p.peek().Kind != EOF && !p.firstOnLine(); {
		p.step()
	}
}

// firstOnLine reports whether the current token is the first on its line.
func (p *parser) firstOnLine() bool { return p.startsLine(p.at) }

// topStatement parses a definition or a statement.
func (p *parser) topStatement() Statement {
	p.blocks.suspect = nil
	if opens(p.peek()) {
		p.owed = 0 // a definition ends all blocks
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

// statement parses a statement of a block. Relations are only allowed at the top level. It returns
// nil for the rest of a block with an invalid header.
func (p *parser) statement(top bool) Statement {
	t := p.peek()
	switch {
	case t.is("for"):
		return p.loop()
	case t.is("if"):
		return p.condition()
	case opens(t) && !top:
		p.inBlock(t, t.Text)
	case t.is("end") || t.is("else") || t.is("elif"):
		if p.owed > 0 {
			p.settle()
			return nil
		}
		p.fail(CodeSyntax, t, "remove it, or find the line that should contain it",
			"there is no block that `%s` could belong to", t.Text)
	}
	p.declared()
	p.foreignBlock()
	from := p.at
	if name, ok := p.entityPath(); ok && p.peek().is(".") {
		if !top {
			p.inBlock(p.peek(), "a relation")
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

// assignment parses the rest of an assignment after its target.
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

// opensBlock consumes the : between the header of a block and its statements.
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
	v, second := p.loopVariables()
	p.want("in", NoRole, "write it such as `for x in list:`")
	in := p.expression()
	p.opensBlock("a `:` stands before the statements")
	body := p.block("the `for`", from, "end")
	p.step()
	return &For{p.since(from), v, second, in, body}
}

// loopVariables parses the variable of a loop, or the two variables of a loop over the items of a
// dict.
func (p *parser) loopVariables() (first Ident, second *Ident) {
	first = p.name("the name of a variable")
	if !p.sign(",", NoRole) {
		return first, nil
	}
	at := p.peek()
	v := p.name("the name of a variable")
	if v.Text == first.Text {
		p.fail(CodeSyntax, at, "write it such as `for key, value in dict:`",
			"the two variables of a loop have the same name")
	}
	return first, &v
}

// condition parses an `if` statement with all its branches.
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
	out.Then = p.block("the `"+p.tokens[from].Text+"`", from, "end", "else", "elif")
	at := p.at
	switch {
	case p.sign("elif", NoRole):
		p.nested(func() { out.Else = []Statement{p.conditional(at)} })
	case p.sign("else", NoRole):
		p.heading = true
		p.opensBlock("a `:` stands before the statements")
		out.Else = p.block("the `else`", at, "end")
	}
	out.Span = p.since(from)
	return out
}

// dropped warns about expressions whose value is not used and which seem to belong to the previous
// statement.
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
