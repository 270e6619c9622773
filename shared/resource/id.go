package resource

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"southbound/shared/fault"
)

// escaped are the characters that have to be escaped in an id: those that end a text, and the
// escape character.
const escaped = `,=]\`

// NewID returns the identity made of its parts, without checking them; see Parts.Validate.
func NewID(typ, agent string, keys ...Key) ID {
	n := len(typ) + len(agent) + 2
	for _, k := range keys {
		n += len(k.Name) + len(k.Value) + 2
	}
	b := make([]byte, 0, n+4)
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

func appendEscaped(b []byte, s string) []byte {
	if !strings.ContainsAny(s, escaped) {
		return append(b, s...)
	}
	for i := range len(s) {
		if strings.IndexByte(escaped, s[i]) >= 0 {
			b = append(b, '\\')
		}
		b = append(b, s[i])
	}
	return b
}

// ID returns the identity made of the parts, without checking them.
func (p Parts) ID() ID { return NewID(p.Type, p.Agent, p.Keys...) }

// Validate reports what is wrong with the parts, as fault.Invalid. What passes is read back by
// ParseID unchanged.
func (p Parts) Validate() error {
	_, err := ParseID(string(p.ID()))
	if err != nil {
		return err
	}
	// A name that holds what would have to be escaped can read back as something else.
	if !ValidType(p.Type) {
		return fault.New(fault.Invalid, "check id", "%q cannot name a type", p.Type).WithHint("%s",
			idHint)
	}
	for _, k := range p.Keys {
		if !ValidName(k.Name) {
			return fault.New(fault.Invalid, "check id", "%q cannot name an attribute", k.Name).
				WithHint("%s", idHint)
		}
	}
	return nil
}

// ValidName reports whether s can name an attribute: a letter, then letters, digits and _, all of
// ASCII.
func ValidName(s string) bool { return s != "" && badName(s) < 0 }

// ValidType reports whether s can name a type: two or more names joined by ::.
func ValidType(s string) bool { return badType(s) < 0 }

// ValidAgent reports whether s can name an agent: not empty, printable, at most 255 bytes.
func ValidAgent(s string) bool { return s != "" && len(s) <= maxAgent && badAgent(s) < 0 }

const maxAgent = 255

// badName returns the offset at which s stops being a name, or -1. The empty text passes.
func badName(s string) int {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && (c < '0' || c > '9')) {
			return i
		}
	}
	return -1
}

// badType returns the offset at which s stops being the name of a type, or -1.
func badType(s string) int {
	from, names := 0, 0
	for {
		end := strings.IndexByte(s[from:], ':')
		if end < 0 {
			end = len(s) - from
		}
		if at := badName(s[from : from+end]); at >= 0 || end == 0 {
			return from + max(at, 0)
		}
		names++
		from += end
		switch {
		case from == len(s) && names < 2:
			return from
		case from == len(s):
			return -1
		case !strings.HasPrefix(s[from:], "::"):
			return from
		}
		from += 2
	}
}

func badAgent(s string) int {
	for i, r := range s {
		if !unicode.IsPrint(r) ||
			r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return -1
}

// badValue returns the offset of the first character that the value of a naming attribute cannot
// have, or -1. Line breaks are allowed.
func badValue(s string) int {
	for i, r := range s {
		if r == 0 || r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return -1
}

// ParseID reads an identity. Only the canonical text is accepted, so ParseID(s) without error means
// that its ID is s again; anything else is fault.Invalid and names the character, counted from 1,
// at which it goes wrong.
func ParseID(s string) (Parts, error) {
	var p Parts
	if at, problem := scanID(s, &p); problem != "" {
		return Parts{}, badID(s, at, problem)
	}
	return p, nil
}

// badID returns the error that s is wrong at an offset.
func badID(s string, at int, problem string) error {
	n := utf8.RuneCountInString(s[:at]) + 1
	if len(s) > maxShown {
		s = s[:maxShown] + "…"
	}
	return fault.New(fault.Invalid, "read id", "%q: %s at character %d", s, problem,
		n).WithHint("%s", idHint)
}

// CheckReference is the error of ParseID for the id that s stands for on any agent: s may leave out
// its agent.
func CheckReference(s string) error {
	if !Relative(s) {
		_, err := ParseID(s)
		return err
	}
	const agent = "a" // any that needs no escape: it and the comma behind it count two
	at, problem := scanID(string(On(s, agent)), nil)
	if problem == "" {
		return nil
	}
	if at > strings.IndexByte(s, '[') {
		at -= len(agent) + 1
	}
	return badID(s, at, problem)
}

// Relative reports whether s is an id that leaves out its agent, as in fs::Directory[path=/srv]. It
// looks no further than that: the rest of s may be wrong.
func Relative(s string) bool {
	open := strings.IndexByte(s, '[')
	if open < 0 {
		return false
	}
	end, problem := scanText(s, open+1)
	return problem == "" && end < len(s) && s[end] == '='
}

// On returns the id that s stands for where agent is managed: s with the agent added if s leaves it
// out, otherwise s itself. It is not checked: ParseID does that.
func On(s, agent string) ID {
	if !Relative(s) {
		return ID(s)
	}
	open := strings.IndexByte(s, '[') + 1
	b := appendEscaped([]byte(s[:open]), agent)
	b = append(b, ',')
	return ID(append(b, s[open:]...))
}

// maxShown is how much of a wrong id an error shows.
const maxShown = 300

const idHint = `an id looks like fs::File[web1,path=/etc/motd]; , = ] and \ in a value have a \ before them`

// scanID checks an id and fills p, which may be nil. It returns where and how s is wrong; "" means
// that it is right.
func scanID(s string, p *Parts) (at int, problem string) {
	open := strings.IndexByte(s, '[')
	if open < 0 {
		return len(s), "expected [ and an agent behind the type"
	}
	if at := badType(s[:open]); at >= 0 {
		return at, "expected a type, which is two or more names joined by ::,"
	}
	end, problem := scanText(s, open+1)
	if problem != "" {
		return end, problem
	}
	agent := unescape(s[open+1 : end])
	switch bad := badAgent(agent); {
	case agent == "":
		return open + 1, "expected the name of an agent"
	case bad >= 0 || len(agent) > maxAgent:
		return open + 1, "expected an agent of at most 255 bytes that all print"
	}
	if p != nil {
		p.Type, p.Agent = s[:open], agent
	}
	return scanKeys(s, end, p)
}

// scanKeys reads ",name=value", once or more, from i up to the end.
func scanKeys(s string, i int, p *Parts) (at int, problem string) {
	first := i
	for i < len(s) && s[i] == ',' {
		eq := strings.IndexByte(s[i:], '=') + i
		if eq < i {
			return i + 1, "expected name=value"
		}
		name := s[i+1 : eq]
		if bad := badName(name); bad >= 0 || name == "" {
			return i + 1 + max(bad, 0), "expected the name of an attribute"
		}
		if named(s[first:i], name) {
			return i + 1, "the attribute " + name + " is there twice,"
		}
		end, problem := scanText(s, eq+1)
		if problem != "" {
			return end, problem
		}
		raw := s[eq+1 : end]
		if bad := badValue(raw); bad >= 0 || raw == "" {
			return eq + 1 + max(bad, 0), "expected a value, which is text that is not empty,"
		}
		if p != nil {
			p.Keys = append(p.Keys, Key{name, unescape(raw)})
		}
		i = end
	}
	switch {
	case i == first:
		return i, "expected , and a naming attribute"
	case i >= len(s) || s[i] != ']':
		return i, "expected , or ]"
	case i+1 != len(s):
		return i + 1, "expected nothing more"
	}
	return len(s), ""
}

// named reports whether the text of the keys in an id has a key of that name.
func named(keys, name string) bool {
	for i := 0; i < len(keys); {
		if strings.HasPrefix(keys[i+1:], name) && keys[i+1+len(name)] == '=' {
			return true
		}
		i, _ = scanText(keys, i+strings.IndexByte(keys[i:], '=')+1)
	}
	return false
}

// scanText returns where the text that starts at i ends: at the first bare , = or ], or at the end
// of s.
func scanText(s string, i int) (end int, problem string) {
	for ; i < len(s); i++ {
		switch s[i] {
		case ',', '=', ']':
			return i, ""
		case '\\':
			if i+1 == len(s) || strings.IndexByte(escaped, s[i+1]) < 0 {
				return i, `a \ stands before nothing that needs it`
			}
			i++
		}
	}
	return i, ""
}

// unescape removes the escape characters from a text that scanText has accepted.
func unescape(s string) string {
	i := strings.IndexByte(s, '\\')
	if i < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for ; i >= 0; i = strings.IndexByte(s, '\\') {
		b = append(b, s[:i]...)
		b = append(b, s[i+1])
		s = s[i+2:]
	}
	return string(append(b, s...))
}

// Type returns the type's name without checking the rest, "" when there is none.
func (id ID) Type() string {
	if i := strings.IndexByte(string(id), '['); i > 0 {
		return string(id[:i])
	}
	return ""
}

// Agent returns the agent's name without checking the rest, "" when there is none.
func (id ID) Agent() string {
	i := strings.IndexByte(string(id), '[')
	if i < 0 {
		return ""
	}
	end, problem := scanText(string(id), i+1)
	if problem != "" || end == len(id) {
		return ""
	}
	return unescape(string(id[i+1 : end]))
}

// KeyText returns the text of a value as a naming attribute; false if it is not a scalar, or is one
// that cannot be part of an id: the empty text, one that is not UTF-8 or holds a NUL, or a number
// that is not finite.
func KeyText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, v != "" && badValue(v) < 0
	case int64:
		return strconv.FormatInt(v, 10), true
	case *big.Int:
		return v.String(), v != nil
	case bool:
		return strconv.FormatBool(v), true
	case float64:
		return string(appendFloat(nil, v)), !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return "", false
}
