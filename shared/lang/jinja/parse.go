package jinja

import (
	"fmt"
	"slices"
)

// parser parses the statements of a template; parse_expr.go parses expressions.
//
// Large: a recursive-descent parser has a method for each rule of the grammar, and they share the
// position in the text.
type parser struct {
	tokens []token
	pos    int
	tpl    *Template
	ends   [][]string // of the open statements: the tags that end or divide them
	opened []token
	// branches counts the enclosing ifs: a missing filter in a branch is an error only when it is
	// called.
	branches int
	depth    int
	// macros are the enclosing macros. special records the special names that the innermost one
	// reads.
	macros []*macro
}

// maxNesting limits the nesting of statements and expressions.
const maxNesting = 500

func (p *parser) now() token { return p.tokens[p.pos] }

func (p *parser) next() token {
	t := p.tokens[p.pos]
	if p.pos < len(p.tokens)-1 {
		p.pos++
	}
	return t
}

func (p *parser) ahead() token { return p.tokens[min(p.pos+1, len(p.tokens)-1)] }

func (p *parser) is(kind tokenKind, text string) bool {
	return p.now().kind == kind && p.now().text == text
}

func (p *parser) op(text string) bool   { return p.is(tOperator, text) }
func (p *parser) word(text string) bool { return p.is(tName, text) }

// skip advances if the next token matches.
func (p *parser) skip(kind tokenKind, text string) bool {
	if p.is(kind, text) {
		p.next()
		return true
	}
	return false
}

func (p *parser) failAt(line int, format string, args ...any) error {
	return &lineError{line, fmt.Sprintf(format, args...)}
}

func (p *parser) unexpected(want string) error {
	return p.failAt(p.now().line, "unexpected %s, expected %s", p.now(), want)
}

func (p *parser) expectOp(text string) error {
	if !p.skip(tOperator, text) {
		return p.unexpected(fmt.Sprintf("%q", text))
	}
	return nil
}

func (p *parser) name(what string) (string, error) {
	if p.now().kind != tName {
		return "", p.unexpected(what)
	}
	return p.next().text, nil
}

// enter counts the nesting depth.
func (p *parser) enter() error {
	if p.depth++; p.depth > maxNesting {
		return p.failAt(p.now().line, "the template is nested more than %d deep", maxNesting)
	}
	return nil
}

func (p *parser) leave() { p.depth-- }

func (p *parser) template() ([]node, error) {
	body, err := p.body()
	if err != nil {
		return nil, err
	}
	return body, nil
}

// body parses statements up to a tag that an open statement expects, or to the end.
func (p *parser) body(ends ...string) ([]node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	if len(ends) > 0 {
		p.ends = append(p.ends, ends)
		defer func() { p.ends = p.ends[:len(p.ends)-1] }()
	}
	var out []node
	for {
		switch t := p.now(); t.kind {
		case tEnd:
			if len(ends) > 0 {
				return nil, p.failAt(
					t.line,
					"the template ends, but the block that begins in line %d is open: expected %s",
					p.opened[len(p.opened)-1].line,
					tags(ends),
				)
			}
			return out, nil
		case tData:
			p.next()
			out = append(out, &dataNode{line(t.line), t.text})
		case tPrintBegin:
			n, err := p.print()
			if err != nil {
				return nil, err
			}
			out = append(out, n)
		default: // a tag
			if tag := p.ahead(); tag.kind == tName && slices.Contains(ends, tag.text) {
				p.next()
				return out, nil
			}
			n, err := p.tag()
			if err != nil {
				return nil, err
			}
			if n != nil {
				out = append(out, n)
			}
		}
	}
}

func tags(names []string) string {
	out := ""
	for i, n := range names {
		if i > 0 {
			out += " or "
		}
		out += "{% " + n + " %}"
	}
	return out
}

func (p *parser) print() (node, error) {
	p.next()
	at := p.now().line
	x, err := p.tuple(tupleRules{cond: true})
	if err != nil {
		return nil, err
	}
	if p.now().kind != tPrintEnd {
		return nil, p.unexpected(`"}}"`)
	}
	p.next()
	return &printNode{line(at), x}, nil
}

// tag parses a statement, including its end tag.
func (p *parser) tag() (node, error) {
	p.next()
	t := p.now()
	if t.kind != tName {
		return nil, p.unexpected("the name of a tag")
	}
	p.opened = append(p.opened, t)
	defer func() { p.opened = p.opened[:len(p.opened)-1] }()
	read := map[string]func(int) (node, error){
		"if": p.ifTag, "for": p.forTag, "set": p.setTag, "with": p.withTag, "macro": p.macroTag,
		"call": p.callTag, "filter": p.filterTag,
		"autoescape": p.autoescapeTag, "block": p.blockTag, "extends": p.extendsTag,
		"include": p.includeTag, "import": p.importTag, "from": p.fromTag, "print": p.printTag,
	}[t.text]
	if read == nil {
		return nil, p.unknownTag(t)
	}
	p.next()
	n, err := read(t.line)
	if err != nil {
		return nil, err
	}
	return n, p.tagEnd()
}

func (p *parser) unknownTag(t token) error {
	if len(p.ends) > 0 {
		return p.failAt(
			t.line,
			"unexpected tag %q, expected %s for the block that begins in line %d",
			t.text,
			tags(p.ends[len(p.ends)-1]),
			p.opened[len(p.opened)-2].line,
		)
	}
	switch t.text {
	case "do", "break", "continue", "trans", "pluralize", "debug":
		return p.failAt(
			t.line,
			"the tag %q belongs to an extension of Jinja2 that is not part of it",
			t.text,
		)
	}
	return p.failAt(t.line, "unknown tag %q", t.text)
}

func (p *parser) tagEnd() error {
	if p.now().kind != tTagEnd {
		return p.unexpected(`"%}"`)
	}
	p.next()
	return nil
}

// until parses the end of a tag, its body, and the name of the tag that ends the body.
func (p *parser) until(ends ...string) ([]node, string, error) {
	p.skip(tOperator, ":")
	if err := p.tagEnd(); err != nil {
		return nil, "", err
	}
	body, err := p.body(ends...)
	if err != nil {
		return nil, "", err
	}
	return body, p.next().text, nil
}

func (p *parser) ifTag(at int) (node, error) {
	p.branches++
	defer func() { p.branches-- }()
	test, err := p.tuple(tupleRules{})
	if err != nil {
		return nil, err
	}
	n := &ifNode{line: line(at), test: test}
	body, end, err := p.until("elif", "else", "endif")
	if err != nil {
		return nil, err
	}
	n.then = body
	switch end {
	case "elif":
		rest, err := p.ifTag(p.tokens[p.pos-1].line)
		if err != nil {
			return nil, err
		}
		n.rest = []node{rest}
	case "else":
		if n.rest, _, err = p.until("endif"); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (p *parser) forTag(at int) (node, error) {
	to, err := p.target(false, "in")
	if err != nil {
		return nil, err
	}
	if !p.skip(tName, "in") {
		return nil, p.unexpected(`"in"`)
	}
	n := &forNode{line: line(at), target: to}
	if n.over, err = p.tuple(tupleRules{end: "recursive"}); err != nil {
		return nil, err
	}
	if p.skip(tName, "if") {
		if n.test, err = p.expression(); err != nil {
			return nil, err
		}
	}
	n.recursive = p.skip(tName, "recursive")
	body, end, err := p.until("endfor", "else")
	if err != nil {
		return nil, err
	}
	n.body = body
	if end == "else" {
		n.otherwise, _, err = p.until("endfor")
	}
	return n, err
}

func (p *parser) setTag(at int) (node, error) {
	to, err := p.target(true, "")
	if err != nil {
		return nil, err
	}
	if p.skip(tOperator, "=") {
		x, err := p.tuple(tupleRules{cond: true})
		return &setNode{line(at), to, x}, err
	}
	n := &setBlockNode{line: line(at), target: to}
	if p.op("|") {
		x, err := p.filters(nil)
		if err != nil {
			return nil, err
		}
		n.filter = x.(*filterExpr)
	}
	n.body, _, err = p.until("endset")
	return n, err
}

func (p *parser) withTag(at int) (node, error) {
	n := &withNode{line: line(at)}
	for p.now().kind != tTagEnd {
		if len(n.targets) > 0 {
			if err := p.expectOp(","); err != nil {
				return nil, err
			}
		}
		to, err := p.target(false, "")
		if err != nil {
			return nil, err
		}
		if err := p.expectOp("="); err != nil {
			return nil, err
		}
		x, err := p.expression()
		if err != nil {
			return nil, err
		}
		n.targets, n.values = append(n.targets, to), append(n.values, x)
	}
	var err error
	n.body, _, err = p.until("endwith")
	return n, err
}

// signature parses the parameters of a macro.
func (p *parser) signature(m *macro) error {
	if err := p.expectOp("("); err != nil {
		return err
	}
	for !p.op(")") {
		if len(m.params) > 0 {
			if err := p.expectOp(","); err != nil {
				return err
			}
		}
		at := p.now().line
		name, err := p.name("the name of a parameter")
		if err != nil {
			return err
		}
		if !assignable(name) {
			return p.failAt(at, "%q cannot be a parameter", name)
		}
		m.params = append(m.params, name)
		if p.skip(tOperator, "=") {
			x, err := p.expression()
			if err != nil {
				return err
			}
			m.defaults = append(m.defaults, x)
		} else if len(m.defaults) > 0 {
			return p.failAt(at, "the parameter %q without a default stands behind one that has one",
				name)
		}
	}
	return p.expectOp(")")
}

func (p *parser) macroBody(m *macro, end string) error {
	p.macros = append(p.macros, m)
	defer func() { p.macros = p.macros[:len(p.macros)-1] }()
	body, _, err := p.until(end)
	m.body = body
	return err
}

func (p *parser) macroTag(at int) (node, error) {
	name, err := p.name("the name of the macro")
	if err != nil {
		return nil, err
	}
	if !assignable(name) {
		return nil, p.failAt(at, "%q cannot be the name of a macro", name)
	}
	m := &macro{name: name}
	if err := p.signature(m); err != nil {
		return nil, err
	}
	if err := p.macroBody(m, "endmacro"); err != nil {
		return nil, err
	}
	return &macroNode{line(at), m}, nil
}

func (p *parser) callTag(at int) (node, error) {
	m := &macro{name: "caller"}
	if p.op("(") {
		if err := p.signature(m); err != nil {
			return nil, err
		}
	}
	x, err := p.expression()
	if err != nil {
		return nil, err
	}
	call, ok := x.(*callExpr)
	if !ok {
		return nil, p.failAt(at, "expected the call of a macro")
	}
	if err := p.macroBody(m, "endcall"); err != nil {
		return nil, err
	}
	return &callNode{line(at), call, m}, nil
}

func (p *parser) filterTag(at int) (node, error) {
	x, err := p.filterChain(nil)
	if err != nil {
		return nil, err
	}
	body, _, err := p.until("endfilter")
	return &filterNode{line: line(at), filter: x.(*filterExpr), body: body}, err
}

func (p *parser) autoescapeTag(at int) (node, error) {
	on, err := p.expression()
	if err != nil {
		return nil, err
	}
	body, _, err := p.until("endautoescape")
	return &autoescapeNode{line: line(at), on: on, body: body}, err
}

func (p *parser) printTag(at int) (node, error) {
	x, err := p.tuple(tupleRules{cond: true})
	return &printNode{line(at), x}, err
}
