package source

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// place is a line and a column, from 1.
type place struct{ line, column int32 }

// node is a value of a document with the place it stands at.
type node struct {
	at     place
	scalar any // nil, bool, string, int64, *big.Int, float64; of leaves
	kind   nodeKind
	keys   []string
	keyAt  []place
	items  []*node
}

type nodeKind byte

const (
	leaf nodeKind = iota
	list
	object
)

// get returns the member of an object, or nil.
func (n *node) get(key string) *node {
	for i, k := range n.keys {
		if k == key {
			return n.items[i]
		}
	}
	return nil
}

const (
	maxDepth = 100
	// maxNodes bounds what aliases can blow a document up to.
	maxNodes = 20_000_000
)

// converter turns the library's nodes into ours and refuses what has no one meaning.
type converter struct {
	l     *loader
	file  string
	line  int32 // lines before the part that was parsed
	count int
	open  map[*yaml.Node]bool
}

func (c *converter) at(n *yaml.Node) place {
	return place{int32(n.Line) + c.line, int32(n.Column)} //nolint:gosec // documents are bounded
}

func (c *converter) bad(n *yaml.Node, hint, format string, args ...any) *node {
	c.l.problem(c.file, c.at(n), hint, format, args...)
	return &node{at: c.at(n)}
}

func (c *converter) convert(n *yaml.Node, depth int) *node {
	if c.count++; c.count > maxNodes {
		return c.bad(n, "write it without aliases", "the document is too large, once its aliases are replaced by what they stand for")
	}
	if depth > maxDepth {
		return c.bad(n, "", "the document is nested deeper than %d", maxDepth)
	}
	if strings.HasPrefix(n.Tag, "!") && !strings.HasPrefix(n.Tag, "!!") {
		return c.bad(n, "remove the tag", "the tag %s has no meaning here", n.Tag)
	}
	switch n.Kind {
	case yaml.AliasNode:
		if c.open[n.Alias] {
			return c.bad(n, "", "the alias *%s stands within what it names", n.Value)
		}
		c.open[n.Alias] = true
		out := c.convert(n.Alias, depth+1)
		delete(c.open, n.Alias)
		return out
	case yaml.MappingNode:
		return c.mapping(n, depth)
	case yaml.SequenceNode:
		out := &node{at: c.at(n), kind: list, items: make([]*node, len(n.Content))}
		for i, e := range n.Content {
			out.items[i] = c.convert(e, depth+1)
		}
		return out
	case yaml.ScalarNode:
		return c.scalar(n)
	}
	return c.bad(n, "", "this cannot be read")
}

func (c *converter) mapping(n *yaml.Node, depth int) *node {
	out := &node{at: c.at(n), kind: object}
	seen := make(map[string]place, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		for key.Kind == yaml.AliasNode {
			key = key.Alias
		}
		if key.Tag == "!!merge" || key.Kind == yaml.ScalarNode && key.Value == "<<" && key.Style == 0 {
			c.bad(n.Content[i], "write the members out", "merge keys (<<) are not part of YAML 1.2")
			continue
		}
		k := c.scalarValue(key)
		text, ok := k.(string)
		if key.Kind != yaml.ScalarNode || !ok {
			c.bad(n.Content[i], "put it in quotes", "a name must be text")
			continue
		}
		if first, twice := seen[text]; twice {
			c.bad(n.Content[i], "remove one of the two", "%q is there twice, first on line %d", text, first.line)
			continue
		}
		seen[text] = c.at(n.Content[i])
		out.keys = append(out.keys, text)
		out.keyAt = append(out.keyAt, c.at(n.Content[i]))
		out.items = append(out.items, c.convert(n.Content[i+1], depth+1))
	}
	return out
}

func (c *converter) scalar(n *yaml.Node) *node {
	out := &node{at: c.at(n), scalar: c.scalarValue(n)}
	if f, ok := out.scalar.(float64); ok && (math.IsInf(f, 0) || math.IsNaN(f)) {
		return c.bad(n, "", "%s is not a number that can be stored", n.Value)
	}
	if strings.ContainsRune(n.Value, 0) {
		return c.bad(n, "", "the text holds a NUL character")
	}
	if n.Tag == "!!binary" {
		return c.bad(n, "use {file: path} for bytes", "binary values are not part of the format")
	}
	return out
}

// scalarValue reads a scalar by the core schema of YAML 1.2: yes, no, on and off are text, a leading 0 makes no octal, and
// times are text.
func (c *converter) scalarValue(n *yaml.Node) any {
	if n.Kind != yaml.ScalarNode {
		return nil
	}
	s := n.Value
	if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 || n.Tag == "!!str" && n.Style&yaml.TaggedStyle != 0 {
		return s
	}
	return plainScalar(s)
}

func plainScalar(s string) any {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	case ".nan", ".NaN", ".NAN":
		return math.NaN()
	case ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF":
		return math.Inf(1)
	case "-.inf", "-.Inf", "-.INF":
		return math.Inf(-1)
	}
	if c := s[0]; c != '-' && c != '+' && c != '.' && (c < '0' || c > '9') {
		return s
	}
	if v, ok := plainInt(s); ok {
		return v
	}
	if isFloat(s) {
		if f, err := strconv.ParseFloat(s, 64); err == nil || math.IsInf(f, 0) {
			return f
		}
	}
	return s
}

func plainInt(s string) (any, bool) {
	base, digits := 10, strings.TrimLeft(s, "+-")
	if len(s)-len(digits) > 1 || digits == "" {
		return nil, false
	}
	switch {
	case strings.HasPrefix(s, "0o"):
		base, digits = 8, s[2:]
	case strings.HasPrefix(s, "0x"):
		base, digits = 16, s[2:]
	}
	for _, r := range digits {
		if !strings.ContainsRune("0123456789abcdefABCDEF"[:min(base, 16)+boolInt(base == 16)*6], r) {
			return nil, false
		}
	}
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return nil, false
	}
	if s[0] == '-' {
		n.Neg(n)
	}
	if n.IsInt64() {
		return n.Int64(), true
	}
	return n, true
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// isFloat matches [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
func isFloat(s string) bool {
	s = strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	digits := func() int {
		n := 0
		for n < len(s) && s[n] >= '0' && s[n] <= '9' {
			n++
		}
		s = s[n:]
		return n
	}
	whole, part := digits(), 0
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		part = digits()
	}
	if whole+part == 0 {
		return false
	}
	if s != "" && (s[0] == 'e' || s[0] == 'E') {
		s = strings.TrimLeft(s[1:], "+-")
		if digits() == 0 {
			return false
		}
	}
	return s == ""
}
