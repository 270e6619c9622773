package syntax

import "fmt"

// block is a block whose `end` is expected.
type block struct {
	name  string // in messages, such as: the `for`
	from  int32  // its first token
	ended int32  // the token that closed it, of a suspect
}

// blocks are the blocks around the current token, and a block that was probably closed by the `end`
// of another one.
type blocks struct {
	open []block
	// suspect is the first block of the current definition whose `end` stands further to the left
	// than its beginning. If an `end` is missing, it is most likely that of this block.
	suspect *block
}

// block parses statements up to one of the words in ends, which it does not consume. name names the
// block in the message about a missing end; from is its first token.
func (p *parser) block(name string, from int32, ends ...string) []Statement {
	var out []Statement
	owed := p.owed
	p.owed = 0
	p.blocks.open = append(p.blocks.open, block{name: name, from: from})
	p.nested(func() { out = p.statements(ends) })
	p.closed()
	p.owed = owed
	return out
}

// statements parses the statements of a block.
func (p *parser) statements(ends []string) []Statement {
	var out []Statement
	column := p.peek().Pos.Column
	begins := func(t *Token) bool { return t.Pos.Column <= column }
	for {
		t := p.peek()
		for _, word := range ends {
			if t.is(word) && p.owed == 0 {
				p.dropped(out)
				return out
			}
		}
		if t.Kind == EOF || opens(t) && t.Pos.Column == 1 {
			p.unended(p.blocks.open[len(p.blocks.open)-1],
				"write `end` behind the last statement of the block")
		}
		if s := p.recovering(func() Statement { return p.statement(false) }, begins); s != nil {
			out = append(out, s)
		}
		if p.many() {
			panic(abandoned{})
		}
	}
}

// closed removes the innermost open block. It remembers the block if the current token, which
// closes the block, stands further to the left.
func (p *parser) closed() {
	last := len(p.blocks.open) - 1
	b := p.blocks.open[last]
	p.blocks.open = p.blocks.open[:last]
	if p.blocks.suspect == nil && last >= 0 && p.firstOnLine() &&
		p.peek().Pos.Column < p.tokens[b.from].Pos.Column && p.startsLine(b.from) {
		b.ended = p.at
		p.blocks.suspect = &b
	}
}

// startsLine reports whether a token is the first on its line.
func (p *parser) startsLine(at int32) bool {
	return at == 0 || p.tokens[at-1].End().Line < p.tokens[at].Pos.Line
}

// unended reports that the `end` of a block is missing, and stops the parsing of the block. The
// problem names the suspect instead, if there is one.
func (p *parser) unended(b block, hint string) {
	t := p.peek()
	if s := p.blocks.suspect; s != nil {
		b = *s
	}
	from := &p.tokens[b.from]
	count := len(p.problems)
	p.report(CodeSyntax, t, hint, "%s of line %d is not ended", b.name, from.Pos.Line)
	if len(p.problems) > count {
		last := &p.problems[count]
		last.Related = append(last.Related, Related{from.Pos, "it begins here"})
		if b.ended > 0 {
			end := &p.tokens[b.ended]
			last.Related = append(last.Related, Related{end.Pos, fmt.Sprintf(
				"this `%s` closes it, but stands further left", end.Text)})
		}
	}
	panic(abandoned{})
}

// inBlock reports a definition inside of a block, and stops its parsing.
func (p *parser) inBlock(t *Token, what string) {
	count := len(p.problems)
	p.report(CodeSyntax, t, "end the block above with `end`, or move this out of it",
		"%s stands only at the top of a file", what)
	if n := len(p.blocks.open); n > 0 && len(p.problems) > count {
		b := p.blocks.open[n-1]
		p.problems[count].Related = []Related{{p.tokens[b.from].Pos, "the block begins here"}}
	}
	panic(abandoned{})
}

// leavesEntity reports whether the current token ends an entity whose `end` is missing: it is the
// end of the file, or it begins a definition or a statement in the first column.
func (p *parser) leavesEntity() bool {
	t := p.peek()
	if t.Kind == EOF {
		return true
	}
	if t.Pos.Column != 1 || !p.firstOnLine() {
		return false
	}
	switch t.Kind {
	case Keyword:
		return opens(t) || t.is("for") || t.is("if")
	case TypeName:
		return true
	case Name:
		next := p.ahead(1)
		return next.is("=") || next.is(".") || next.is("(")
	}
	return false
}
