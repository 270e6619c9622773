package jinja

// postfix parses .name, [x] and (…) after an expression.
func (p *parser) postfix(x expr) (expr, error) {
	var err error
	for err == nil {
		switch {
		case p.skip(tOperator, "."):
			t := p.next()
			switch {
			case t.kind == tName:
				x = &attrExpr{x, t.text}
			case t.kind == tNumber:
				if _, ok := t.value.(int64); !ok {
					return nil, p.failAt(t.line, "expected a name or a number behind the point")
				}
				x = &itemExpr{x, &constExpr{t.value}}
			default:
				return nil, p.failAt(
					t.line,
					"unexpected %s, expected a name or a number behind the point",
					t,
				)
			}
		case p.skip(tOperator, "["):
			x, err = p.subscript(x)
		case p.op("("):
			x, err = p.call(x)
		default:
			return x, nil
		}
	}
	return nil, err
}

// call parses the arguments of a call.
func (p *parser) call(of expr) (expr, error) {
	args, err := p.arguments()
	return &callExpr{of: of, args: args}, err
}

func (p *parser) subscript(of expr) (expr, error) {
	var items []expr
	for !p.op("]") {
		if len(items) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		x, err := p.index(of)
		if err != nil {
			return nil, err
		}
		items = append(items, x)
	}
	if err := p.expectOp("]"); err != nil {
		return nil, err
	}
	if len(items) == 1 {
		if s, ok := items[0].(*sliceExpr); ok {
			return s, nil
		}
		return &itemExpr{of, items[0]}, nil
	}
	return &itemExpr{of, &tupleExpr{items}}, nil
}

// index parses the content of [ ]: an expression or a slice.
func (p *parser) index(of expr) (expr, error) {
	var parts [3]expr
	n := 0
	for !p.op("]") && !p.op(",") {
		if p.skip(tOperator, ":") {
			if n++; n > 2 {
				return nil, p.unexpected(`"]"`)
			}
			continue
		}
		if parts[n] != nil {
			return nil, p.unexpected(`"]"`)
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		parts[n] = x
	}
	if n == 0 {
		if parts[0] == nil {
			return nil, p.unexpected("an index")
		}
		return parts[0], nil
	}
	return &sliceExpr{of, parts[0], parts[1], parts[2]}, nil
}

func (p *parser) arguments() (arguments, error) {
	var a arguments
	if err := p.expectOp("("); err != nil {
		return a, err
	}
	comma := false
	for !p.op(")") {
		if comma {
			if err := p.expectOp(","); err != nil {
				return a, err
			}
			if p.op(")") {
				break
			}
		}
		if err := p.argument(&a); err != nil {
			return a, err
		}
		comma = true
	}
	return a, p.expectOp(")")
}

func (p *parser) argument(a *arguments) error {
	wrong := func() error {
		return p.failAt(
			p.now().line,
			"the arguments of a call are in the wrong order: first values, then named ones, then "+
				"*list, then **dict",
		)
	}
	var err error
	switch {
	case p.skip(tOperator, "*"):
		if a.list != nil || a.dict != nil {
			return wrong()
		}
		a.list, err = p.expression()
	case p.skip(tOperator, "**"):
		if a.dict != nil {
			return wrong()
		}
		a.dict, err = p.expression()
	case p.now().kind == tName && p.ahead().kind == tOperator && p.ahead().text == "=":
		if a.dict != nil {
			return wrong()
		}
		name := p.next().text
		p.next()
		var x expr
		x, err = p.expression()
		a.named = append(a.named, namedExpr{name, x})
	default:
		if a.list != nil || a.dict != nil || len(a.named) > 0 {
			return wrong()
		}
		var x expr
		x, err = p.expression()
		a.args = append(a.args, x)
	}
	return err
}

// filters parses | filters, tests and calls after an expression. x is nil for the text of a block.
func (p *parser) filters(x expr) (expr, error) {
	var err error
	for err == nil {
		switch {
		case p.skip(tOperator, "|"):
			x, err = p.filterOnce(x)
		case p.word("is") && x != nil:
			x, err = p.test(x)
		case p.op("(") && x != nil:
			x, err = p.call(x)
		default:
			return x, nil
		}
	}
	return nil, err
}

// filterChain parses the filters of a filter tag; there is no | before the first one.
func (p *parser) filterChain(x expr) (expr, error) {
	x, err := p.filterOnce(x)
	if err != nil {
		return nil, err
	}
	for p.skip(tOperator, "|") {
		if x, err = p.filterOnce(x); err != nil {
			return nil, err
		}
	}
	return x, nil
}

func (p *parser) dotted(what string) (string, error) {
	name, err := p.name(what)
	for err == nil && p.skip(tOperator, ".") {
		var more string
		more, err = p.name(what)
		name += "." + more
	}
	return name, err
}

func (p *parser) filterOnce(x expr) (expr, error) {
	at := p.now().line
	name, err := p.dotted("the name of a filter")
	if err != nil {
		return nil, err
	}
	f := &filterExpr{name: name, of: x}
	if p.branches == 0 {
		p.tpl.filters = append(p.tpl.filters, use{name, at})
	}
	if p.op("(") {
		f.args, err = p.arguments()
	}
	return f, err
}

func (p *parser) test(x expr) (expr, error) {
	p.next()
	negated := p.skip(tName, "not")
	at := p.now().line
	name, err := p.dotted("the name of a test")
	if err != nil {
		return nil, err
	}
	t := &testExpr{name: name, of: x}
	switch now := p.now(); {
	case p.op("("):
		t.args, err = p.arguments()
	case now.kind == tName && now.text == "is":
		return nil, p.failAt(at, "tests cannot be chained with is; join them with and")
	case now.kind == tNumber || now.kind == tString || p.op("[") || p.op("{") ||
		now.kind == tName && now.text != "else" && now.text != "or" && now.text != "and":
		var x expr
		if x, err = p.primary(); err == nil {
			x, err = p.postfix(x)
		}
		t.args.args = []expr{x}
	}
	if err != nil {
		return nil, err
	}
	if known := p.tpl.env.library().tests; p.branches == 0 && known[name].call == nil {
		return nil, p.failAt(at, "there is no test %q%s", name, nearest(name, known))
	}
	if negated {
		return &notExpr{t}, nil
	}
	return t, nil
}
