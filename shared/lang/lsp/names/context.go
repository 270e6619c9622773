package names

import (
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/syntax"
)

const mainSpace = eval.Main

// inStatement completes by the definition or the brackets around the place.
func (c *completer) inStatement() {
	if open := c.openBracket(); open > 0 {
		c.inBrackets(open)
		return
	}
	from := c.definition()
	switch {
	case from == 0:
		c.statement()
	case c.last(from).Text == "entity":
		c.inEntity(from)
	case c.last(from).Text == "typedef":
		if c.last(1).Text == "as" {
			c.types()
		} else if c.has(from, "matching") {
			c.expression()
		} else if c.last(2).Text == "as" {
			c.keywords("matching")
		}
	case c.last(from).Text == "implement":
		c.inImplement(from)
	case c.last(from).Text == "implementation" && !c.has(from, ":"):
		if c.last(1).Text == "for" {
			c.entities()
		} else if from > 1 {
			c.keywords("for")
		}
	case c.last(from).Text == "index" && from == 1:
		c.entities()
	default:
		c.statement()
	}
}

// openBracket returns the number from the end of the innermost open bracket; 0 if there is none.
func (c *cursor) openBracket() int {
	depth := 0
	for n := 1; n <= len(c.tokens); n++ {
		t := c.last(n)
		if t.Kind == syntax.Keyword && definer(t.Text) && t.Pos.Column == 1 {
			return 0
		}
		if t.Kind != syntax.Punct {
			continue
		}
		switch t.Text {
		case ")", "]", "}":
			depth++
		case "(", "[", "{":
			if depth--; depth < 0 {
				return n
			}
		}
	}
	return 0
}

func definer(word string) bool {
	switch word {
	case "import", "entity", "typedef", "index", "implementation", "implement":
		return true
	}
	return false
}

// definition returns the number from the end of the keyword of the definition around the place; 0
// if there is none. For a definition without an end, callers have to look at the line.
func (c *cursor) definition() int {
	for n := 1; n <= len(c.tokens); n++ {
		t := c.last(n)
		if t.Kind != syntax.Keyword {
			continue
		}
		if t.Text == "end" && t.Pos.Column == 1 {
			return 0
		}
		if definer(t.Text) {
			return n
		}
	}
	return 0
}

// has reports whether a word or sign follows a token.
func (c *cursor) has(from int, text string) bool {
	for n := 1; n < from; n++ {
		if c.last(n).Text == text {
			return true
		}
	}
	return false
}

func (c *completer) inEntity(from int) {
	switch {
	case !c.has(from, ":") && c.has(from, "extends"):
		c.entities()
	case !c.has(from, ":"):
		if from > 1 {
			c.keywords("extends")
		}
	case c.last(1).Text == "=":
		c.keywords("true", "false", "null", "undef")
	case !c.sameLine():
		c.types()
		c.keywords("end")
	}
}

// sameLine reports whether the place is on the line of the token before it, according to the text
// between that token and the next one.
func (c *cursor) sameLine() bool {
	if len(c.tokens) == 0 {
		return false
	}
	before := c.last(1)
	next := c.file.Tree.Tokens[len(c.tokens)]
	between := c.file.Tree.Text[before.End().Offset:next.Pos.Offset]
	return before.Text != ":" && !strings.ContainsAny(between, "\r\n")
}

func (c *completer) inImplement(from int) {
	switch {
	case from == 1:
		c.entities()
	case c.has(from, "when"):
		c.expression()
	case !c.has(from, "using"):
		c.keywords("using")
	case c.last(1).Text == "using" || c.last(1).Text == ",":
		c.ofKind(0, Implementation)
		c.keywords("parents")
	case c.sameLine():
		c.keywords("when")
	default:
		c.statement()
	}
}

func (c *completer) entities() { c.ofKind(0, Entity) }

func (c *completer) types() {
	c.ofKind(1, Typedef)
	for _, name := range sortedKeys(c.project.builtIns) {
		c.symbol(c.project.builtIns[name], name, 0)
	}
}

// ofKind completes names of a kind: names of this namespace, and qualified names of others.
func (c *completer) ofKind(rank int, kinds ...Kind) {
	for at := c.space.symbol.Name; at != ""; at, _ = within(at) {
		if s := c.project.spaces[at]; s != nil {
			c.members(s, "", rank, kinds)
		}
	}
	for _, name := range sortedKeys(c.space.visible) {
		if s := c.project.space(c.space, name); s != nil && s != c.space {
			c.members(s, name+"::", rank+2, kinds)
			c.add(Candidate{Label: name, Insert: name + "::", Symbol: s.symbol, Rank: rank + 1})
		}
	}
}

func (c *completer) members(s *space, prefix string, rank int, kinds []Kind) {
	for _, name := range sortedKeys(s.types) {
		for _, k := range kinds {
			if s.types[name].Kind == k {
				c.symbol(s.types[name], prefix+name, rank)
			}
		}
	}
}

func (c *completer) variables() {
	c.scope.each(func(x *Symbol) { c.symbol(x, x.Name, 0) })
}

// expression completes expressions.
func (c *completer) expression() {
	c.variables()
	c.ofKind(1, Entity, Plugin)
	c.keywords("true", "false", "null", "not", "and", "or", "in", "is", "defined")
}

func (c *completer) statement() {
	c.expression()
	c.keywords("for", "if", "elif", "else", "end")
	if c.scope.parent == nil {
		c.keywords("import", "entity", "typedef", "index", "implementation", "implement")
	}
}

// inBrackets completes arguments, attributes of an index, and values.
func (c *completer) inBrackets(open int) {
	begins := c.last(1).Text == "," || open == 1
	if c.last(open).Text == "{" {
		if !begins {
			c.expression()
		}
		return
	}
	path, first := c.pathBefore(open+1, "::")
	var of *Symbol
	switch {
	case len(path) > 0 && c.last(first+1).Text == ".":
		t := c.typeAt(c.dotted(open + 1))
		t.List = false
		of = t.entity()
	case len(path) > 0:
		of = c.project.find(c.space, strings.Join(path, "::"))
	}
	if of != nil && begins {
		c.arguments(of, open)
	}
	if c.last(open).Text == "(" && c.last(first+1).Text == "index" {
		return
	}
	if of == nil || of.Kind != Entity || !begins {
		c.expression()
	}
}

// arguments completes the names of missing arguments.
func (c *completer) arguments(of *Symbol, open int) {
	given := map[string]bool{}
	for n := 2; n < open; n++ {
		if c.last(n-1).Text == "=" {
			given[c.last(n).Text] = true
		}
	}
	equal := "="
	_, first := c.pathBefore(open+1, "::")
	if c.last(first+1).Text == "index" {
		equal = ""
	}
	if of.Kind == Entity {
		for _, a := range of.Attributes() {
			if !given[a.Name] {
				code, _ := c.project.Describe(a)
				c.add(Candidate{Label: a.Name, Insert: a.Name + equal, Symbol: a, Detail: code})
			}
		}
	}
	if of.Kind == Plugin {
		const behindVariables = 3
		for _, a := range of.Plugin.Params {
			if !given[a.Name] {
				c.add(Candidate{
					Label: a.Name + "=", Detail: Signature(of.Plugin), Rank: behindVariables,
				})
			}
		}
	}
}
