package source

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

// parseYAML returns the documents of a YAML stream, without empty ones.
func (r *report) parseYAML(text []byte) []node {
	c := &converter{report: r}
	var docs []node
	for root := range c.roots(text) {
		if n := c.convert(root, 0); !n.null() {
			docs = append(docs, n)
		}
	}
	return docs
}

// roots returns the documents of a YAML stream up to the first syntax error, which it reports. The
// library cannot continue after a syntax error.
func (c *converter) roots(text []byte) iter.Seq[*yaml.Node] {
	return func(yield func(*yaml.Node) bool) {
		if valuesIn(text) > maxValues {
			c.tooMany(place{1, 1})
			return
		}
		if at := bytes.Index(text, append([]byte{'\n'}, byteOrderMark...)); at >= 0 {
			c.syntax(placeOf(text, at+1),
				"remove it; editors add it at the start of a file, and joined files keep it",
				"a byte order mark begins this line")
			return
		}
		loader, err := yaml.NewLoader(bytes.NewReader(text),
			yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthFunc(limit))))
		for err == nil {
			var y yaml.Node
			if err = loader.Load(&y); err == nil && len(y.Content) > 0 && !yield(y.Content[0]) {
				return
			}
		}
		if !errors.Is(err, io.EOF) {
			c.yamlError(text, err)
		}
	}
}

// takeItems removes the items of the list of resources from a document and returns them. Callers
// convert them one by one, so that converted nodes can be garbage-collected.
func takeItems(root *yaml.Node) []*yaml.Node {
	if root.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		name, value := root.Content[i], root.Content[i+1]
		if name.Kind == yaml.ScalarNode && name.Value == keyResources &&
			value.Kind == yaml.SequenceNode && value.Anchor == "" {
			items := value.Content
			value.Content = nil
			return items
		}
	}
	return nil
}

// limit stops the library before its stack grows too large. The converter reports lists and maps
// that are nested deeper than maxDepth, with a better message.
func limit(depth int, _ *loaderlimits.DepthContext) error {
	if depth > 100*maxDepth {
		return fmt.Errorf("exceeded max depth of %d", 100*maxDepth)
	}
	return nil
}

// yamlHints are hints for likely causes of the library's error messages.
var yamlHints = []struct{ message, hint string }{
	{"tab character", "indent with spaces, not tabs"},
	{"unknown anchor", "text that starts with * needs quotes"},
	{"mapping values are not allowed",
		"put text that holds `: ` in quotes, or look at the indentation"},
	{"mapping keys are not allowed",
		"put text that starts with `? ` in quotes, or look at the indentation"},
	{"block sequence entries are not allowed",
		"start the list on a line of its own, or put text that starts with `- ` in quotes"},
	{"did not find expected key", "look at the indentation, and for quotes that end too early"},
	{"did not find expected '-'", "look at the indentation"},
	{"did not find expected node content", "write a value here, or close the bracket"},
	{"did not find expected <document start>",
		"a document starts with `---` where another one has ended; look at the indentation"},
	{"could not find expected ':'", "a line of a map is `name: value`"},
	{"did not find expected ',' or", "close the bracket, or put text with brackets in quotes"},
	{"escape", `in double quotes \ has a meaning; single quotes take it as it is`},
	{"directive", "put text that starts with % in quotes"},
	{"incompatible", "remove the directive; documents are YAML 1.2 anyway"},
	{"tag", "remove the tag, or put text that starts with ! in quotes"},
	{"exceeded max depth", "write it less nested"},
}

// yamlError reports an error of the library.
func (c *converter) yamlError(text []byte, err error) {
	message, at, hint := err.Error(), place{1, 1}, ""
	var le *yaml.LoadError
	if errors.As(err, &le) {
		message = le.Message
		mark := le.Mark
		if strings.Contains(message, "end of stream") && le.ContextMark.Line > 0 {
			// the place where the open value starts is more helpful
			mark, message, hint = le.ContextMark, "this has no end",
				"close the quotes or the bracket"
		}
		if strings.Contains(message, "did not find expected ',' or") && le.ContextMark.Line > 0 {
			message += fmt.Sprintf(" for the bracket at %d:%d", le.ContextMark.Line,
				le.ContextMark.Column)
		}
		if mark.Line > 0 {
			at = place{int32(mark.Line), int32(mark.Column)} // texts are bounded
		}
	}
	if end := placeOf(text, len(bytes.TrimRight(text, " \r\n"))); at.compare(end) > 0 &&
		!hasOtherBreaks(text) {
		at = end // the library counts one line too many at the end
	}
	if strings.Contains(message, "control characters") {
		if i := control(text); i >= 0 {
			at = placeOf(text, i)
			c.syntax(at, `write it as an escape in double quotes, such as "\e"`,
				"a control character stands in the text, at byte %d", i+1)
			return
		}
	}
	if strings.Contains(message, "cannot start any token") {
		hint = startHint(text, at)
	}
	for _, h := range yamlHints {
		if hint == "" && strings.Contains(message, h.message) {
			hint = h.hint
		}
	}
	if hint == "" {
		hint = "check this line and the previous one"
	}
	c.syntax(at, hint, "this is not valid YAML: %s", strings.TrimPrefix(message, "yaml: "))
}

// startHint returns a hint for a character that cannot start a value.
func startHint(text []byte, at place) string {
	var line []byte
	for range at.line {
		line, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	chars := []rune(string(line))
	if i := int(at.column) - 1; i >= 0 && i < len(chars) && chars[i] != '\t' {
		return "put text that starts with " + string(chars[i]) + " in quotes"
	}
	return "indent with spaces, not tabs"
}

// converter converts the library's nodes to nodes of this package, and rejects ambiguous ones.
type converter struct {
	*report
	open     []*yaml.Node // aliases that are being expanded
	aliasAt  place        // of the first of them
	expanded int          // number of values from expanded aliases, in the whole file
}

func placeOfNode(n *yaml.Node) place {
	return place{int32(n.Line), int32(n.Column)} // texts are bounded
}

func (c *converter) bad(n *yaml.Node, hint, format string, args ...any) node {
	at := placeOfNode(n)
	c.add(at, hint, format, args...)
	return node{at: at, bad: true}
}

func (c *converter) convert(n *yaml.Node, depth int) node {
	if len(c.open) > 0 {
		if c.expanded++; c.expanded > maxExpanded {
			if c.expanded == maxExpanded+1 {
				c.add(c.aliasAt, "write the values of the aliases (*name) out",
					"the aliases up to this one stand for more than %s values",
					grouped(maxExpanded))
			}
			return node{at: placeOfNode(n), bad: true}
		}
	}
	switch n.Kind {
	case yaml.ScalarNode:
		return c.scalar(n)
	case yaml.AliasNode:
		return c.alias(n, depth)
	case yaml.MappingNode, yaml.SequenceNode:
	default:
		return c.bad(n, "write it as a map, a list or a value", "this cannot be read")
	}
	if depth >= maxDepth {
		return c.bad(n, "write it less nested", "lists and maps are nested deeper than %d",
			maxDepth)
	}
	if n.Kind == yaml.MappingNode {
		c.tag(n, "!!map")
		return c.mapping(n, depth)
	}
	c.tag(n, "!!seq")
	out := node{at: placeOfNode(n), kind: list, items: make([]node, len(n.Content))}
	for i, e := range n.Content {
		out.items[i] = c.convert(e, depth+1)
	}
	return out
}

// tag rejects every tag except the one of the value's kind.
func (c *converter) tag(n *yaml.Node, fallback string) {
	if n.Style&yaml.TaggedStyle != 0 && n.Tag != fallback {
		c.bad(n, "remove the tag", "the tag %s has no meaning here", short(n.Tag))
	}
}

func (c *converter) alias(n *yaml.Node, depth int) node {
	for _, o := range c.open {
		if o == n.Alias {
			return c.bad(n, "write the value out",
				"the alias *%s is part of its own value", short(n.Value))
		}
	}
	if n.Alias == nil {
		return c.bad(n, "text that starts with * needs quotes", "the alias *%s names nothing",
			short(n.Value))
	}
	if len(c.open) == 0 {
		c.aliasAt = placeOfNode(n)
	}
	c.open = append(c.open, n.Alias)
	out := c.convert(n.Alias, depth)
	c.open = c.open[:len(c.open)-1]
	out.at = placeOfNode(n)
	return out
}

func (c *converter) mapping(n *yaml.Node, depth int) node {
	out := node{at: placeOfNode(n), kind: object, items: make([]node, 0, len(n.Content)/2)}
	var seen map[string]int
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, ok := c.name(n.Content[i])
		if !ok {
			out.bad = true
			continue
		}
		m := c.convert(n.Content[i+1], depth+1)
		m.key, m.keyAt = name, placeOfNode(n.Content[i])
		if m.at.line == 0 {
			m.at = m.keyAt
		}
		out.items, seen = c.append(out.items, seen, m)
	}
	return out
}

// name reads the name of a member.
func (c *converter) name(n *yaml.Node) (string, bool) {
	at := n
	if n.Kind == yaml.AliasNode && n.Alias != nil {
		n = n.Alias
	}
	if n.Kind == yaml.ScalarNode && n.Value == "<<" && n.Style&quoted == 0 {
		c.bad(at, "write the members out", "merge keys (<<) are not part of YAML 1.2")
		return "", false
	}
	if n.Kind == yaml.ScalarNode {
		if n.Style&(quoted|yaml.TaggedStyle) != 0 {
			s, ok := c.scalar(n).value.(string)
			return s, ok
		}
		if plainText(n.Value) {
			return n.Value, true
		}
	}
	hint := "put it in quotes"
	if n.Kind != yaml.ScalarNode {
		hint = "text with brackets in it needs quotes"
	}
	c.bad(at, hint, "the name of a member must be text")
	return "", false
}

const quoted = yaml.SingleQuotedStyle | yaml.DoubleQuotedStyle | yaml.LiteralStyle | yaml.FoldedStyle

func (c *converter) scalar(n *yaml.Node) node {
	out := node{at: placeOfNode(n)}
	var problem string
	if n.Style&quoted != 0 || n.Tag == "!" { // a bare ! marks text
		out.value = n.Value
	} else {
		out.value, out.zero, problem = plain(n.Value)
	}
	if n.Style&yaml.TaggedStyle != 0 {
		return c.tagged(n, out, problem)
	}
	if problem != "" {
		return c.bad(n, "put it in quotes if it is text", "%s: %s", short(n.Value), problem)
	}
	return out
}

// tagged reads a scalar with a tag of the core schema: !!str converts any scalar to text; any other
// tag must match the scalar's type.
func (c *converter) tagged(n *yaml.Node, out node, problem string) node {
	ok := false
	switch n.Tag {
	case "!!str":
		out.value, out.zero = n.Value, false
		return out
	case "!!null":
		ok = out.value == nil && problem == ""
	case "!!bool":
		_, ok = out.value.(bool)
	case "!!int":
		ok = isInteger(out.value)
	case "!!float":
		_, ok = out.value.(float64)
	default:
		return c.bad(n, "remove the tag", "the tag %s has no meaning here", short(n.Tag))
	}
	if !ok {
		return c.bad(n, "remove the tag", "%q is not of the type of the tag %s", short(n.Value), n.Tag)
	}
	return out
}

// hasOtherBreaks reports whether the text has line breaks other than \n and \r\n. YAML counts them,
// but bytes.Count does not.
func hasOtherBreaks(text []byte) bool {
	if bytes.Count(text, []byte("\r")) != bytes.Count(text, []byte("\r\n")) {
		return true
	}
	for _, c := range []string{"\u0085", "\u2028", "\u2029"} {
		if bytes.Contains(text, []byte(c)) {
			return true
		}
	}
	return false
}
