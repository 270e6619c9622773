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

// escaped is the set of characters that must be escaped in an id: the delimiters and the escape
// character.
const escaped = `,=]\`

// NewID returns the id with these parts, without checking them; see Parts.Validate.
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

// ID returns the id with these parts, without checking them.
func (p Parts) ID() ID { return NewID(p.Type, p.Agent, p.Keys...) }

// Validate returns fault.Invalid if the parts are not valid. ParseID reads valid parts back
// unchanged.
func (p Parts) Validate() error {
	_, err := ParseID(string(p.ID()))
	if err != nil {
		return err
	}
	// A name with a character to be escaped could be read back as a different name.
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

// ValidName reports whether s is a valid attribute name: an ASCII letter, then ASCII letters,
// digits and _.
func ValidName(s string) bool { return s != "" && badName(s) < 0 }

// ValidType reports whether s is a valid type name: two or more names joined by ::.
func ValidType(s string) bool { return badType(s) < 0 }

// ValidAgent reports whether s is a valid agent name: not empty, printable, at most 255 bytes.
func ValidAgent(s string) bool { return s != "" && len(s) <= maxAgent && badAgent(s) < 0 }

const maxAgent = 255

// badName returns the offset of the first character in s that is not valid in a name, or -1. It
// accepts the empty text.
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

// badType returns the offset of the first character in s that is not valid in a type name, or -1.
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

// badValue returns the offset of the first character that is not valid in the value of a naming
// attribute, or -1. Line breaks are allowed.
func badValue(s string) int {
	for i, r := range s {
		if r == 0 || r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)) {
			return i
		}
	}
	return -1
}

// ParseID parses an id. It accepts only the canonical text: if ParseID(s) returns no error, the ID
// of the result is s. Otherwise it returns fault.Invalid with the position of the first wrong
// character, counted from 1.
func ParseID(s string) (Parts, error) {
	var p Parts
	if at, problem := scanID(s, &p); problem != "" {
		return Parts{}, badID(s, at, problem)
	}
	return p, nil
}

// badID returns the error for a problem in s at an offset.
func badID(s string, at int, problem string) error {
	n := utf8.RuneCountInString(s[:at]) + 1
	if len(s) > maxShown {
		s = s[:maxShown] + "…"
	}
	return fault.New(fault.Invalid, "read id", "%q: %s at character %d", s, problem,
		n).WithHint("%s", idHint)
}

// CheckReference returns the error of ParseID for an id that may leave out its agent.
func CheckReference(s string) error {
	if !Relative(s) {
		_, err := ParseID(s)
		return err
	}
	const agent = "a" // any agent without escapes: with its comma, it adds two bytes
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
// does not check the rest of s.
func Relative(s string) bool {
	open := strings.IndexByte(s, '[')
	if open < 0 {
		return false
	}
	end, problem := scanText(s, open+1)
	return problem == "" && end < len(s) && s[end] == '='
}

// On returns the id for a reference s on an agent. If s leaves its agent out, On adds agent;
// otherwise it returns s. It does not check the result, which ParseID does.
func On(s, agent string) ID {
	if !Relative(s) {
		return ID(s)
	}
	open := strings.IndexByte(s, '[') + 1
	b := appendEscaped([]byte(s[:open]), agent)
	b = append(b, ',')
	return ID(append(b, s[open:]...))
}

// maxShown is the maximum length of an invalid id in an error.
const maxShown = 300

const idHint = `an id looks like fs::File[web1,path=/etc/motd]; , = ] and \ in a value have a \ before them`

// scanID checks an id and fills p, which may be nil. It returns the offset and the problem if s is
// not valid. If the problem is "", s is valid.
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

// scanKeys reads one or more occurrences of ",name=value" from i up to the end.
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

// named reports whether the keys of an id contain a key of that name.
func named(keys, name string) bool {
	for i := 0; i < len(keys); {
		if strings.HasPrefix(keys[i+1:], name) && keys[i+1+len(name)] == '=' {
			return true
		}
		i, _ = scanText(keys, i+strings.IndexByte(keys[i:], '=')+1)
	}
	return false
}

// scanText returns the end of the text that starts at i: the first unescaped comma, = or ], or the
// end of s.
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

// Type returns the name of the type without checking the rest of the id. It returns "" if there is
// no type.
func (id ID) Type() string {
	if i := strings.IndexByte(string(id), '['); i > 0 {
		return string(id[:i])
	}
	return ""
}

// Agent returns the name of the agent without checking the rest of the id. It returns "" if there
// is no agent.
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

// KeyText returns the text of a value as a naming attribute. It returns false if the value is not a
// scalar. It also returns false for a value that cannot be part of an id: the empty text, text that
// is not UTF-8 or contains a NUL, or a number that is not finite.
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
