package fs

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// expression is a regular expression with a fixed prefix: it excludes most lines of a file by their
// first bytes.
type expression struct {
	*regexp.Regexp
	prefix string // of each matching line
}

func expressionOf(s string) (*expression, error) {
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, err
	}
	return &expression{re, prefixOf(s)}, nil
}

// prefixOf returns the fixed prefix of lines that match an expression such as ^Port\s; "" if it is
// unknown.
func prefixOf(s string) string {
	tree, err := syntax.Parse(s, syntax.Perl)
	if err != nil {
		return ""
	}
	tree = tree.Simplify()
	if tree.Op != syntax.OpConcat || len(tree.Sub) < 2 || tree.Sub[0].Op != syntax.OpBeginText ||
		tree.Sub[1].Op != syntax.OpLiteral || tree.Sub[1].Flags&syntax.FoldCase != 0 {
		return ""
	}
	return string(tree.Sub[1].Rune)
}

// matches reports whether a line matches; no line matches none.
func (e *expression) matches(line string) bool {
	return e != nil && strings.HasPrefix(line, e.prefix) && e.MatchString(line)
}
