package syntax

import "math/big"

// Span is where a node stands: the numbers of its first and of its last token in File.Tokens.
type Span struct{ From, To int32 }

// Tokens returns the span itself; with it every node is a Node.
func (s Span) Tokens() Span { return s }

// Node is a part of the tree.
type Node interface{ Tokens() Span }

// File is a text that was read. After problems it holds what could be read.
type File struct {
	Text   string
	Tokens []Token // without comments; the last one is EOF
	// Comments are those of the text, in order.
	Comments []Token
	Doc      *Text // the text over lines with which the file begins; nil for none
	Body     []Statement
}

// NumeralHint says how numbers are written.
const NumeralHint = "write a number with all its digits, such as 1000 or 0.001"

// Numeral returns what other languages read as one number, such as 1e3, 0x10 or 1_000, if the token
// at hand is the name that this language sees behind its first digits; otherwise "".
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

// Declaration says how a variable is made.
func Declaration(name string) string {
	return "a variable has no type, and no word stands before it: write " + name + " = ..."
}

// Declared returns the variable that is assigned directly behind a name, on the same line: other
// languages say there of which type it is, or that it is one. Otherwise "".
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

// Pos returns where a node begins, and End where it ends.
func (f *File) Pos(n Node) Pos { return f.Tokens[n.Tokens().From].Pos }

// End returns the place behind a node.
func (f *File) End(n Node) Pos { return f.Tokens[n.Tokens().To].End() }

// Ident is a name, or names joined by ::.
type Ident struct {
	Span
	Text string
}

// Path is a reference to an entity, a type, a plugin or a variable: a::b::C.
type Path = Ident

// Statement is what stands by itself: a definition, an assignment, a loop, a condition, an
// expression.
type Statement interface {
	Node
	statement()
}

// Expression has a value.
type Expression interface {
	Node
	expression()
}

// Definitions, which only stand at the top of a file.
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
		Default Expression // nil for none
		Undef   bool       // = undef: no default, whatever the parents have
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
		When    Expression // nil for none
		Doc     *Text
	}
	// Relation is `A.b [m] -- B.a [n]`. Right.Name is empty where it goes one way.
	Relation struct {
		Span
		Left, Right End
		Annotations []Expression
		Doc         *Text
	}
	// End is one end of a relation: at Entity, Name leads to Bounds of the entity at the other end.
	End struct {
		Span
		Entity Path
		Name   Ident
		Bounds Bounds
	}
	// Bounds is a multiplicity. Upper is nil where there is no limit.
	Bounds struct {
		Span
		Lower, Upper *big.Int
	}
)

// Statements of blocks.
type (
	// Assign is `a.b = value`, or += when Extend.
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
		In       Expression
		Body     []Statement
	}
	// If is `if c: … elif d: … else: … end`. An elif is an If that is alone in Else.
	If struct {
		Span
		Condition Expression
		Then      []Statement
		Else      []Statement
	}
	// Bare is an expression that stands by itself. Its value is dropped.
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
	// Text is a literal without anything put in.
	Text struct {
		Span
		Value string
	}
	// Format is a text into which values are put, by {{ name }}.
	Format struct {
		Span
		Parts []Part
	}
	// FText is an f-string.
	FText struct {
		Span
		Parts []Part
	}
	// Part is a piece of a Format or an FText: literal text, or a value when Path is not empty.
	Part struct {
		Text       string
		Path       []string // of a value: a variable, perhaps with ::, and attributes
		Conversion byte     // of an f-string: r, s, a or 0
		Spec       []Part   // of an f-string: how it is formatted
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
	// IndexLookup is `X[a=1]`, or `of.relation[a=1]` when Of is not nil.
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
	// Arg is an argument: a value, `name=value`, or `**value` when Spread.
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
		In       Expression
	}
	// Operation is `left op right`; Op is one of + - * / % ** == != < <= > >= and, or, in, "not
	// in".
	Operation struct {
		Span
		Op          string
		At          int32 // the token of the operator
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
	// Defined is `value is defined`, of a Ref, an Attr or a Lookup.
	Defined struct {
		Span
		Value Expression
	}
	// Group is `(value)`.
	Group struct {
		Span
		Value Expression
	}
	// Bad stands where an expression could not be read.
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
