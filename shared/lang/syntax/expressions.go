package syntax

import (
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// The precedences of operators, in ascending order. `not` binds stronger than arithmetic, and `in`
// stronger than `not`, as in the reference compiler.
const (
	lowest = iota
	ofCondition
	ofOr
	ofAnd
	ofCompare
	ofSum
	ofProduct
	ofPower
	ofNot
	ofIn
)

// infix returns the operator at the current token, its left binding power (pulls) and its right
// binding power (holds); "" if the token is no operator.
func (p *parser) infix() (op string, pulls, holds int) {
	t := p.peek()
	if t.Kind == Compare {
		return t.Text, ofCompare, ofCompare
	}
	if t.Kind != Punct && t.Kind != Keyword {
		return "", 0, 0
	}
	switch t.Text {
	case "or":
		return "or", ofOr, ofOr
	case "and":
		return "and", ofAnd, ofAnd
	case "+", "-":
		return t.Text, ofSum, ofSum
	case "*", "/", "%":
		return t.Text, ofProduct, ofProduct
	case "**":
		return t.Text, ofPower, ofPower
	case "in":
		return "in", ofIn, ofIn
	case "not":
		if !p.ahead(1).is("in") {
			p.fail(CodeSyntax, t, "write `not in`, or put an operator before it",
				"`not` cannot stand behind a value")
		}
		return "not in", ofNot, ofIn
	}
	return "", 0, 0
}

// expression parses an expression.
func (p *parser) expression() Expression { return p.above(lowest) }

// above parses an expression whose operators bind stronger than precedence.
func (p *parser) above(precedence int) (left Expression) {
	p.nested(func() {
		left = p.operand()
		for n := 0; ; n++ {
			p.short(n)
			if p.peek().is("?") && precedence < ofCondition {
				left = p.conditionOf(left)
				continue
			}
			op, pulls, holds := p.infix()
			if op == "" || pulls <= precedence {
				return
			}
			at := p.at
			p.peek().Role = Binary
			p.step()
			if op == "not in" {
				p.step()
			}
			right := p.above(holds)
			left = &Operation{Span: p.spanFrom(left), Op: op, At: at, Left: left, Right: right}
		}
	})
	return left
}

// conditionOf parses `? a : b` after a condition.
func (p *parser) conditionOf(condition Expression) Expression {
	p.sign("?", Binary)
	out := &Condition{If: condition, Then: p.expression()}
	p.want(":", ElseColon, "a condition is written `test ? value : other value`")
	out.Else = p.above(lowest)
	out.Span = p.spanFrom(condition)
	return out
}

// operand parses an operand of an operator.
func (p *parser) operand() Expression {
	if t := p.peek(); t.is("not") {
		from := p.step()
		value := p.above(ofNot)
		if p.peek().is("not") {
			p.fail(CodeSyntax, p.peek(), "write `not (a not in b)`, or `a in b`",
				"the operand of this `not` is ambiguous")
		}
		return &Not{p.since(from), value}
	}
	return p.primary()
}

func (p *parser) primary() Expression {
	t := p.peek()
	switch {
	case t.Kind == Name || t.Kind == TypeName:
		return p.named()
	case t.is("("):
		from := p.step()
		value := p.expression()
		p.want(")", NoRole, "")
		return &Group{p.since(from), value}
	case t.is("["):
		return p.list()
	case t.is("{"):
		return p.dict()
	}
	if e := p.constant(); e != nil {
		return e
	}
	if t.Kind == Unknown {
		at := p.step()
		return &Bad{Span{at, at}}
	}
	hint := ""
	switch {
	case t.is("-"):
		hint = "a sign belongs to the number that it touches: write 0 - x"
	case t.is("/") && (p.firstOnLine() || p.tokens[p.at-1].is("/")):
		hint = "# begins a comment"
	}
	p.expected("a value", hint)
	return nil
}

// constant parses a literal. If there is none, it returns nil and consumes nothing.
func (p *parser) constant() Expression {
	at, t := p.at, p.peek()
	span := Span{at, at}
	switch {
	case t.Kind == Int:
		p.step()
		return &Number{Span: span, Int: whole(t.Text)}
	case t.Kind == Float:
		// the scanner has checked the syntax; a value that is too large becomes infinity, as in the
		// reference compiler
		f, _ := strconv.ParseFloat(t.Text, 64)
		p.step()
		return &Number{Span: span, Float: f}
	case t.Kind == String || t.Kind == Block:
		p.step()
		return p.format(at)
	case t.Kind == Raw:
		p.step()
		return &Text{span, p.decoded(at)}
	case t.Kind == FString:
		p.step()
		return p.ftext(at)
	case t.Kind == Regex:
		p.step()
		return &Pattern{span, t.Text[strings.IndexByte(t.Text, '/')+1 : len(t.Text)-1]}
	case t.is("true"), t.is("false"), t.is("null"):
		p.step()
		return &Constant{span, t.Text}
	}
	return nil
}

// whole returns the number of a text of digits, whose syntax the scanner has checked.
func whole(text string) *big.Int {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return big.NewInt(n)
	}
	n, _ := new(big.Int).SetString(text, 10)
	return n
}

// named parses an expression that starts with a name: a variable with attributes, a call, a
// constructor, or a lookup.
func (p *parser) named() Expression {
	from := p.at
	if entity, ok := p.entityPath(); ok {
		return p.ofEntity(entity)
	}
	p.at = from
	name := p.path("a name")
	if p.peek().is("(") {
		args := p.args("(", ")", true)
		return p.noAttribute(&Call{p.since(from), name, args})
	}
	return p.lookups(p.attributes(&Ref{name.Span, name}))
}

// constants maps words of other languages, which look like names of entities, to the constants of
// this language.
var constants = map[string]string{
	"True": "true", "False": "false", "None": "null", "Null": "null", "TRUE": "true",
	"FALSE": "false", "NULL": "null", "NONE": "null",
}

// ofEntity parses the rest of an expression after the name of an entity.
func (p *parser) ofEntity(entity Path) Expression {
	switch t := p.peek(); {
	case t.is("("):
		args := p.args("(", ")", false)
		return p.noAttribute(&Construct{p.spanFrom(entity), entity, args})
	case t.is("["):
		args := p.args("[", "]", false)
		return p.noAttribute(&IndexLookup{Span: p.spanFrom(entity), Entity: entity, Args: args})
	}
	if word, ok := constants[entity.Text]; ok {
		at := &p.tokens[entity.From]
		p.report(CodeSyntax, at, "write "+word, "there is no %s", entity.Text)
		return &Constant{entity.Span, word}
	}
	p.expected("`(` or `[` behind the name of an entity",
		"write "+entity.Text+"(name=value) for a new instance, "+entity.Text+
			"[name=value] for one that there is")
	return nil
}

// maxChain is the largest number of chained parts of an expression. Each part is a level of the
// tree.
const maxChain = 10_000

// short rejects an expression with too many chained parts.
func (p *parser) short(n int) {
	if n > maxChain {
		p.fail(CodeTooDeep, p.peek(), "give parts of it names of their own",
			"this expression has more than %d parts", maxChain)
	}
}

// attributes parses any number of `.name`.
func (p *parser) attributes(of Expression) Expression {
	for n := 0; p.peek().is("."); n++ {
		p.short(n)
		p.step()
		if t := p.peek(); t.Kind == TypeName {
			p.fail(CodeNamespace, t, "write :: between a namespace and a name",
				"an attribute begins with a small letter, and namespaces are not left by a dot")
		}
		name := p.name("the name of an attribute")
		of = &Attr{p.spanFrom(of), of, name}
	}
	if p.peek().is("(") {
		if _, attr := of.(*Attr); attr {
			p.fail(CodeNamespace, p.peek(), "write :: between a namespace and a plugin",
				"only plugins can be called, and a dot leads to an attribute")
		}
	}
	return of
}

// lookups parses `[key]`, `[name=value]` and `is defined` after a variable or an attribute.
func (p *parser) lookups(of Expression) Expression {
	for n := 0; p.peek().is("["); n++ {
		p.short(n)
		if attr, ok := of.(*Attr); ok && p.beginsArgs() {
			args := p.args("[", "]", false)
			return p.noAttribute(&IndexLookup{Span: p.spanFrom(attr), Of: attr, Args: args})
		}
		p.sign("[", Calls)
		key := p.expression()
		p.want("]", NoRole, "")
		of = &Lookup{p.spanFrom(of), of, key}
	}
	if p.peek().is("is") {
		if r, ok := of.(*Ref); ok && strings.Contains(r.Name.Text, "::") {
			p.fail(CodeSyntax, p.peek(), "",
				"`is defined` asks for variables of this namespace, and for attributes")
		}
		p.step()
		p.want("defined", NoRole, "write `is defined`")
		return &Defined{p.spanFrom(of), of}
	}
	if _, ok := of.(*Lookup); ok {
		return p.noAttribute(of)
	}
	return of
}

// beginsArgs reports whether the current bracket holds arguments rather than a key.
func (p *parser) beginsArgs() bool {
	a, b := p.ahead(1), p.ahead(2)
	return a.is("]") || a.is("**") || a.Kind == Name && b.is("=")
}

// noAttribute rejects a dot after an expression that has no attributes in the grammar.
func (p *parser) noAttribute(e Expression) Expression {
	if p.peek().is(".") {
		p.fail(CodeSyntax, p.peek(), "assign it to a variable first: x = ..., and then x.name",
			"attributes can only be taken of variables and of other attributes")
	}
	return e
}

// args parses arguments between brackets. Only a call accepts values without names.
func (p *parser) args(open, end string, call bool) []Arg {
	p.sign(open, Calls)
	first := len(p.read)
	p.nested(func() {
		for !p.sign(end, NoRole) {
			p.read = append(p.read, p.arg(call))
			if !p.sign(",", NoRole) && !p.peek().is(end) {
				p.expected("`,` or `"+end+"`", "")
			}
		}
	})
	out := slices.Clone(p.read[first:])
	p.read = p.read[:first]
	if open == "(" {
		p.eachOnce(out)
	}
	return out
}

// eachOnce reports duplicate arguments.
func (p *parser) eachOnce(args []Arg) {
	const few = 8 // a small number of arguments is compared in pairs
	if len(args) <= few && !twice(args) {
		return
	}
	seen := map[string]*Token{}
	for i := range args {
		if name := args[i].Name; name != nil {
			t := &p.tokens[args[i].From]
			p.once(seen, name.Text, t, CodeDuplicateArgument, "the argument %s is there twice")
		}
	}
}

// twice reports whether two arguments have the same name.
func twice(args []Arg) bool {
	for i := range args {
		for j := range args[:i] {
			a, b := args[i].Name, args[j].Name
			if a != nil && b != nil && a.Text == b.Text {
				return true
			}
		}
	}
	return false
}

func (p *parser) arg(call bool) Arg {
	from := p.at
	a := Arg{}
	switch t := p.peek(); {
	case p.sign("**", Spreads):
		a.Spread = true
	case (t.Kind == Name || t.Kind == TypeName || t.Kind == Keyword) && p.ahead(1).is("="):
		name := p.name("the name of an argument")
		a.Name = &name
		p.sign("=", NamesArg)
	case !call && t.Kind == Name:
		p.step()
		p.expected("`=`", "an argument is written such as name = value")
	case !call:
		p.expected("the name of an argument",
			"write it such as name = value, or ** before a dictionary")
	}
	a.Value = p.expression()
	a.Span = p.since(from)
	return a
}

// once records a name, and reports a problem if it was recorded before.
func (p *parser) once(seen map[string]*Token, name string, t *Token, code, format string) {
	if first := seen[name]; first != nil {
		p.report(code, t, "remove one of the two", format, name)
		p.problems[len(p.problems)-1].Related = []Related{{first.Pos, "the first one"}}
		return
	}
	seen[name] = t
}

// list parses a list or a comprehension.
func (p *parser) list() Expression {
	from := p.step()
	out := &List{}
	for !p.sign("]", NoRole) {
		out.Items = append(out.Items, p.expression())
		if len(out.Items) == 1 && p.peek().is("for") {
			return p.comprehension(from, out.Items[0])
		}
		if !p.sign(",", NoRole) && !p.peek().is("]") {
			p.expected("`,` or `]`", "")
		}
	}
	out.Span = p.since(from)
	return out
}

func (p *parser) comprehension(from int32, value Expression) Expression {
	out := &Comprehension{Value: value}
	for p.sign("for", NoRole) {
		v, second := p.loopVariables()
		p.want("in", NoRole, "write it such as [x.name for x in hosts]")
		out.Loops = append(out.Loops, Loop{v, second, p.expression()})
	}
	for p.sign("if", NoRole) {
		out.If = append(out.If, p.expression())
	}
	p.want("]", NoRole, "")
	out.Span = p.since(from)
	return out
}

func (p *parser) dict() Expression {
	from := p.step()
	out := &Dict{}
	seen := map[string]*Token{}
	for !p.sign("}", NoRole) {
		t, at := p.peek(), p.at
		if t.Kind != String && t.Kind != Raw {
			p.expected("a text as a key", `write it such as {"key": value}`)
		}
		p.step()
		key := Text{Span{at, at}, p.decoded(at)}
		if t.Kind == String && hasValues(key.Value) {
			p.report(CodeFormat, t, "write r before the quote, if the braces are part of the key",
				"values cannot be put into a key")
		}
		p.once(seen, key.Value, t, CodeDuplicateKey, "the key %q is there twice")
		p.want(":", PairColon, `write it such as {"key": value}`)
		out.Pairs = append(out.Pairs, Pair{key, p.expression()})
		if !p.sign(",", NoRole) && !p.peek().is("}") {
			p.expected("`,` or `}`", "")
		}
	}
	out.Span = p.since(from)
	return out
}
