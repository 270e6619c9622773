package resource

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"southbound/shared/fault"
)

const escaped = `,=]\`

func appendEscaped(b []byte, s string) []byte {
	if !strings.ContainsAny(s, escaped) {
		return append(b, s...)
	}
	for i := 0; i < len(s); i++ {
		if strings.IndexByte(escaped, s[i]) >= 0 {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return b
}

// NewID returns the identity made of its parts, without checking them; see Parts.Validate.
func NewID(typ, agent string, keys ...Key) ID {
	b := make([]byte, 0, len(typ)+len(agent)+64)
	b = append(b, typ...)
	b = append(b, '[')
	b = appendEscaped(b, agent)
	for _, k := range keys {
		b = append(b, ',')
		b = append(b, k.Name...)
		b = append(b, '=')
		b = appendEscaped(b, k.Value)
	}
	return ID(append(b, ']'))
}

// ID returns the identity made of the parts, without checking them.
func (p Parts) ID() ID { return NewID(p.Type, p.Agent, p.Keys...) }

// Validate reports what is wrong with the parts, as fault.Invalid.
func (p Parts) Validate() error {
	switch {
	case !ValidType(p.Type):
		return badID("the type %q is not two or more names joined by ::", p.Type)
	case !ValidAgent(p.Agent):
		return badID("the agent %q is empty or has characters that do not print", p.Agent)
	case len(p.Keys) == 0:
		return badID("there is no naming attribute")
	}
	seen := map[string]bool{}
	for _, k := range p.Keys {
		switch {
		case !validName(k.Name):
			return badID("the attribute name %q is not a letter followed by letters, digits and _", k.Name)
		case seen[k.Name]:
			return badID("the attribute %q is there twice", k.Name)
		case k.Value == "":
			return badID("the value of %q is empty", k.Name)
		case !utf8.ValidString(k.Value) || strings.ContainsRune(k.Value, 0):
			return badID("the value of %q is not text", k.Name)
		}
		seen[k.Name] = true
	}
	return nil
}

func badID(format string, args ...any) error {
	return fault.New(fault.Invalid, "read id", format, args...).WithHint("an id looks like fs::File[web1,path=/etc/motd]")
}

// ValidType reports whether s can name a type: two or more names joined by ::.
func ValidType(s string) bool {
	parts := strings.Split(s, "::")
	for _, p := range parts {
		if !validName(p) {
			return false
		}
	}
	return len(parts) > 1
}

// ValidAgent reports whether s can name an agent: not empty, printable, at most 255 bytes.
func ValidAgent(s string) bool {
	if s == "" || len(s) > 255 || !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	return true
}

func validName(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return false
		}
	}
	return s != ""
}

// ParseID reads an identity in its canonical text; anything else is fault.Invalid and says at which character.
func ParseID(s string) (Parts, error) {
	open := strings.IndexByte(s, '[')
	if open < 0 {
		return Parts{}, badID("%q has no [", s)
	}
	p := Parts{Type: s[:open]}
	rest := open + 1
	text, end, err := unescape(s, rest)
	if err != nil {
		return Parts{}, err
	}
	p.Agent, rest = text, end
	for rest < len(s) && s[rest] == ',' {
		eq := strings.IndexByte(s[rest:], '=')
		if eq < 0 {
			return Parts{}, badID("%q: there is no = after character %d", s, rest+1)
		}
		name := s[rest+1 : rest+eq]
		if text, end, err = unescape(s, rest+eq+1); err != nil {
			return Parts{}, err
		}
		p.Keys = append(p.Keys, Key{name, text})
		rest = end
	}
	if rest != len(s)-1 || s[rest] != ']' {
		return Parts{}, badID("%q: expected ] at the end, see character %d; , = ] and \\ in a value are written with \\ before them", s, rest+1)
	}
	return p, p.Validate()
}

// unescape reads text up to the next bare , = or ] and returns where that is.
func unescape(s string, from int) (string, int, error) {
	i := from
	for i < len(s) && strings.IndexByte(escaped, s[i]) < 0 {
		i++
	}
	if i < len(s) && s[i] != '\\' {
		return s[from:i], i, nil
	}
	b := []byte(s[from:i])
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i++
			if i == len(s) || strings.IndexByte(escaped, s[i]) < 0 {
				return "", 0, badID("%q: \\ at character %d stands before nothing that needs it", s, i)
			}
			b = append(b, s[i])
		case strings.IndexByte(escaped, c) >= 0:
			return string(b), i, nil
		default:
			b = append(b, c)
		}
	}
	return "", 0, badID("%q has no ] at the end", s)
}

// Type returns the type's name, "" when the id is malformed.
func (id ID) Type() string {
	if i := strings.IndexByte(string(id), '['); i > 0 {
		return string(id[:i])
	}
	return ""
}

// Agent returns the agent's name, "" when the id is malformed.
func (id ID) Agent() string {
	i := strings.IndexByte(string(id), '[')
	if i < 0 {
		return ""
	}
	agent, _, err := unescape(string(id), i+1)
	if err != nil {
		return ""
	}
	return agent
}

// KeyText returns the text of a scalar value as a naming attribute has it; false when v is no scalar or is empty.
func KeyText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, v != ""
	case int64:
		return strconv.FormatInt(v, 10), true
	case *big.Int:
		return v.String(), true
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return fmt.Sprint(v), true
	}
	return "", false
}
