package syntax

import "strings"

// This file detects constructs of other languages that are invalid or have another meaning in
// models.

// beginsForeign reports whether a word starts a block in another language.
func beginsForeign(word string) bool {
	switch word {
	case "while", "def", "class", "function", "func", "foreach", "unless", "try", "with":
		return true
	}
	return false
}

// foreignBlock reports a block of another language, if the line ends with a colon.
func (p *parser) foreignBlock() {
	t := p.peek()
	if t.Kind != Name || !beginsForeign(t.Text) || p.ahead(1).is("?") {
		return
	}
	n := int32(0)
	for p.ahead(n+1).Kind != EOF && p.ahead(n+1).Pos.Line == t.Pos.Line {
		n++
	}
	if p.ahead(n).is(":") {
		p.heading = true
		p.fail(CodeSyntax, t, "blocks are those of for, if, entity and implementation",
			"%s begins no statement", t.Text)
	}
}

// declared reports a variable that is declared with a type, if the statement cannot mean anything
// else.
func (p *parser) declared() {
	t := p.peek()
	if t.Kind != Name && t.Kind != TypeName && !t.is("dict") {
		return
	}
	n := int32(1)
	for ; p.ahead(n).is("::"); n += 2 {
		t = p.ahead(n + 1)
	}
	statement := t.Kind == Name // an expression statement of a variable
	if p.ahead(n).is("[") && p.ahead(n+1).is("]") {
		n, statement = n+2, false
	}
	if p.ahead(n).is("?") {
		n, statement = n+1, false
	}
	first, name := p.peek(), p.ahead(n)
	if !statement && name.Kind == Name && p.ahead(n+1).is("=") &&
		name.Pos.Line == first.Pos.Line {
		p.fail(CodeSyntax, first, Declaration(name.Text), "%s begins no statement", shown(first))
	}
}

// droppedBehind warns about an expression that follows a statement on its line.
func (p *parser) droppedBehind(b *Bare, t *Token) {
	const message = "%s begins a statement of its own, whose value is dropped"
	hint := ""
	switch b.Value.(type) {
	case *Number:
		if !strings.HasPrefix(t.Text, "-") {
			return
		}
		hint = "write a blank between - and the number to subtract"
	case *List, *Comprehension:
		hint = "give the value before it a name: a dict has name[\"key\"], a list std::at(name, 0)"
	case *Text, *Format, *FText:
		hint = "join texts by +"
	default:
		return
	}
	p.warn(CodeDropped, t, hint, message, shown(t))
}
