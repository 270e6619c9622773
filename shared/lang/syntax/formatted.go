package syntax

import (
	"slices"
	"strings"
)

// indent is one level of indentation.
const indent = "    "

// Formatted returns a text in the one form that all models have: a statement a line, blocks and
// brackets indented by four blanks, one blank around operators. Lines that were broken stay broken,
// comments stay where they are, and at most one empty line stays between two others. The tokens are
// those of the text, so the meaning is. A text that is wrong is returned as it is, with its
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

// printer writes tokens one after the other.
type printer struct {
	out    strings.Builder
	begins map[int32]bool // the tokens that begin a line, whatever was written
	line   int            // counts the lines that were written

	blocks   int       // open
	brackets []bracket // open
	before   *Token    // what was written last; nil at the beginning
	opened   bool      // before opened a block
}

// bracket is one that is open.
type bracket struct {
	line  int // on which it stands
	level int // of the lines in it, behind that of the block
}

// starts notes where statements and attributes begin.
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
				w.starts(s.Else[0].(*If).Then) // elif has looked
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

// elif returns the condition that an else consists of.
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

// print writes the tokens and the comments between them.
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

// comment writes a comment: on the line of what is before it, if it stood there.
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

// open notes a bracket. Several on a line indent once.
func (w *printer) open() {
	b := bracket{line: w.line, level: 1}
	if n := len(w.brackets); n > 0 {
		if b.level = w.brackets[n-1].level; w.brackets[n-1].line != w.line {
			b.level++
		}
	}
	w.brackets = append(w.brackets, b)
}

// level returns how far the line that t begins is indented.
func (w *printer) level(t *Token, begins bool) int {
	n := len(w.brackets)
	switch {
	case n == 0 && begins:
		return w.blocks
	case n == 0:
		return w.blocks + 1 // it goes on with what was begun above
	case t.is(")"), t.is("]"), t.is("}"):
		return w.blocks + w.brackets[n-1].level - 1
	}
	return w.blocks + w.brackets[n-1].level
}

// newLine begins a line, after an empty one if there was one; not at the beginning and at the end
// of a block.
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

// spaced reports whether a blank stands between two tokens of a line.
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
