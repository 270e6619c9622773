package pep508

import (
	"regexp"
	"strings"

	"southbound/shared/lang/pep440"
	"southbound/shared/pattern"
)

// Marker is a condition on the machine and its Python, such as python_version < "3.12".
type Marker struct {
	op          string // and, or; or a comparison of left and right
	parts       []*Marker
	left, right operand
}

// operand is a variable or a literal.
type operand struct {
	text     string
	variable bool
}

// maxDepth is the maximum nesting of parentheses in a marker.
const maxDepth = 50

var (
	variable = pattern.Lazy(`^(?:python_version|python_full_version|os[._]name|` +
		`sys[._]platform|platform_(?:release|system)|` +
		`platform[._](?:version|machine|python_implementation)|python_implementation|` +
		`implementation_(?:name|version)|extra)\b`)
	quoted     = pattern.Lazy(`^(?:'[^']*'|"[^"]*")`)
	comparison = pattern.Lazy(`^(?:===|==|~=|!=|<=|>=|<|>)`)
	contained  = pattern.Lazy(`^in\b`)
	outside    = pattern.Lazy(`^not[ \t]+in\b`)
	andWord    = pattern.Lazy(`^and\b`)
	orWord     = pattern.Lazy(`^or\b`)
)

// versioned reports whether the values of a variable are versions.
func versioned(name string) bool {
	switch name {
	case "python_version", "python_full_version", "implementation_version", "platform_release":
		return true
	}
	return false
}

func (p *parser) or(depth int) (*Marker, bool) { return p.chain("or", orWord, p.and, depth) }

func (p *parser) and(depth int) (*Marker, bool) { return p.chain("and", andWord, p.atom, depth) }

// chain parses parts that are joined by a word.
func (p *parser) chain(
	op string, word func() *regexp.Regexp, part func(int) (*Marker, bool), depth int,
) (*Marker, bool) {
	out := &Marker{op: op}
	for {
		m, ok := part(depth)
		if !ok {
			return nil, false
		}
		out.parts = append(out.parts, m)
		if p.take(space); p.take(word) == "" {
			break
		}
	}
	if len(out.parts) == 1 {
		return out.parts[0], true
	}
	return out, true
}

// atom parses a comparison, or a marker in parentheses.
func (p *parser) atom(depth int) (*Marker, bool) {
	p.take(space)
	if p.takes("(") {
		if depth == maxDepth {
			return nil, p.fail("fewer parentheses")
		}
		m, ok := p.or(depth + 1)
		if !ok {
			return nil, false
		}
		if p.take(space); !p.takes(")") {
			return nil, p.fail(") after the marker")
		}
		return m, true
	}
	m := &Marker{}
	if !p.operand(&m.left) {
		return nil, false
	}
	p.take(space)
	switch {
	case p.take(contained) != "":
		m.op = "in"
	case p.take(outside) != "":
		m.op = "not in"
	default:
		if m.op = p.take(comparison); m.op == "" {
			return nil, p.fail("a comparison such as ==, <, in or not in")
		}
	}
	p.take(space)
	return m, p.operand(&m.right)
}

func (p *parser) operand(into *operand) bool {
	if name := p.take(variable); name != "" {
		*into = operand{strings.ReplaceAll(name, ".", "_"), true}
		if into.text == "python_implementation" {
			into.text = "platform_python_implementation"
		}
		return true
	}
	text := p.take(quoted)
	if text == "" {
		return p.fail("a variable of markers such as python_version, or a text in quotes")
	}
	*into = operand{text: text[1 : len(text)-1]}
	return true
}

// Holds reports whether the marker is true in an environment, which holds the values of variables
// by name. A missing variable is the empty text.
func (m *Marker) Holds(environment map[string]string) bool {
	switch m.op {
	case "and", "or":
		for _, part := range m.parts {
			if part.Holds(environment) == (m.op == "or") {
				return m.op == "or"
			}
		}
		return m.op == "and"
	}
	name := m.left.text
	if !m.left.variable {
		name = m.right.text
	}
	left, right := m.left.value(environment), m.right.value(environment)
	if m.right.variable && m.left.variable { // the right variable is compared by its name
		right = m.right.text
	}
	if name == "extra" {
		left, right = Canonical(left), Canonical(right)
	}
	if versioned(name) {
		if s, err := pep440.ParseSpecifier(m.op + right); err == nil {
			v, err := pep440.Parse(left)
			return err == nil && s.Contains(v)
		}
	}
	return compare(left, m.op, right)
}

// compare compares texts that are not versions.
func compare(left, op, right string) bool {
	switch op {
	case "in":
		return strings.Contains(right, left)
	case "not in":
		return !strings.Contains(right, left)
	case "==", "<=", ">=", "===":
		return left == right
	case "!=":
		return left != right
	}
	return false
}

func (o operand) value(environment map[string]string) string {
	if o.variable {
		return environment[o.text]
	}
	return o.text
}

// String returns the marker in a form that can be parsed again.
func (m *Marker) String() string {
	switch m.op {
	case "and", "or":
		parts := make([]string, len(m.parts))
		for i, part := range m.parts {
			parts[i] = part.String()
			if part.op == "or" || part.op == m.op {
				parts[i] = "(" + parts[i] + ")"
			}
		}
		return strings.Join(parts, " "+m.op+" ")
	}
	return m.left.String() + " " + m.op + " " + m.right.String()
}

func (o operand) String() string {
	switch {
	case o.variable:
		return o.text
	case strings.Contains(o.text, `"`):
		return "'" + o.text + "'"
	}
	return `"` + o.text + `"`
}
