package syntax

import (
	"slices"
	"strings"
)

// indent is one level of indentation.
const indent = "    "

// Formatted returns a text in the canonical format: one statement a line, four spaces of
// indentation for blocks and brackets, one space around operators. It keeps line breaks inside
// statements, the places of comments, and at most one empty line between two lines. The tokens stay
// the same, so the meaning does. If the text has errors, Formatted returns it unchanged with its
// problems.
func Formatted(text string) (string, []Problem) {
	f, problems := Parse(text)
	if slices.ContainsFunc(problems, func(p Problem) bool { return !p.Warning }) {
		return text, problems
	}
	w := &printer{begins: map[int32]bool{}}
	if f.Doc != nil {
		w.begins[f.Doc.From] = true
	}
	w.starts(f.Body)
	w.print(f)
	return w.out.String(), problems
}

// printer writes tokens in order.
type printer struct {
	out    strings.Builder
	begins map[int32]bool // tokens that always start a line
	line   int            // number of lines written so far

	blocks   int       // number of open blocks
	brackets []bracket // open brackets
	before   *Token    // the last token or comment that was written; nil at the start
	opened   bool      // before opened a block
}

// bracket is an open bracket.
type bracket struct {
	line  int // the line of the bracket
	level int // indentation of the lines inside it, relative to the block
}

// starts records the first tokens of statements and attributes.
func (w *printer) starts(body []Statement) {
	for _, s := range body {
		w.begins[s.Tokens().From] = true
		switch s := s.(type) {
		case *Entity:
			w.doc(s.Doc)
			for _, a := range s.Attributes {
				w.begins[a.From] = true
			}
		case *Implementation:
			w.doc(s.Doc)
			w.starts(s.Body)
		case *For:
			w.starts(s.Body)
		case *If:
			w.starts(s.Then)
			if _, is := elif(s.Else); is {
				w.starts(s.Else[0].(*If).Then) // elif has checked the type
			}
			w.starts(s.Else)
		case *Relation:
			w.doc(s.Doc)
		case *Typedef:
			w.doc(s.Doc)
		case *Implement:
			w.doc(s.Doc)
		}
	}
}

// elif returns the `if` statement that is the only statement of an else branch.
func elif(body []Statement) (*If, bool) {
	if len(body) != 1 {
		return nil, false
	}
	s, ok := body[0].(*If)
	return s, ok
}

func (w *printer) doc(t *Text) {
	if t != nil {
		w.begins[t.From] = true
	}
}

// print writes the tokens, with the comments between them.
func (w *printer) print(f *File) {
	comments := f.Comments
	for i := range f.Tokens {
		t := &f.Tokens[i]
		for len(comments) > 0 && comments[0].Pos.Offset < t.Pos.Offset {
			w.comment(&comments[0])
			comments = comments[1:]
		}
		if t.Kind == EOF {
			break
		}
		w.token(t, int32(i), &f.Tokens[i+1]) // texts are bounded
	}
	if w.before != nil {
		w.out.WriteString("\n")
	}
}

// comment writes a comment. If the comment follows a token on the same line, it stays there.
func (w *printer) comment(t *Token) {
	c := *t
	c.Text = strings.TrimRight(t.Text, " \t")
	if w.before != nil && w.before.End().Line == c.Pos.Line {
		w.out.WriteString("  " + c.Text)
	} else {
		w.newLine(&c, w.level(&c, true))
		w.out.WriteString(c.Text)
	}
	w.before = &c
}

func (w *printer) token(t *Token, at int32, next *Token) {
	closes := t.is("end") || t.is("else") || t.is("elif")
	if closes {
		w.blocks--
	}
	begins := w.begins[at] || closes
	switch {
	case w.before == nil:
	case begins, w.before.Kind == Comment, w.opened, w.before.End().Line < t.Pos.Line:
		w.newLine(t, w.level(t, begins))
	case spaced(w.before, t, next):
		w.out.WriteByte(' ')
	}
	text := strings.ReplaceAll(strings.ReplaceAll(t.Text, "\r\n", "\n"), "\r", "\n")
	if t.Kind == Regex {
		text = "matching " + text[strings.IndexByte(text, '/'):]
	}
	w.out.WriteString(text)
	w.before, w.opened = t, t.Role == OpensBlock
	switch {
	case w.opened:
		w.blocks++
	case t.is("("), t.is("["), t.is("{"):
		w.open()
	case t.is(")"), t.is("]"), t.is("}"):
		w.brackets = w.brackets[:len(w.brackets)-1]
	}
}

// open records a bracket. Several brackets on one line indent only once.
func (w *printer) open() {
	b := bracket{line: w.line, level: 1}
	if n := len(w.brackets); n > 0 {
		if b.level = w.brackets[n-1].level; w.brackets[n-1].line != w.line {
			b.level++
		}
	}
	w.brackets = append(w.brackets, b)
}

// level returns the indentation of the line that starts with t.
func (w *printer) level(t *Token, begins bool) int {
	n := len(w.brackets)
	switch {
	case n == 0 && begins:
		return w.blocks
	case n == 0:
		return w.blocks + 1 // continuation of a statement
	case t.is(")"), t.is("]"), t.is("}"):
		return w.blocks + w.brackets[n-1].level - 1
	}
	return w.blocks + w.brackets[n-1].level
}

// newLine starts a line. It keeps one empty line before it, except at the start and at the end of a
// block.
func (w *printer) newLine(t *Token, level int) {
	if w.before == nil {
		return
	}
	empty := t.Pos.Line-w.before.End().Line > 1
	if empty && !w.opened && !t.is("end") && !t.is("else") && !t.is("elif") {
		w.out.WriteByte('\n')
	}
	w.out.WriteByte('\n')
	w.line++
	w.out.WriteString(strings.Repeat(indent, level))
	w.opened = false
}

// spaced reports whether a space separates two tokens on a line.
func spaced(a, b, afterB *Token) bool {
	switch {
	case a.is("("), a.is("["), a.is("{"), a.is("."), a.is("::"), a.Role == NamesArg,
		a.Role == Spreads, a.Role == BoundColon:
		return false
	case b.is(")"), b.is("]"), b.is("}"), b.is(","), b.is("."), b.is("::"):
		return false
	case b.Role == NamesArg, b.Role == OpensBlock, b.Role == PairColon, b.Role == BoundColon,
		b.Role == Nullable, b.Role == Calls:
		return false
	case b.Role == Multiplicity && afterB.is("]"):
		return false // of a list type
	}
	return true
}
