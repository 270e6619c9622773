package syntax

import "math/big"

// Span is the range of a node: the indexes of its first and last token in File.Tokens.
type Span struct{ From, To int32 }

// Tokens returns the span. Types that embed Span implement Node through this method.
func (s Span) Tokens() Span { return s }

// Node is a part of the tree.
type Node interface{ Tokens() Span }

// File is a parsed text. If the text has problems, the tree holds the valid parts.
type File struct {
	Text   string
	Tokens []Token // without comments; the last one is EOF
	// Comments are the comments of the text, in order.
	Comments []Token
	Doc      *Text // the docstring at the start of the file; nil if there is none
	Body     []Statement
}

// NumeralHint is the hint for numbers in an unsupported notation.
const NumeralHint = "write a number with all its digits, such as 1000 or 0.001"

// Numeral returns a number in the notation of another language, such as 1e3, 0x10 or 1_000. The
// scanner splits such a number into digits and a name, and at is the index of the name. Numeral
// returns "" for any other token.
func (f *File) Numeral(at int32) string {
	if at < 1 || f.Tokens[at].Kind != Name {
		return ""
	}
	before, t := &f.Tokens[at-1], &f.Tokens[at]
	if before.Kind != Int && before.Kind != Float || before.End().Offset != t.Pos.Offset {
		return ""
	}
	return before.Text + t.Text
}

// Declaration returns the hint for a variable that is declared with a type or a keyword.
func Declaration(name string) string {
	return "a variable has no type, and no word stands before it: write " + name + " = ..."
}

// Declared returns the variable that is assigned directly after a name on the same line. In other
// languages, the name would be the type of the variable, or a keyword such as var. Otherwise
// Declared returns "".
func (f *File) Declared(at int32) string {
	if int(at)+2 >= len(f.Tokens) {
		return ""
	}
	t, of, is := &f.Tokens[at], &f.Tokens[at+1], &f.Tokens[at+2]
	if of.Kind != Name || !is.is("=") || is.Role != Assigns || t.Pos.Line != of.Pos.Line {
		return ""
	}
	return of.Text
}

// Pos returns the position of the first character of a node.
func (f *File) Pos(n Node) Pos { return f.Tokens[n.Tokens().From].Pos }

// End returns the position after the last character of a node.
func (f *File) End(n Node) Pos { return f.Tokens[n.Tokens().To].End() }

// Ident is a name, or names joined by ::.
type Ident struct {
	Span
	Text string
}

// Path is a reference to an entity, a type, a plugin or a variable: a::b::C.
type Path = Ident

// Statement is a definition, an assignment, a loop, a condition, or an expression that is used as a
// statement.
type Statement interface {
	Node
	statement()
}

// Expression is an expression, which has a value.
type Expression interface {
	Node
	expression()
}

// Definitions, which are only allowed at the top level of a file.
type (
	// Import is `import a::b as c`.
	Import struct {
		Span
		Module Path
		As     *Ident
	}
	// Entity is `entity X extends Y: attributes end`.
	Entity struct {
		Span
		Name       Ident
		Extends    []Path
		Doc        *Text
		Attributes []*Attribute
	}
	// Attribute is `type name = default`.
	Attribute struct {
		Span
		Type    TypeRef
		Name    Ident
		Default Expression // nil if there is none
		Undef   bool       // = undef: no default, even if the parents have one
	}
	// TypeRef is the type of an attribute.
	TypeRef struct {
		Span
		Name     Path
		List     bool // t[]
		Nullable bool // t?
	}
	// Typedef is `typedef t as base matching expression`.
	Typedef struct {
		Span
		Name     Ident
		Base     Path
		Matching Expression
		Doc      *Text
	}
	// Index is `index X(a, b)`.
	Index struct {
		Span
		Entity     Path
		Attributes []Ident
	}
	// Implementation is `implementation i for X: statements end`.
	Implementation struct {
		Span
		Name   Ident
		Entity Path
		Doc    *Text
		Body   []Statement
	}
	// Implement is `implement X using i, parents when condition`.
	Implement struct {
		Span
		Entity  Path
		Using   []Path
		Parents bool
		When    Expression // nil if there is none
		Doc     *Text
	}
	// Relation is `A.b [m] -- B.a [n]`. Right.Name is empty if the relation has one direction only.
	Relation struct {
		Span
		Left, Right End
		Annotations []Expression
		Doc         *Text
	}
	// End is one end of a relation. The attribute Name of Entity refers to instances of the other
	// entity, and Bounds limits their number.
	End struct {
		Span
		Entity Path
		Name   Ident
		Bounds Bounds
	}
	// Bounds is a multiplicity. Upper is nil if there is no upper bound.
	Bounds struct {
		Span
		Lower, Upper *big.Int
	}
)

// Statements of blocks.
type (
	// Assign is `a.b = value`, or `a.b += value` if Extend is true.
	Assign struct {
		Span
		Target Expression // a Ref or an Attr
		Extend bool
		Value  Expression
	}
	// For is `for v in list: statements end`.
	For struct {
		Span
		Variable Ident
		Second   *Ident // the variable of the values, if the loop is over the items of a dict
		In       Expression
		Body     []Statement
	}
	// If is `if c: … elif d: … else: … end`. An elif is an If that is the only statement of Else.
	If struct {
		Span
		Condition Expression
		Then      []Statement
		Else      []Statement
	}
	// Bare is an expression as a statement. Its value is not used.
	Bare struct {
		Span
		Value Expression
	}
)

// Expressions.
type (
	// Number is an integer or a float.
	Number struct {
		Span
		Int   *big.Int // nil for a float
		Float float64
	}
	// Constant is true, false or null.
	Constant struct {
		Span
		Text string
	}
	// Text is a literal text without interpolated values.
	Text struct {
		Span
		Value string
	}
	// Format is a text with values interpolated by {{ name }}.
	Format struct {
		Span
		Parts []Part
	}
	// FText is an f-string.
	FText struct {
		Span
		Parts []Part
	}
	// Part is a part of a Format or an FText: literal text, or a value if Path is not empty.
	Part struct {
		Text       string
		Path       []string // path of a value: a variable, which may contain ::, and attributes
		Conversion byte     // conversion of an f-string: r, s, a or 0
		Spec       []Part   // format specification of an f-string
	}
	// Pattern is `matching /re/`: the text of a regular expression.
	Pattern struct {
		Span
		Text string
	}
	// Ref is a variable.
	Ref struct {
		Span
		Name Path
	}
	// Attr is `of.name`.
	Attr struct {
		Span
		Of   Expression // a Ref or an Attr
		Name Ident
	}
	// Lookup is `map[key]`.
	Lookup struct {
		Span
		Map Expression // a Ref, an Attr or a Lookup
		Key Expression
	}
	// IndexLookup is `X[a=1]`, or `of.relation[a=1]` if Of is not nil.
	IndexLookup struct {
		Span
		Entity Path
		Of     *Attr
		Args   []Arg
	}
	// Construct is `X(a=1, **more)`.
	Construct struct {
		Span
		Entity Path
		Args   []Arg
	}
	// Call is `ns::f(1, a=2, **more)`.
	Call struct {
		Span
		Plugin Path
		Args   []Arg
	}
	// Arg is an argument: a value, `name=value`, or `**value` if Spread is true.
	Arg struct {
		Span
		Name   *Ident
		Spread bool
		Value  Expression
	}
	// List is `[a, b]`.
	List struct {
		Span
		Items []Expression
	}
	// Dict is `{"a": 1}`.
	Dict struct {
		Span
		Pairs []Pair
	}
	// Pair is an entry of a Dict.
	Pair struct {
		Key   Text
		Value Expression
	}
	// Comprehension is `[value for x in list if c]`.
	Comprehension struct {
		Span
		Value Expression
		Loops []Loop
		If    []Expression
	}
	// Loop is `for x in list` of a comprehension.
	Loop struct {
		Variable Ident
		Second   *Ident // the variable of the values, if the loop is over the items of a dict
		In       Expression
	}
	// Operation is `left op right`; Op is one of + - * / % ** == != < <= > >= and, or, in, "not
	// in".
	Operation struct {
		Span
		Op          string
		At          int32 // index of the operator token
		Left, Right Expression
	}
	// Not is `not value`.
	Not struct {
		Span
		Value Expression
	}
	// Condition is `if ? then : else`.
	Condition struct {
		Span
		If, Then, Else Expression
	}
	// Defined is `value is defined`; Value is a Ref, an Attr or a Lookup.
	Defined struct {
		Span
		Value Expression
	}
	// Group is `(value)`.
	Group struct {
		Span
		Value Expression
	}
	// Bad is a placeholder for an invalid expression.
	Bad struct{ Span }
)

func (*Import) statement()         {}
func (*Entity) statement()         {}
func (*Typedef) statement()        {}
func (*Index) statement()          {}
func (*Implementation) statement() {}
func (*Implement) statement()      {}
func (*Relation) statement()       {}
func (*Assign) statement()         {}
func (*For) statement()            {}
func (*If) statement()             {}
func (*Bare) statement()           {}

func (*Number) expression()        {}
func (*Constant) expression()      {}
func (*Text) expression()          {}
func (*Format) expression()        {}
func (*FText) expression()         {}
func (*Pattern) expression()       {}
func (*Ref) expression()           {}
func (*Attr) expression()          {}
func (*Lookup) expression()        {}
func (*IndexLookup) expression()   {}
func (*Construct) expression()     {}
func (*Call) expression()          {}
func (*List) expression()          {}
func (*Dict) expression()          {}
func (*Comprehension) expression() {}
func (*Operation) expression()     {}
func (*Not) expression()           {}
func (*Condition) expression()     {}
func (*Defined) expression()       {}
func (*Group) expression()         {}
func (*Bad) expression()           {}
