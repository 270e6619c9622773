package form

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"southbound/shared/service/definition"
)

// Title returns the name of an attribute in words.
func Title(name string) string {
	out := strings.TrimSpace(strings.ReplaceAll(name, "_", " "))
	if out == "" {
		return name
	}
	r, n := utf8.DecodeRuneInString(out)
	return string(unicode.ToUpper(r)) + out[n:]
}

// Type returns the type of an attribute in words.
func Type(a *definition.Attribute) string {
	out := map[string]string{
		"string": "text", "int": "whole number", "float": "number", "number": "number",
		"bool": "yes or no", "dict": "object", "list": "list of values",
	}[a.Base()]
	if out == "" {
		out = a.Base()
	}
	if len(choices(a)) > 0 {
		out = "one of several values"
	}
	if a.List() {
		out = "list: " + out
	}
	if a.Optional() {
		out += ", or not set"
	}
	return out
}

// Rule returns the rule for the values of an attribute in words; "" for none.
func Rule(a *definition.Attribute) string {
	if a.ValidationType == nil {
		return ""
	}
	p := a.ValidationParam
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if all := choices(a); len(all) > 0 {
		var texts []string
		for _, v := range all {
			texts = append(texts, Shown(v))
		}
		add("one of %s", strings.Join(texts, ", "))
	}
	if s := between(p, "ge", "gt", "at least ", "greater than "); s != "" {
		out = append(out, s)
	}
	if s := between(p, "le", "lt", "at most ", "less than "); s != "" {
		out = append(out, s)
	}
	if v, ok := p["multiple_of"]; ok && v != nil {
		add("a multiple of %s", Shown(v))
	}
	least, hasLeast := p["min_length"]
	most, hasMost := p["max_length"]
	switch hasLeast, hasMost = hasLeast && least != nil, hasMost && most != nil; {
	case hasLeast && hasMost:
		add("%s to %s characters", Shown(least), Shown(most))
	case hasLeast:
		add("at least %s characters", Shown(least))
	case hasMost:
		add("at most %s characters", Shown(most))
	}
	if regex, ok := p["regex"].(string); ok {
		add("begins with a match of /%s/", regex)
		if strings.HasSuffix(regex, "$") && !strings.HasSuffix(regex, `\$`) {
			out[len(out)-1] = fmt.Sprintf("matches /%s/", regex)
		}
	}
	if len(out) == 0 && len(choices(a)) == 0 {
		add("checked as %s", strings.TrimSuffix(*a.ValidationType, "?"))
	}
	return strings.Join(out, ", ")
}

// between returns the inclusive or the exclusive bound in words.
func between(p map[string]any, with, without, withWords, withoutWords string) string {
	if v, ok := p[with]; ok && v != nil {
		return withWords + Shown(v)
	}
	if v, ok := p[without]; ok && v != nil {
		return withoutWords + Shown(v)
	}
	return ""
}

// Modifier returns a modifier in words.
func Modifier(m definition.Modifier) string {
	switch m {
	case definition.ReadOnly:
		return "set by the model"
	case definition.Once:
		return "set once, at creation"
	case definition.ReadWrite:
		return "can be changed"
	}
	return string(m)
}

// Limits returns the numbers of members in words.
func Limits(l definition.Limits) string {
	switch {
	case !l.Many() && l.Lower == 0:
		return "none or 1"
	case !l.Many():
		return "exactly 1"
	case l.Upper == nil && l.Lower == 0:
		return "any number"
	case l.Upper == nil:
		return fmt.Sprintf("at least %d", l.Lower)
	case l.Lower == 0:
		return fmt.Sprintf("at most %d", *l.Upper)
	}
	return fmt.Sprintf("%d to %d", l.Lower, *l.Upper)
}

// Shown returns a value as people read it: texts without quotes, other values as JSON on one line.
func Shown(v any) string {
	if s, is := v.(string); is {
		return s
	}
	b, err := json.Marshal(definition.Written(v))
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(b)
}

// Pattern returns the regular expression of an attribute for a control of a browser, which matches
// whole texts; "" if browsers may read it differently.
func Pattern(a *definition.Attribute) string {
	regex, _ := a.ValidationParam["regex"].(string)
	if a.ValidationType == nil || regex == "" || len(regex) > maxPattern {
		return ""
	}
	p := &patterns{rest: regex}
	for p.rest != "" {
		if !p.next() {
			return ""
		}
	}
	if p.class || p.depth != 0 {
		return ""
	}
	return `(?:` + p.out.String() + `)[\s\S]*`
}

const maxPattern = 500

// patterns translates a regular expression of Python for browsers, which read it with the flag v.
type patterns struct {
	rest  string
	out   strings.Builder
	class bool
	depth int
}

// next translates the next characters; false if they may have another meaning in a browser.
func (p *patterns) next() bool {
	c := p.rest[0]
	switch {
	case c >= utf8.RuneSelf || c < ' ':
		return false
	case c == '\\':
		return p.escape()
	case p.class:
		return p.inClass(c)
	case c == '[':
		return p.open()
	case c == '(':
		if strings.HasPrefix(p.rest, "(?:") {
			p.out.WriteString("(?:")
			p.rest = p.rest[3:]
			p.depth++
			return true
		}
		if strings.HasPrefix(p.rest, "(?") {
			return false
		}
		p.depth++
	case c == ')':
		p.depth--
	case c == '{' || c == '}':
		return p.braces()
	case c == '/' || c == ']':
		p.out.WriteByte('\\')
	case strings.IndexByte("*+?", c) >= 0 && len(p.rest) > 1 && p.rest[1] == '+':
		return false // possessive
	}
	p.out.WriteByte(c)
	p.rest = p.rest[1:]
	return p.depth >= 0
}

// open translates the begin of a class.
func (p *patterns) open() bool {
	n := 1
	if strings.HasPrefix(p.rest, "[^") {
		n = 2
	}
	if len(p.rest) <= n || p.rest[n] == ']' {
		return false
	}
	p.out.WriteString(p.rest[:n])
	p.rest, p.class = p.rest[n:], true
	if p.rest[0] == '-' {
		p.out.WriteString(`\-`)
		p.rest = p.rest[1:]
	}
	return true
}

func (p *patterns) inClass(c byte) bool {
	last := len(p.rest) > 1 && p.rest[1] == ']'
	switch {
	case c == ']':
		p.class = false
	case c == '-' && last:
		p.out.WriteByte('\\')
	case len(p.rest) > 1 && p.rest[1] == c && strings.IndexByte("&!#$%*+,.:;<=>?@^`~-", c) >= 0:
		return false // reserved
	case strings.IndexByte("()[{}/|", c) >= 0:
		p.out.WriteByte('\\')
	}
	p.out.WriteByte(c)
	p.rest = p.rest[1:]
	return true
}

// braces copies a count, such as {0,30}.
func (p *patterns) braces() bool {
	end := strings.IndexByte(p.rest, '}')
	if p.rest[0] != '{' || end < 2 || strings.Trim(p.rest[1:end], "0123456789,") != "" ||
		p.rest[1] == ',' || strings.Count(p.rest[:end], ",") > 1 {
		return false
	}
	p.out.WriteString(p.rest[:end+1])
	p.rest = p.rest[end+1:]
	return true
}

func (p *patterns) escape() bool {
	if len(p.rest) < 2 {
		return false
	}
	c := p.rest[1]
	switch {
	case c == 'd':
		p.out.WriteString(`\p{Nd}`)
	case strings.IndexByte(`^$\.*+?()[]{}|/`, c) >= 0, c == '-' && p.class:
		p.out.WriteString(p.rest[:2])
	case strings.IndexByte(`-_ @:,;=<>!"'#%&~`, c) >= 0 && !p.class:
		p.out.WriteByte(c)
	default:
		return false
	}
	p.rest = p.rest[2:]
	return true
}
