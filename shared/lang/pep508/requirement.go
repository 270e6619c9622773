// Package pep508 parses requirements of Python packages: a name, extras, constraints or an address,
// and a marker with the condition of the requirement (PEP 508).
package pep508

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/lang/pep440"
	"southbound/shared/pattern"
)

// Requirement is a requirement of a package, a module or a project.
type Requirement struct {
	Name   string   // as written
	Extras []string // as written, sorted
	Set    pep440.Set
	URL    string // address of the package, instead of constraints
	Marker *Marker
}

var separators = pattern.Lazy(`[-_.]+`)

// Canonical returns the normalized name of a package, as indexes use it.
func Canonical(name string) string {
	return strings.ToLower(separators().ReplaceAllString(name, "-"))
}

// Parse parses a requirement. Its error, of kind fault.Invalid, states the expected syntax.
func Parse(text string) (Requirement, error) {
	p := &parser{text: text}
	r, ok := p.requirement()
	if !ok {
		return Requirement{}, fault.New(fault.Invalid, "read the requirement",
			"%s is not a requirement (PEP 508): %s", strconv.Quote(text), p.expected)
	}
	return r, nil
}

// String returns the requirement in pip's notation.
func (r Requirement) String() string {
	s := r.Name
	if len(r.Extras) > 0 {
		s += "[" + strings.Join(r.Extras, ",") + "]"
	}
	s += r.Set.String()
	if r.URL != "" {
		s += " @ " + r.URL
	}
	if r.Marker != nil {
		s += " ; " + r.Marker.String()
	}
	return s
}

// Holds reports whether the requirement applies in an environment, which holds the values of marker
// variables. A missing variable is the empty text.
func (r Requirement) Holds(environment map[string]string) bool {
	return r.Marker == nil || r.Marker.Holds(environment)
}

// parser parses a text from left to right.
type parser struct {
	text     string
	at       int
	expected string // the message about the missing element
}

var (
	space      = pattern.Lazy(`^[ \t]+`)
	identifier = pattern.Lazy(`^[a-zA-Z0-9][a-zA-Z0-9._-]*`)
	address    = pattern.Lazy(`^[^ \t]+`)
	specifier  = pattern.Lazy(`^(?:===[\s\x1c-\x1f]*[^\s;),]*|` +
		`(?:~=|==|!=|<=|>=|<|>)[\s\x1c-\x1f]*[-+!._*a-zA-Z0-9]+)`)
)

// take returns the match of a pattern at the current position, and skips it; "" if there is none.
func (p *parser) take(form func() *regexp.Regexp) string {
	found := form().FindString(p.text[p.at:])
	p.at += len(found)
	return found
}

// takes reports whether a text is at the current position, and skips it.
func (p *parser) takes(text string) bool {
	if !strings.HasPrefix(p.text[p.at:], text) {
		return false
	}
	p.at += len(text)
	return true
}

func (p *parser) end() bool { return p.at == len(p.text) }

// fail records the expected element. It returns false.
func (p *parser) fail(expected string) bool {
	where := " at its end"
	if !p.end() {
		where = ", not " + strconv.Quote(p.text[p.at:])
	}
	p.expected = "expected " + expected + where
	return false
}

// name parses an identifier, which ends with a letter or a digit.
func (p *parser) name() string {
	found := strings.TrimRight(identifier().FindString(p.text[p.at:]), "._-")
	p.at += len(found)
	return found
}

func (p *parser) requirement() (r Requirement, ok bool) {
	p.take(space)
	if r.Name = p.name(); r.Name == "" {
		return r, p.fail("the name of a package")
	}
	p.take(space)
	if p.takes("[") && !p.extras(&r) {
		return r, false
	}
	p.take(space)
	if p.takes("@") {
		return r, p.address(&r) && p.marker(&r)
	}
	if !p.specifiers(&r) {
		return r, false
	}
	p.take(space)
	return r, p.marker(&r)
}

func (p *parser) extras(r *Requirement) bool {
	p.take(space)
	for !p.takes("]") {
		if len(r.Extras) > 0 {
			if !p.takes(",") {
				return p.fail("a comma or ] after an extra")
			}
			p.take(space)
		}
		name := p.name()
		if name == "" {
			return p.fail("the name of an extra")
		}
		r.Extras = append(r.Extras, name)
		p.take(space)
	}
	slices.Sort(r.Extras)
	r.Extras = slices.Compact(r.Extras)
	return true
}

func (p *parser) address(r *Requirement) bool {
	p.take(space)
	if r.URL = p.take(address); r.URL == "" {
		return p.fail("an address after @")
	}
	if p.end() {
		return true
	}
	p.take(space)
	return true
}

func (p *parser) specifiers(r *Requirement) bool {
	parentheses := p.takes("(")
	p.take(space)
	for {
		text := p.take(specifier)
		if text == "" {
			break
		}
		s, err := pep440.ParseSpecifier(text)
		if err != nil {
			p.at -= len(text)
			return p.fail("a constraint of versions")
		}
		r.Set = append(r.Set, s)
		p.take(space)
		if !p.takes(",") {
			break
		}
		p.take(space)
	}
	p.take(space)
	if parentheses && !p.takes(")") {
		return p.fail("a comma or )")
	}
	return true
}

// marker parses the marker, if there is one, and expects the end.
func (p *parser) marker(r *Requirement) bool {
	if p.end() {
		return true
	}
	if !p.takes(";") {
		return p.fail("a comma between constraints, or a semicolon before a marker")
	}
	m, ok := p.or(0)
	if !ok {
		return false
	}
	if p.take(space); !p.end() {
		return p.fail("the end of the marker")
	}
	r.Marker = m
	return true
}
