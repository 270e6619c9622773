package syntax

import "fmt"

// Pos is a place in a text. Line and Column count from 1, columns in characters; Offset counts
// bytes from 0.
type Pos struct{ Offset, Line, Column int32 }

// String returns line:column.
func (p Pos) String() string { return fmt.Sprintf("%d:%d", p.Line, p.Column) }

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens. Comment is never among the tokens that a parser sees.
const (
	EOF Kind = iota
	Comment
	Name     // begins with a small letter or _
	TypeName // begins with a capital letter
	Keyword
	Int
	Float
	String  // '...' or "..."
	Raw     // r'...' or r"..."
	FString // f'...' or f"..."
	Block   // """...""": over lines
	Regex   // matching /.../: the keyword belongs to it
	Rel     // -- -> <-
	Compare // == != < <= > >=
	Punct   // all others, by their text
	Unknown // what cannot be a token, and was reported
)

// kindNames are what messages call the kinds.
var kindNames = [...]string{
	EOF: "the end of the file", Comment: "a comment", Name: "a name",
	TypeName: "the name of an entity", Keyword: "a keyword",
	Int: "a number", Float: "a number", String: "a text", Raw: "a raw text", FString: "an f-string",
	Block: "a text over lines",
	Regex: "a regular expression", Rel: "a relation", Compare: "a comparison", Punct: "a sign",
	Unknown: "something unknown",
}

// String returns what messages call the kind.
func (k Kind) String() string { return kindNames[k] }

// Role says what a sign does where the sign alone does not tell. The parser notes it for the
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
	ElseColon         // : of a condition, as its ?
	BoundColon        // : in a multiplicity
	Nullable          // ? behind a type
	Calls             // ( or [ directly behind what is called or looked up
	Multiplicity      // [ of a relation, and of a list type
)

// Token is a piece of a text.
type Token struct {
	Text string // as written
	Pos  Pos
	Kind Kind
	Role Role
}

// End returns the place behind the last character.
func (t *Token) End() Pos { return t.Pos.behind(t.Text, "") }

// behind returns the place behind a text that begins here. after is what follows it: a line ends
// once where it ends with \r\n.
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

// keywords cannot name anything.
var keywords = map[string]bool{
	"typedef": true, "as": true, "entity": true, "extends": true, "end": true, "in": true,
	"implementation": true, "for": true,
	"matching": true, "index": true, "implement": true, "using": true, "when": true, "and": true,
	"or": true, "not": true,
	"true": true, "false": true, "import": true, "is": true, "defined": true, "dict": true,
	"null": true, "undef": true,
	"parents": true, "if": true, "else": true, "elif": true,
}

// IsKeyword reports whether a word is one of the language.
func IsKeyword(word string) bool { return keywords[word] }
