package names

import (
	"slices"
	"strings"

	"southbound/shared/lang/syntax"
)

// Candidate is a completion at a place.
type Candidate struct {
	Label   string
	Insert  string  // the text to insert; "" stands for Label
	Symbol  *Symbol // nil for a keyword and a parameter
	Keyword bool
	Detail  string
	Rank    int // lower for more likely candidates
}

// completer collects candidates for a place.
type completer struct {
	cursor
	candidates
	space   *space
	scope   *scope
	modules []string // modules that can be imported
}

// cursor is a place in a text.
type cursor struct {
	file   *File
	tokens []syntax.Token // the tokens before the partial name
}

// candidates are the collected candidates, each once.
type candidates struct {
	project *Project
	out     []Candidate
	seen    map[string]bool
}

// Complete returns the completions at a place of a text. modules are the names of modules that can
// be imported.
func (p *Project) Complete(f *File, offset int, modules []string) []Candidate {
	s := p.spaces[f.Namespace]
	if s.file != f {
		return nil
	}
	c := &completer{
		cursor:     cursor{file: f},
		candidates: candidates{project: p, seen: map[string]bool{}},
		space:      s,
		modules:    modules,
	}
	c.scope = p.Uses(f).scopeAt(offset)
	text, ok := c.before(offset)
	if !ok {
		return nil
	}
	if text != "" {
		c.inText(text)
	} else {
		c.complete()
	}
	slices.SortStableFunc(c.out, func(a, b Candidate) int {
		if a.Rank != b.Rank {
			return a.Rank - b.Rank
		}
		return strings.Compare(a.Label, b.Label)
	})
	return c.out
}

// before finds the tokens before the name at a place. ok is false if nothing can be completed
// there. Inside of an interpolated string, text is the string's text before the place.
func (c *cursor) before(offset int) (text string, ok bool) {
	at := int32(offset) // texts are bounded
	for _, t := range c.file.Tree.Comments {
		if t.Pos.Offset < at && at <= t.End().Offset {
			return "", false
		}
	}
	for i := range c.file.Tree.Tokens {
		t := &c.file.Tree.Tokens[i]
		if t.Pos.Offset >= at || t.Kind == syntax.EOF {
			c.tokens = c.file.Tree.Tokens[:i]
			return "", true
		}
		if t.End().Offset < at {
			continue
		}
		c.tokens = c.file.Tree.Tokens[:i]
		switch t.Kind {
		case syntax.Name, syntax.TypeName, syntax.Keyword:
			return "", true
		case syntax.String, syntax.Block, syntax.FString, syntax.Unknown:
			if at < t.End().Offset || t.Kind == syntax.Unknown {
				return valueIn(t, t.Text[:at-t.Pos.Offset])
			}
		case syntax.Raw, syntax.Regex, syntax.Int, syntax.Float:
			return "", false
		}
		if t.End().Offset == at {
			c.tokens = c.file.Tree.Tokens[:i+1]
			return "", true
		}
		return "", false
	}
	return "", true
}

// valueIn returns the path after {{ in a string, or after { in an f-string, including the braces;
// false if the end of the text is not in an interpolation.
func valueIn(t *syntax.Token, text string) (string, bool) {
	open := "{{"
	if strings.HasPrefix(t.Text, "f") {
		open = "{"
	}
	i := strings.LastIndex(text, open)
	if i < 0 {
		return "", false
	}
	path := strings.TrimLeft(text[i+len(open):], " \t")
	if strings.ContainsAny(path, "} !:{") {
		return "", false
	}
	return open + path, true
}

// inText completes a path in an interpolated string.
func (c *completer) inText(text string) {
	path := strings.Split(strings.TrimLeft(text, "{"), ".")
	if len(path) == 1 {
		c.variables()
		return
	}
	c.attributesOf(c.typeAt(path[:len(path)-1]))
}

// typeAt returns the type of a variable, or of an attribute path that starts at it.
func (c *completer) typeAt(path []string) Type {
	t := c.project.TypeOf(c.scope.find(c.project, path[0]))
	for _, name := range path[1:] {
		e := t.entity()
		if e == nil {
			return Type{}
		}
		t = c.project.TypeOf(e.Attribute(name))
	}
	return t
}

// last returns the n-th token from the end; an EOF token if there are fewer.
func (c *cursor) last(n int) syntax.Token {
	if n > len(c.tokens) {
		return syntax.Token{Kind: syntax.EOF}
	}
	return c.tokens[len(c.tokens)-n]
}

func (c *completer) complete() {
	before := c.last(1)
	switch before.Text {
	case ".":
		c.behindDot()
	case "::":
		c.behindColons()
	case "import":
		c.imports("")
	default:
		c.inStatement()
	}
}

// pathBefore returns the names, joined by a sign, that end at the n-th token from the end.
func (c *cursor) pathBefore(n int, sign string) (path []string, first int) {
	for {
		t := c.last(n)
		if t.Kind != syntax.Name && t.Kind != syntax.TypeName {
			return path, n - 1
		}
		path = append([]string{t.Text}, path...)
		if c.last(n+1).Text != sign {
			return path, n
		}
		n += 2
	}
}

func (c *completer) behindDot() {
	if path := c.dotted(2); len(path) > 0 {
		c.attributesOf(c.typeAt(path))
	}
}

// dotted returns a variable, with its namespace, and attributes that end at the n-th token from the
// end.
func (c *cursor) dotted(n int) []string {
	path, first := c.pathBefore(n, ".")
	if len(path) > 0 && c.last(first+1).Text == "::" {
		ns, _ := c.pathBefore(first+2, "::")
		path[0] = strings.Join(append(ns, path[0]), "::")
	}
	return path
}

func (c *completer) attributesOf(t Type) {
	if e := t.entity(); e != nil {
		for _, a := range e.Attributes() {
			c.symbol(a, a.Name, 0)
		}
	}
}

func (c *completer) behindColons() {
	path, first := c.pathBefore(2, "::")
	ns := strings.Join(path, "::")
	if c.last(first+1).Text == "import" {
		c.imports(ns + "::")
		return
	}
	for _, name := range sortedKeys(c.space.visible) {
		if rest, ok := strings.CutPrefix(name, ns+"::"); ok {
			next, _, _ := strings.Cut(rest, "::")
			c.module(next, ns+"::"+next, 1)
		}
	}
	s := c.project.space(c.space, ns)
	if s == nil {
		return
	}
	for _, name := range sortedKeys(s.types) {
		c.symbol(s.types[name], name, 0)
	}
	for _, name := range sortedKeys(s.scope.vars) {
		c.symbol(s.scope.vars[name], name, 0)
	}
}

// imports completes the name of a module after a prefix.
func (c *completer) imports(prefix string) {
	all := append(sortedKeys(c.project.spaces), c.modules...)
	slices.Sort(all)
	for _, name := range all {
		rest, ok := strings.CutPrefix(name, prefix)
		if !ok || rest == "" || name == mainSpace {
			continue
		}
		next, _, _ := strings.Cut(rest, "::")
		c.module(next, prefix+next, 0)
	}
}

func (c *candidates) module(label, full string, rank int) {
	if s := c.project.spaces[full]; s != nil {
		c.symbol(s.symbol, label, rank)
		return
	}
	c.add(Candidate{Label: label, Symbol: &Symbol{Kind: Namespace, Name: full}, Rank: rank})
}

func (c *candidates) add(x Candidate) {
	if !c.seen[x.Label] {
		c.seen[x.Label] = true
		c.out = append(c.out, x)
	}
}

func (c *candidates) symbol(x *Symbol, label string, rank int) {
	code, _ := c.project.Describe(x)
	if x.Kind == Entity || x.Kind == Typedef {
		code, _, _ = strings.Cut(code, "\n")
	}
	c.add(Candidate{Label: label, Symbol: x, Detail: strings.TrimSuffix(code, ":"), Rank: rank})
}

func (c *candidates) keywords(words ...string) {
	const behindNames = 8
	for _, w := range words {
		c.add(Candidate{Label: w, Keyword: true, Rank: behindNames})
	}
}
