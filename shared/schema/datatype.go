package schema

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// DataType is a parsed data type expression, such as Optional[Integer[0,65535]].
type DataType struct {
	name    string
	of      []*DataType
	min     *big.Int // of an integer, or of a length; nil: open
	max     *big.Int
	words   []string // of an Enum
	pattern *regexp.Regexp
	source  string // of a Pattern
}

// ParseDataType reads an expression. Errors are fault.Invalid and name the character.
func ParseDataType(expr string) (*DataType, error) {
	p := &typeParser{s: expr}
	d := p.parse(0)
	p.space()
	if p.err == nil && p.i != len(expr) {
		p.fail("nothing more")
	}
	if p.err != nil {
		return nil, p.err
	}
	return d, nil
}

type typeParser struct {
	s   string
	i   int
	err error
}

func (p *typeParser) fail(expected string) {
	if p.err == nil {
		p.err = fault.New(fault.Invalid, "read data type", "%q: expected %s at character %d", p.s, expected, p.i+1)
	}
	p.i = len(p.s)
}

func (p *typeParser) space() {
	for p.i < len(p.s) && strings.IndexByte(" \t\n", p.s[p.i]) >= 0 {
		p.i++
	}
}

// accept skips c when it is next.
func (p *typeParser) accept(c byte) bool {
	p.space()
	if p.i < len(p.s) && p.s[p.i] == c {
		p.i++
		return true
	}
	return false
}

func (p *typeParser) word() string {
	p.space()
	from := p.i
	for p.i < len(p.s) && (p.s[p.i] == '_' || p.s[p.i] == '-' && p.i > from || p.s[p.i]|0x20 >= 'a' && p.s[p.i]|0x20 <= 'z' || p.s[p.i] >= '0' && p.s[p.i] <= '9') {
		p.i++
	}
	return p.s[from:p.i]
}

const maxTypeDepth = 30

func (p *typeParser) parse(depth int) *DataType {
	d := &DataType{name: p.word()}
	if depth > maxTypeDepth {
		p.fail("less nesting")
		return d
	}
	open := p.accept('[')
	switch d.name {
	case "Any", "Undef", "Boolean":
		if open {
			p.fail("no parameters")
		}
	case "String", "Integer", "Float", "Numeric":
		if open {
			p.bounds(d)
		}
	case "Enum":
		p.list(open, func() { d.words = append(d.words, p.literal()) })
	case "Pattern":
		p.list(open, func() { p.regex(d) })
	case "Optional", "Sensitive":
		p.list(open, func() { d.of = append(d.of, p.parse(depth+1)) })
		if len(d.of) != 1 {
			p.fail("one type")
		}
	case "Variant":
		p.list(open, func() { d.of = append(d.of, p.parse(depth+1)) })
	case "Array", "Hash":
		if open {
			p.elements(d, depth)
		}
	default:
		p.i -= len(d.name)
		p.fail("Any, Undef, Boolean, String, Integer, Float, Numeric, Enum, Pattern, Optional, Sensitive, Variant, Array or Hash")
	}
	return d
}

// list reads "a, b]" after an opening bracket.
func (p *typeParser) list(open bool, item func()) {
	if !open {
		p.fail("[")
		return
	}
	for p.err == nil {
		item()
		if p.accept(']') {
			return
		}
		if !p.accept(',') {
			p.fail(", or ]")
		}
		if p.accept(']') {
			return
		}
	}
}

// bounds reads "min, max]", each of which may be the word default.
func (p *typeParser) bounds(d *DataType) {
	var out []*big.Int
	p.list(true, func() {
		w := p.word()
		if w == "" && p.accept('-') {
			w = "-" + p.word()
		}
		n, ok := new(big.Int).SetString(w, 0)
		switch {
		case w == "default":
			out = append(out, nil)
		case !ok || len(out) == 2:
			p.fail("a number or default")
		default:
			out = append(out, n)
		}
	})
	if len(out) > 0 {
		d.min = out[0]
	}
	if len(out) > 1 {
		d.max = out[1]
	}
	if d.min != nil && d.max != nil && d.min.Cmp(d.max) > 0 {
		p.fail("a minimum that is not above the maximum")
	}
}

// elements reads the types in an Array or Hash, and its size.
func (p *typeParser) elements(d *DataType, depth int) {
	want := 1
	if d.name == "Hash" {
		want = 2
	}
	for p.err == nil {
		p.space()
		if p.i < len(p.s) && (p.s[p.i] >= '0' && p.s[p.i] <= '9') {
			p.bounds(d)
			return
		}
		if d.of = append(d.of, p.parse(depth+1)); len(d.of) > want {
			p.fail("a size")
		}
		if p.accept(']') {
			break
		}
		if !p.accept(',') {
			p.fail(", or ]")
		}
	}
	if len(d.of) != want {
		p.fail("two types")
	}
}

// literal reads a bare or quoted word.
func (p *typeParser) literal() string {
	p.space()
	if p.i < len(p.s) && (p.s[p.i] == '\'' || p.s[p.i] == '"') {
		quote := p.s[p.i]
		end := strings.IndexByte(p.s[p.i+1:], quote)
		if end < 0 {
			p.fail("the closing quote")
			return ""
		}
		w := p.s[p.i+1 : p.i+1+end]
		p.i += end + 2
		return w
	}
	w := p.word()
	if w == "" {
		p.fail("a word")
	}
	return w
}

func (p *typeParser) regex(d *DataType) {
	p.space()
	if p.i >= len(p.s) || p.s[p.i] != '/' || d.pattern != nil {
		p.fail("one /regular expression/")
		return
	}
	end := p.i + 1
	for end < len(p.s) && p.s[end] != '/' {
		if p.s[end] == '\\' {
			end++
		}
		end++
	}
	if end >= len(p.s) {
		p.fail("the closing /")
		return
	}
	d.source = strings.ReplaceAll(p.s[p.i+1:end], `\/`, "/")
	re, err := regexp.Compile("(?m)" + strings.ReplaceAll(d.source, `\Z`, `\n?\z`))
	if err != nil {
		p.fail("a regular expression that can be run (" + err.Error() + ")")
		return
	}
	d.pattern = re
	p.i = end + 1
}

// String returns the expression in its normal form.
func (d *DataType) String() string {
	var parts []string
	for _, o := range d.of {
		parts = append(parts, o.String())
	}
	for _, w := range d.words {
		parts = append(parts, "'"+w+"'")
	}
	if d.pattern != nil {
		parts = append(parts, "/"+strings.ReplaceAll(d.source, "/", `\/`)+"/")
	}
	if d.min != nil || d.max != nil {
		lo := "default"
		if d.min != nil {
			lo = d.min.String()
		}
		parts = append(parts, lo)
		if d.max != nil {
			parts = append(parts, d.max.String())
		}
	}
	if len(parts) == 0 {
		return d.name
	}
	return d.name + "[" + strings.Join(parts, ", ") + "]"
}

// Optional reports whether an attribute of this type may be left out.
func (d *DataType) Optional() bool { return d.name == "Optional" || d.name == "Undef" }

// Describe says for people what a value must be.
func (d *DataType) Describe() string {
	switch d.name {
	case "Optional", "Sensitive":
		return d.of[0].Describe()
	case "Variant":
		var parts []string
		for _, o := range d.of {
			parts = append(parts, o.Describe())
		}
		return strings.Join(parts, " or ")
	case "Enum":
		return "one of " + strings.Join(d.words, ", ")
	case "Pattern":
		return "text that matches /" + d.source + "/"
	case "Integer", "Float", "Numeric":
		return d.describeNumber()
	case "String":
		if d.min != nil || d.max != nil {
			return "text of the right length (" + d.String() + ")"
		}
		return "text"
	case "Boolean":
		return "true or false"
	case "Array":
		return "a list"
	case "Hash":
		return "a map"
	}
	return "any value"
}

func (d *DataType) describeNumber() string {
	word := map[string]string{"Integer": "a whole number", "Float": "a number with a fraction", "Numeric": "a number"}[d.name]
	switch {
	case d.min != nil && d.max != nil:
		return fmt.Sprintf("%s between %s and %s", word, d.min, d.max)
	case d.min != nil:
		return fmt.Sprintf("%s of at least %s", word, d.min)
	}
	return word
}

// Check reports why a value is not of this type, without showing the value. Secrets, parameters and facts fit every type: what they
// stand for is checked when it is known. A file fits where text does.
func (d *DataType) Check(v any) error {
	switch v.(type) {
	case resource.Secret, resource.Parameter, resource.Fact:
		return nil
	case resource.File:
		v = "file"
	}
	if d.accepts(v) {
		return nil
	}
	return fault.New(fault.Invalid, "", "expected %s, got %s", d.Describe(), kindOf(v))
}

func (d *DataType) accepts(v any) bool {
	switch d.name {
	case "Any":
		return true
	case "Undef":
		return v == nil
	case "Optional":
		return v == nil || d.of[0].Check(v) == nil
	case "Sensitive":
		return d.of[0].Check(v) == nil
	case "Variant":
		for _, o := range d.of {
			if o.Check(v) == nil {
				return true
			}
		}
		return false
	}
	switch v := v.(type) {
	case bool:
		return d.name == "Boolean"
	case string:
		return d.acceptsText(v)
	case int64:
		return (d.name == "Integer" || d.name == "Numeric") && d.within(big.NewInt(v))
	case *big.Int:
		return (d.name == "Integer" || d.name == "Numeric") && d.within(v)
	case float64:
		return d.name == "Float" || d.name == "Numeric"
	case []any:
		return d.name == "Array" && d.within(big.NewInt(int64(len(v)))) && all(v, d.of)
	case map[string]any:
		return d.name == "Hash" && d.within(big.NewInt(int64(len(v)))) && d.members(v)
	}
	return false
}

func (d *DataType) acceptsText(s string) bool {
	switch d.name {
	case "String":
		return d.min == nil && d.max == nil || d.within(big.NewInt(int64(utf8.RuneCountInString(s))))
	case "Enum":
		for _, w := range d.words {
			if w == s {
				return true
			}
		}
	case "Pattern":
		return d.pattern.MatchString(s)
	}
	return false
}

func (d *DataType) within(n *big.Int) bool {
	return (d.min == nil || n.Cmp(d.min) >= 0) && (d.max == nil || n.Cmp(d.max) <= 0)
}

func all(list []any, of []*DataType) bool {
	for _, e := range list {
		if len(of) > 0 && of[0].Check(e) != nil {
			return false
		}
	}
	return true
}

func (d *DataType) members(m map[string]any) bool {
	for k, e := range m {
		if len(d.of) == 2 && (d.of[0].Check(k) != nil || d.of[1].Check(e) != nil) {
			return false
		}
	}
	return true
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "nothing"
	case bool:
		return "the boolean " + strconv.FormatBool(v)
	case string:
		return "text"
	case int64, *big.Int:
		return "a whole number"
	case float64:
		return "a number with a fraction"
	case []any:
		return "a list"
	case map[string]any:
		return "a map"
	}
	return "something else"
}

// JSONSchema returns what editors need to check a literal value.
func (d *DataType) JSONSchema() map[string]any {
	switch d.name {
	case "String":
		return map[string]any{"type": "string"}
	case "Boolean":
		return map[string]any{"type": "boolean"}
	case "Integer":
		out := map[string]any{"type": "integer"}
		if d.min != nil {
			out["minimum"] = d.min
		}
		if d.max != nil {
			out["maximum"] = d.max
		}
		return out
	case "Float", "Numeric":
		return map[string]any{"type": "number"}
	case "Enum":
		return map[string]any{"enum": d.words}
	case "Pattern":
		return map[string]any{"type": "string"}
	case "Undef":
		return map[string]any{"type": "null"}
	case "Sensitive":
		return d.of[0].JSONSchema()
	case "Optional":
		return map[string]any{"anyOf": []any{d.of[0].JSONSchema(), map[string]any{"type": "null"}}}
	case "Variant":
		var any0 []any
		for _, o := range d.of {
			any0 = append(any0, o.JSONSchema())
		}
		return map[string]any{"anyOf": any0}
	case "Array":
		out := map[string]any{"type": "array"}
		if len(d.of) > 0 {
			out["items"] = d.of[0].JSONSchema()
		}
		return out
	case "Hash":
		out := map[string]any{"type": "object"}
		if len(d.of) == 2 {
			out["additionalProperties"] = d.of[1].JSONSchema()
		}
		return out
	}
	return map[string]any{}
}
