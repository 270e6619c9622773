package jinja

// The tags that combine templates: block, extends, include, import and from.

func (p *parser) blockTag(at int) (node, error) {
	name, err := p.name("the name of the block")
	if err != nil {
		return nil, err
	}
	b := &blockNode{line: line(at), name: name, tpl: p.tpl}
	b.scoped = p.skip(tName, "scoped")
	b.required = p.skip(tName, "required")
	if p.op("-") {
		return nil, p.failAt(at, "the name of a block holds letters, digits and _, not -")
	}
	if _, twice := p.tpl.blocks[name]; twice {
		return nil, p.failAt(at, "the block %q is defined twice", name)
	}
	p.tpl.blocks[name] = b
	if b.body, _, err = p.until("endblock"); err != nil {
		return nil, err
	}
	p.skip(tName, name)
	return b, nil
}

func (p *parser) extendsTag(at int) (node, error) {
	x, err := p.expression()
	return &extendsNode{line(at), x}, err
}

// withContext parses "with context" or "without context".
func (p *parser) withContext(otherwise bool) bool {
	t := p.now()
	if t.kind == tName && (t.text == "with" || t.text == "without") && p.ahead().kind == tName &&
		p.ahead().text == "context" {
		p.next()
		p.next()
		return t.text == "with"
	}
	return otherwise
}

func (p *parser) includeTag(at int) (node, error) {
	x, err := p.expression()
	if err != nil {
		return nil, err
	}
	n := &includeNode{line: line(at), what: x}
	if p.word("ignore") && p.ahead().kind == tName && p.ahead().text == "missing" {
		p.next()
		p.next()
		n.ignoreMissing = true
	}
	n.context = p.withContext(true)
	return n, nil
}

func (p *parser) importTag(at int) (node, error) {
	x, err := p.expression()
	if err != nil {
		return nil, err
	}
	if !p.skip(tName, "as") {
		return nil, p.unexpected(`"as"`)
	}
	as, err := p.name("a name")
	n := &importNode{line: line(at), what: x, as: as}
	n.context = p.withContext(false)
	return n, err
}

func (p *parser) fromTag(at int) (node, error) {
	x, err := p.expression()
	if err != nil {
		return nil, err
	}
	if !p.skip(tName, "import") {
		return nil, p.unexpected(`"import"`)
	}
	n := &fromNode{line: line(at), what: x}
	for {
		name, err := p.name("a name")
		if err != nil {
			return nil, err
		}
		if name[0] == '_' {
			return nil, p.failAt(at, "%q begins with _ and cannot be imported", name)
		}
		as := name
		if p.skip(tName, "as") {
			if as, err = p.name("a name"); err != nil {
				return nil, err
			}
		}
		n.names = append(n.names, [2]string{name, as})
		if n.context = p.withContext(false); n.context || p.now().kind != tOperator {
			break
		}
		if err := p.expectOp(","); err != nil {
			return nil, err
		}
		if p.now().kind == tTagEnd {
			break
		}
	}
	return n, nil
}
