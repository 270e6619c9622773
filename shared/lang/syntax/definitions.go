package syntax

import (
	"math/big"
	"strings"
)

// name parses a name that starts with a lower-case letter. what describes the name in messages.
func (p *parser) name(what string) Ident {
	t := p.peek()
	switch t.Kind {
	case TypeName:
		p.fail(CodeName, t, "begin it with a small letter",
			"expected %s, and %s begins with a capital one, as entities do", what, t.Text)
	case Name:
	default:
		p.expected(what, "")
	}
	p.plain(t)
	at := p.step()
	return Ident{Span{at, at}, t.Text}
}

// plain reports a hyphen in a name. The scanner reads a hyphen as part of the name.
func (p *parser) plain(t *Token) {
	if i := strings.IndexByte(t.Text, '-'); i >= 0 {
		p.report(CodeName, t, "write _ in a name, and blanks around a minus: "+t.Text[:i]+" - "+
			t.Text[i+1:], "the name %s holds a hyphen", t.Text)
	}
}

// path parses a name, or names joined by ::, which all start with lower-case letters.
func (p *parser) path(what string) Path {
	from := p.at
	n := p.name(what)
	for p.peek().is("::") && p.ahead(1).Kind != TypeName {
		p.step()
		n.Text += "::" + p.name("a name").Text
	}
	n.Span = p.since(from)
	return n
}

// entityPath parses the name of an entity, with an optional namespace. If there is none, it returns
// false and may have consumed the namespace.
func (p *parser) entityPath() (Path, bool) {
	from, text := p.at, ""
	for p.peek().Kind == Name && p.ahead(1).is("::") {
		text += p.peek().Text + "::"
		p.at += 2
	}
	t := p.peek()
	if t.Kind != TypeName {
		return Path{}, false
	}
	p.plain(t)
	p.step()
	return Path{p.since(from), text + t.Text}, true
}

// entityName parses a required name of an entity.
func (p *parser) entityName() Path {
	from := p.peek()
	n, ok := p.entityPath()
	if !ok {
		if from.Kind == Name && p.peek().Kind != Keyword {
			p.fail(CodeName, from, "names of entities begin with a capital letter",
				"expected the name of an entity, found %s", from.Text)
		}
		p.expected("the name of an entity", "")
	}
	return n
}

// doc parses a docstring.
func (p *parser) doc() *Text {
	at := p.step()
	return &Text{Span{at, at}, p.decoded(at)}
}

// optionalDoc parses the docstring after a definition, if there is one.
func (p *parser) optionalDoc() *Text {
	if p.peek().Kind == Block {
		return p.doc()
	}
	return nil
}

func (p *parser) imports() Statement {
	from := p.step()
	out := &Import{Module: p.path("the name of a module")}
	if p.sign("as", NoRole) {
		as := p.name("a name")
		out.As = &as
	}
	out.Span = p.since(from)
	return out
}

func (p *parser) entity() Statement {
	from := p.step()
	p.heading = true
	t := p.peek()
	if t.Kind == Name {
		p.report(CodeName, t, "write it such as "+strings.ToUpper(t.Text[:1])+
			strings.ReplaceAll(t.Text[1:], "-", "_"),
			"the name of an entity begins with a capital letter")
	} else if t.Kind != TypeName {
		p.expected("the name of an entity", "")
	}
	p.plain(t)
	p.step()
	out := &Entity{Name: Ident{p.since(p.at - 1), t.Text}}
	if p.sign("extends", NoRole) {
		out.Extends = append(out.Extends, p.entityName())
		for p.sign(",", NoRole) {
			out.Extends = append(out.Extends, p.entityName())
		}
	}
	p.opensBlock("write it such as `entity Host extends std::Entity:`")
	out.Doc = p.optionalDoc()
	for !p.sign("end", NoRole) {
		if p.leavesEntity() {
			p.unended(block{name: "the entity " + out.Name.Text, from: from},
				"write `end` behind the last attribute")
		}
		p.recovering(func() Statement {
			out.Attributes = append(out.Attributes, p.attribute())
			return nil
		}, func(*Token) bool { return true })
	}
	out.Span = p.since(from)
	return out
}

func (p *parser) attribute() *Attribute {
	from := p.at
	out := &Attribute{}
	isDict := p.peek().is("dict")
	if isDict {
		p.step()
		out.Type.Name = Path{p.since(from), "dict"}
	} else {
		out.Type.Name = p.path("the name of a type")
		if p.peek().is("[") && p.ahead(1).is("]") {
			p.sign("[", Multiplicity)
			p.step()
			out.Type.List = true
		}
	}
	out.Type.Nullable = p.sign("?", Nullable)
	out.Type.Span = p.since(from)
	if p.peek().is(":") {
		p.expected("the name of an attribute", "the type stands before it: string name")
	}
	out.Name = p.name("the name of an attribute")
	if p.sign("=", Assigns) {
		p.defaultOf(out, isDict)
	}
	out.Span = p.since(from)
	return out
}

// defaultOf parses the default of an attribute.
func (p *parser) defaultOf(a *Attribute, isDict bool) {
	t := p.peek()
	switch {
	case isDict && t.is("null") && !a.Type.Nullable:
		p.fail(CodeSyntax, t, "write dict? "+a.Name.Text+" = null", "a dict is never null")
	case isDict && t.is("null"), isDict && t.is("{"):
		a.Default = p.primary()
	case isDict:
		p.expected("a dictionary", "write it such as {} or {\"key\": 1}")
	case p.sign("undef", NoRole):
		a.Undef = true
	case t.is("["):
		a.Default = p.constants()
	default:
		a.Default = p.constant()
		if a.Default == nil {
			p.expected("a constant",
				"the default of an attribute is a number, a text, true, false, null, or a list "+
					"or a dict of these")
		}
	}
}

// constants parses a list of constants.
func (p *parser) constants() Expression {
	from := p.step()
	out := &List{}
	for !p.sign("]", NoRole) {
		e := p.constant()
		if e == nil {
			p.expected("a constant or `]`",
				"the default of an attribute holds nothing that has to be computed")
		}
		out.Items = append(out.Items, e)
		if !p.sign(",", NoRole) && !p.peek().is("]") {
			p.expected("`,` or `]`", "")
		}
	}
	out.Span = p.since(from)
	return out
}

func (p *parser) typedef() Statement {
	from := p.step()
	if t := p.peek(); t.Kind == TypeName {
		p.fail(CodeSyntax, t, "give the attributes of the entity defaults instead",
			"default constructors are no longer part of the language")
	}
	out := &Typedef{Name: p.name("the name of a type")}
	p.want("as", NoRole, "write it such as `typedef port as int matching self > 0`")
	out.Base = p.path("the name of a type")
	switch t := p.peek(); {
	case t.Kind == Regex:
		out.Matching = p.constant()
	case p.sign("matching", NoRole):
		out.Matching = p.expression()
	default:
		p.expected("`matching`", "write it such as `typedef port as int matching self > 0`")
	}
	out.Doc = p.optionalDoc()
	out.Span = p.since(from)
	return out
}

func (p *parser) index() Statement {
	from := p.step()
	out := &Index{Entity: p.entityName()}
	p.want("(", Calls, "write it such as `index Host(name)`")
	out.Attributes = append(out.Attributes, p.name("the name of an attribute"))
	for p.sign(",", NoRole) {
		out.Attributes = append(out.Attributes, p.name("the name of an attribute"))
	}
	p.want(")", NoRole, "")
	out.Span = p.since(from)
	return out
}

func (p *parser) implementation() Statement {
	from := p.step()
	p.heading = true
	out := &Implementation{Name: p.name("the name of an implementation")}
	p.want("for", NoRole, "write it such as `implementation files for Host:`")
	out.Entity = p.entityName()
	p.opensBlock("a `:` stands before the statements")
	out.Doc = p.optionalDoc()
	out.Body = p.block("the implementation "+out.Name.Text, from, "end")
	p.step()
	out.Span = p.since(from)
	return out
}

func (p *parser) implement() Statement {
	from := p.step()
	out := &Implement{Entity: p.entityName()}
	p.want("using", NoRole, "write it such as `implement Host using files`")
	for {
		if p.sign("parents", NoRole) {
			out.Parents = true
		} else {
			out.Using = append(out.Using, p.path("the name of an implementation"))
		}
		if !p.sign(",", NoRole) {
			break
		}
	}
	if p.sign("when", NoRole) {
		out.When = p.expression()
	}
	out.Doc = p.optionalDoc()
	out.Span = p.since(from)
	return out
}

// relation parses the rest of a relation after the name of the first entity.
func (p *parser) relation(entity Path) Statement {
	out := &Relation{Left: p.end(entity)}
	if p.peek().Kind == Rel {
		p.step()
	} else {
		out.Annotations = p.annotations()
	}
	right := p.entityName()
	if p.peek().is(".") {
		out.Right = p.end(right)
	} else {
		out.Right = End{Span: right.Span, Entity: right}
	}
	out.Doc = p.optionalDoc()
	out.Span = p.spanFrom(entity)
	return out
}

// end parses `.name [bounds]` after the name of an entity.
func (p *parser) end(entity Path) End {
	p.want(".", NoRole, "")
	out := End{Entity: entity, Name: p.name("the name of a relation")}
	out.Bounds = p.bounds()
	out.Span = p.spanFrom(entity)
	return out
}

const boundsHint = "write how many there are: [1], [0:1], [0:] or [2:4]"

func (p *parser) bounds() Bounds {
	from := p.at
	p.want("[", Multiplicity, boundsHint)
	out := Bounds{Lower: p.bound()}
	switch {
	case p.sign(":", BoundColon):
		out.Upper = p.bound()
		if out.Lower == nil && out.Upper == nil {
			p.expected("a number", boundsHint)
		} else if out.Lower == nil {
			out.Lower = new(big.Int)
		}
	case out.Lower == nil:
		p.expected("a number", boundsHint)
	default:
		out.Upper = out.Lower
	}
	p.want("]", NoRole, boundsHint)
	out.Span = p.since(from)
	return out
}

func (p *parser) bound() *big.Int {
	if p.peek().Kind != Int {
		return nil
	}
	n, _ := new(big.Int).SetString(p.peek().Text, 10) // the scanner has checked the syntax
	p.step()
	return n
}

// annotations parses the expressions between the two ends of a relation.
func (p *parser) annotations() []Expression {
	from := p.at
	_, entity := p.entityPath()
	value := p.peek().is("(") || p.peek().is("[")
	if p.at = from; entity && !value || p.peek().Kind == EOF {
		p.expected("`--`", "write it such as Host.files [0:] -- File.host [1]")
	}
	out := []Expression{p.expression()}
	for p.sign(",", NoRole) {
		out = append(out, p.expression())
	}
	return out
}
