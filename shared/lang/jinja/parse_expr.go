package jinja

import (
	"southbound/shared/lang/types"
)

// expression parses an expression, including "x if y else z".
func (p *parser) expression() (expr, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	x, err := p.or()
	for err == nil && p.skip(tName, "if") {
		c := &condExpr{then: x}
		p.branches++
		if c.test, err = p.or(); err == nil && p.skip(tName, "else") {
			c.rest, err = p.expression()
		}
		p.branches--
		x = c
	}
	return x, err
}

// chain parses operands joined by operators of one precedence, from left to right.
func (p *parser) chain(operand func() (expr, error), ops ...string) (expr, error) {
	left, err := operand()
	for err == nil {
		op := ""
		for _, o := range ops {
			if p.op(o) {
				op = o
			}
		}
		if op == "" {
			return left, nil
		}
		p.next()
		var right expr
		right, err = operand()
		left = &binExpr{op, left, right}
	}
	return nil, err
}

func (p *parser) or() (expr, error)  { return p.logic("or", p.and) }
func (p *parser) and() (expr, error) { return p.logic("and", p.not) }

// logic parses operands that are joined by a word; next parses an operand.
func (p *parser) logic(word string, next func() (expr, error)) (expr, error) {
	left, err := next()
	for err == nil && p.skip(tName, word) {
		var right expr
		right, err = next()
		left = &logicExpr{word == "and", left, right}
	}
	return left, err
}

func (p *parser) not() (expr, error) {
	if !p.skip(tName, "not") {
		return p.compare()
	}
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	x, err := p.not()
	return &notExpr{x}, err
}

func (p *parser) compare() (expr, error) {
	first, err := p.sum()
	if err != nil {
		return nil, err
	}
	c := &compareExpr{first: first}
	for {
		op := ""
		t := p.now()
		switch {
		case t.kind == tOperator &&
			(t.text == "==" || t.text == "!=" || t.text == "<" || t.text == "<=" || t.text == ">" ||
				t.text == ">="):
			op = t.text
		case p.word("in"):
			op = "in"
		case p.word("not") && p.ahead().kind == tName && p.ahead().text == "in":
			p.next()
			op = "not in"
		}
		if op == "" {
			break
		}
		p.next()
		x, err := p.sum()
		if err != nil {
			return nil, err
		}
		c.ops, c.rest = append(c.ops, op), append(c.rest, x)
	}
	if len(c.ops) == 0 {
		return first, nil
	}
	return c, nil
}

func (p *parser) sum() (expr, error) { return p.chain(p.concat, "+", "-") }

func (p *parser) concat() (expr, error) {
	x, err := p.product()
	if err != nil || !p.op("~") {
		return x, err
	}
	c := &concatExpr{items: []expr{x}}
	for p.skip(tOperator, "~") {
		if x, err = p.product(); err != nil {
			return nil, err
		}
		c.items = append(c.items, x)
	}
	return c, nil
}

func (p *parser) product() (expr, error) { return p.chain(p.power, "*", "/", "//", "%") }

// power is left-associative, unlike in Python.
func (p *parser) power() (expr, error) {
	return p.chain(func() (expr, error) { return p.unary(true) }, "**")
}

func (p *parser) unary(filtered bool) (expr, error) {
	var x expr
	var err error
	if p.op("-") || p.op("+") {
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer p.leave()
		op := p.next().text
		if x, err = p.unary(false); err == nil {
			x = &signExpr{op, x}
		}
	} else {
		x, err = p.primary()
	}
	if err != nil {
		return nil, err
	}
	if x, err = p.postfix(x); err != nil || !filtered {
		return x, err
	}
	return p.filters(x)
}

var constants = map[string]types.Value{
	"true":  true,
	"True":  true,
	"false": false,
	"False": false,
	"none":  types.Null{},
	"None":  types.Null{},
}

func assignable(name string) bool {
	_, constant := constants[name]
	return !constant
}

func (p *parser) primary() (expr, error) {
	t := p.now()
	switch {
	case t.kind == tName:
		p.next()
		if v, ok := constants[t.text]; ok {
			return &constExpr{v}, nil
		}
		p.special(t.text)
		return &nameExpr{t.text}, nil
	case t.kind == tString:
		text := ""
		for p.now().kind == tString {
			text += p.next().text
		}
		return &constExpr{text}, nil
	case t.kind == tNumber:
		p.next()
		return &constExpr{t.value}, nil
	case p.skip(tOperator, "("):
		x, err := p.tuple(tupleRules{cond: true, brackets: true})
		if err != nil {
			return nil, err
		}
		return x, p.expectOp(")")
	case p.skip(tOperator, "["):
		items, err := p.items("]")
		return &listExpr{items}, err
	case p.skip(tOperator, "{"):
		return p.dict()
	}
	return nil, p.unexpected("an expression")
}

// special records that a macro reads one of its special names.
func (p *parser) special(name string) {
	if len(p.macros) == 0 {
		return
	}
	m := p.macros[len(p.macros)-1]
	switch name {
	case "varargs":
		m.varargs = true
	case "kwargs":
		m.kwargs = true
	case "caller":
		m.caller = true
	}
}

func (p *parser) items(end string) ([]expr, error) {
	var out []expr
	for !p.op(end) {
		if len(out) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		if p.op(end) {
			break
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, p.expectOp(end)
}

func (p *parser) dict() (expr, error) {
	d := &dictExpr{}
	for !p.op("}") {
		if len(d.keys) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		if p.op("}") {
			break
		}
		k, err := p.expression()
		if err != nil {
			return nil, err
		}
		if err := p.expectOp(":"); err != nil {
			return nil, err
		}
		v, err := p.expression()
		if err != nil {
			return nil, err
		}
		d.keys, d.values = append(d.keys, k), append(d.values, v)
	}
	return d, p.expectOp("}")
}

// tupleRules define the items of a tuple and its end.
type tupleRules struct {
	cond     bool   // items may be "x if y"
	brackets bool   // it is in brackets, and may be empty
	end      string // a name that ends it
}

// tuple parses an expression, or several separated by commas.
func (p *parser) tuple(r tupleRules) (expr, error) {
	read := p.or
	if r.cond {
		read = p.expression
	}
	var items []expr
	comma := false
	for {
		if len(items) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		if p.tupleEnds(r.end) {
			break
		}
		x, err := read()
		if err != nil {
			return nil, err
		}
		items = append(items, x)
		if !p.op(",") {
			break
		}
		comma = true
	}
	switch {
	case comma || len(items) == 0 && r.brackets:
		return &tupleExpr{items}, nil
	case len(items) == 0:
		return nil, p.unexpected("an expression")
	}
	return items[0], nil
}

func (p *parser) tupleEnds(end string) bool {
	t := p.now()
	return t.kind == tPrintEnd || t.kind == tTagEnd || p.op(")") || end != "" && p.word(end)
}

// target parses the target of an assignment. end is the name that follows it.
func (p *parser) target(namespace bool, end string) (target, error) {
	if namespace && p.now().kind == tName && p.ahead().kind == tOperator && p.ahead().text == "." {
		of := p.next().text
		p.next()
		name, err := p.name("the name of an attribute")
		return attrTarget{of, name}, err
	}
	var items tupleTarget
	comma := false
	for {
		if len(items) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		if p.tupleEnds(end) {
			break
		}
		x, err := p.oneTarget()
		if err != nil {
			return nil, err
		}
		items = append(items, x)
		if !p.op(",") {
			break
		}
		comma = true
	}
	switch {
	case len(items) == 0:
		return nil, p.unexpected("a name")
	case comma:
		return items, nil
	}
	return items[0], nil
}

func (p *parser) oneTarget() (target, error) {
	if p.skip(tOperator, "(") {
		if err := p.enter(); err != nil {
			return nil, err
		}
		defer p.leave()
		x, err := p.target(false, "")
		if err != nil {
			return nil, err
		}
		return x, p.expectOp(")")
	}
	t := p.now()
	if t.kind != tName || !assignable(t.text) {
		return nil, p.failAt(t.line, "%s cannot be assigned to", t)
	}
	p.next()
	return nameTarget(t.text), nil
}
