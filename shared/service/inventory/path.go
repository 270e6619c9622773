package inventory

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Path names a value in a set of attributes. Dots separate attributes, and keys in brackets
// identify members of a list: databases[name=shop].size.
type Path []Step

// Step is a step of a path: an attribute and, if Keys is not nil, one of its members.
type Step struct {
	Name string
	Keys []Key
	// Item is the number of the member in its list, from 1; 0: it is not known. The text of a path
	// does not have it.
	Item int
}

// Key is an attribute that identifies a member, with its value as text.
type Key struct{ Name, Value string }

// special are the characters that need a \ before them in a name. In the value of a key only
// specialInValue need it.
const (
	special        = `.[]=;\`
	specialInValue = `[];\`
)

// ParsePath reads a path.
func ParsePath(text string) (Path, error) {
	p := &pathParser{rest: text}
	var out Path
	for {
		step, err := p.step()
		if err != nil {
			return nil, fmt.Errorf("the path %q: %w", text, err)
		}
		out = append(out, step)
		if p.rest == "" {
			return out, nil
		}
		if !p.take('.') {
			return nil, fmt.Errorf("the path %q: there is no . before %q", text, p.rest)
		}
	}
}

// pathParser parses the rest of a path.
type pathParser struct{ rest string }

func (p *pathParser) take(c byte) bool {
	if p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = p.rest[1:]
	return true
}

func (p *pathParser) step() (Step, error) {
	name, err := p.word("a name")
	if err != nil || !p.take('[') {
		return Step{Name: name}, err
	}
	s := Step{Name: name}
	for {
		k, err := p.word("the name of a key")
		if err != nil {
			return s, err
		}
		if !p.take('=') {
			return s, fmt.Errorf("%s has no value", k)
		}
		v, err := p.text(specialInValue)
		if err != nil {
			return s, err
		}
		if slices.ContainsFunc(s.Keys, func(o Key) bool { return o.Name == k }) {
			return s, fmt.Errorf("%s is there twice", k)
		}
		s.Keys = append(s.Keys, Key{k, v})
		if p.take(';') {
			continue
		}
		closed := p.take(']')
		if closed && p.take('[') { // ports[slot=1][kind=a] is ports[slot=1;kind=a]
			continue
		}
		if !closed {
			return s, fmt.Errorf(`there is no ] behind the keys of %s; write \ before %s in a value`,
				name, specialInValue)
		}
		return s, nil
	}
}

// word parses a text that is not empty.
func (p *pathParser) word(what string) (string, error) {
	s, err := p.text(special)
	if err == nil && s == "" {
		return "", fmt.Errorf("%s is missing before %q", what, p.rest)
	}
	return s, err
}

// text parses up to a character that ends the text.
func (p *pathParser) text(ends string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(p.rest); i++ {
		c := p.rest[i]
		switch {
		case c == '\\' && i+1 < len(p.rest) && strings.IndexByte(special+"*", p.rest[i+1]) >= 0:
			i++
			b.WriteByte(p.rest[i])
		case c == '\\':
			return "", fmt.Errorf(`there is a \ before a character that needs none`)
		case strings.IndexByte(ends, c) >= 0:
			p.rest = p.rest[i:]
			return b.String(), nil
		default:
			b.WriteByte(c)
		}
	}
	p.rest = ""
	return b.String(), nil
}

func escaped(s, special string) string {
	var b strings.Builder
	for i := range len(s) {
		if strings.IndexByte(special, s[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// String returns the path as ParsePath reads it.
func (p Path) String() string {
	var b strings.Builder
	for i, s := range p {
		if i > 0 {
			b.WriteByte('.')
		}
		b.WriteString(escaped(s.Name, special))
		for j, k := range s.Keys {
			b.WriteByte("[;"[min(j, 1)])
			b.WriteString(escaped(k.Name, special) + "=" + escaped(k.Value, specialInValue))
		}
		if len(s.Keys) > 0 {
			b.WriteByte(']')
		}
	}
	return b.String()
}

// Pointer returns the JSON pointer to the value in attributes to which root points.
func (p Path) Pointer(root string) string {
	var b strings.Builder
	b.WriteString(root)
	for _, s := range p {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(s.Name))
		if s.Item > 0 {
			b.WriteString("/" + strconv.Itoa(s.Item-1))
		}
	}
	return b.String()
}

// To returns the path extended by a step.
func (p Path) To(s Step) Path { return append(slices.Clip(p), s) }

// Item returns the path of an item of the list at its end, by its index.
func (p Path) Item(i int) Path {
	last := p[len(p)-1]
	last.Item = i + 1
	return p[:len(p)-1].To(last)
}

// in returns the path extended by an attribute.
func (p Path) in(name string) Path { return p.To(Step{Name: name}) }
