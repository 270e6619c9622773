package syntax

import "fmt"

// Pos is a position in a text. Line and Column count from 1, columns in characters; Offset counts
// bytes from 0.
type Pos struct{ Offset, Line, Column int32 }

// String returns line:column.
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens. The parser receives no Comment tokens.
const (
	EOF Kind = iota
	Comment
	Name     // starts with a lower-case letter or _
	TypeName // starts with an upper-case letter
	Keyword
	Int
	Float
	String  // '...' or "..."
	Raw     // r'...' or r"..."
	FString // f'...' or f"..."
	Block   // """...""": over several lines
	Regex   // matching /.../: includes the keyword
	Rel     // -- -> <-
	Compare // == != < <= > >=
	Punct   // all other signs; Text distinguishes them
	Unknown // an invalid token, which was reported
)

// kindNames are the names of the kinds in messages.
var kindNames = [...]string{
	EOF: "the end of the file", Comment: "a comment", Name: "a name",
	TypeName: "the name of an entity", Keyword: "a keyword",
	Int: "a number", Float: "a number", String: "a text", Raw: "a raw text", FString: "an f-string",
	Block: "a text over lines",
	Regex: "a regular expression", Rel: "a relation", Compare: "a comparison", Punct: "a sign",
	Unknown: "something unknown",
}

// String returns the name of the kind in messages.
func (k Kind) String() string { return kindNames[k] }

// Role is the function of a sign that has several functions. The parser records it for the
// formatter.
type Role uint8

// The roles of signs.
const (
	NoRole       Role = iota
	OpensBlock        // : before statements or attributes
	Binary            // an operator between two expressions
	Assigns           // = and +=
	NamesArg          // = in a list of arguments
	Spreads           // ** before a dictionary of arguments
	PairColon         // : in a dictionary
	ElseColon         // : of a conditional expression, also its ?
	BoundColon        // : in a multiplicity
	Nullable          // ? after a type
	Calls             // ( or [ of a call or a lookup, directly after its target
	Multiplicity      // [ of a relation, and of a list type
)

// Token is a token of a text.
type Token struct {
	Text string // as written
	Pos  Pos
	Kind Kind
	Role Role
}

// End returns the position after the last character.
func (t *Token) End() Pos { return t.Pos.behind(t.Text, "") }

// behind returns the position after a text that starts at p. after is the text that follows, which
// is needed to count \r\n as one line break.
func (p Pos) behind(text, after string) Pos {
	for i, r := range text {
		p.Column++
		next := byte(0)
		switch {
		case r != '\r':
		case i+1 < len(text):
			next = text[i+1]
		case after != "":
			next = after[0]
		}
		if r == '\n' || r == '\r' && next != '\n' {
			p.Line, p.Column = p.Line+1, 1
		}
	}
	p.Offset += int32(len(text)) // texts are bounded by MaxText
	return p
}

// is reports whether the token is this keyword or sign.
func (t *Token) is(text string) bool {
	return (t.Kind == Keyword || t.Kind == Punct) && t.Text == text
}

// keywords are reserved words, which cannot be names.
var keywords = map[string]bool{
	"typedef": true, "as": true, "entity": true, "extends": true, "end": true, "in": true,
	"implementation": true, "for": true,
	"matching": true, "index": true, "implement": true, "using": true, "when": true, "and": true,
	"or": true, "not": true,
	"true": true, "false": true, "import": true, "is": true, "defined": true, "dict": true,
	"null": true, "undef": true,
	"parents": true, "if": true, "else": true, "elif": true,
}

// IsKeyword reports whether a word is reserved.
func IsKeyword(word string) bool { return keywords[word] }
