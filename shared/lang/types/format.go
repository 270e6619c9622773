package types

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxWidth is the largest width and precision of a format.
const maxWidth = 1 << 20

// spec is a Python format specification:
// [[fill]align][sign][z][#][0][width][grouping][.precision][type].
type spec struct {
	fill      rune
	align     byte // < > = ^ or 0
	zero      bool // 0 before the width: pad with zeros between the sign and the digits
	sign      byte // + - space or 0
	noMinus   bool // z: print no negative zero
	alternate bool
	grouping  byte // , _ or 0
	width     int
	precision int // -1 for none
	kind      byte
}

func parseSpec(text string) (spec, error) {
	s := spec{fill: ' ', precision: -1}
	rest, filled := text, false
	if r, n := utf8.DecodeRuneInString(rest); n > 0 && len(rest) > n &&
		strings.IndexByte("<>=^", rest[n]) >= 0 {
		s.fill, s.align, rest, filled = r, rest[n], rest[n+1:], true
	} else if rest != "" && strings.IndexByte("<>=^", rest[0]) >= 0 {
		s.align, rest = rest[0], rest[1:]
	}
	take := func(set string) byte {
		if rest != "" && strings.IndexByte(set, rest[0]) >= 0 {
			c := rest[0]
			rest = rest[1:]
			return c
		}
		return 0
	}
	s.sign = take("+- ")
	s.noMinus = take("z") != 0
	s.alternate = take("#") != 0
	if take("0") != 0 && !filled {
		s.fill, s.zero = '0', s.align == 0
	}
	var err error
	if s.width, rest, err = digits(rest); err != nil {
		return s, err
	}
	s.width = max(s.width, 0)
	s.grouping = take(",_")
	if take(".") != 0 {
		if s.precision, rest, err = digits(rest); err != nil {
			return s, err
		}
		if s.precision < 0 {
			return s, errors.New("a precision is missing behind the point")
		}
	}
	if rest != "" {
		s.kind, rest = rest[0], rest[1:]
	}
	if rest != "" {
		return s, fmt.Errorf("%q is not a valid format", text)
	}
	return s, nil
}

// digits parses a number; -1 if there is none.
func digits(text string) (n int, rest string, err error) {
	i := 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		i++
	}
	if i == 0 {
		return -1, text, nil
	}
	n, err = strconv.Atoi(text[:i])
	if err != nil || n > maxWidth {
		return 0, "", fmt.Errorf("the format is wider than %d characters", maxWidth)
	}
	return n, text[i:], nil
}

// Format formats a value with a Python format specification, like format().
func Format(v Value, format string) (string, error) {
	if format == "" {
		return Text(v), nil
	}
	switch v.(type) {
	case string, int64, *big.Int, float64, bool:
	default:
		return "", fmt.Errorf("%s cannot be formatted with %q", Kind(v), format)
	}
	s, err := parseSpec(format)
	if err != nil {
		return "", err
	}
	switch v := v.(type) {
	case string:
		return s.text(v)
	case float64:
		return s.float(v)
	}
	if strings.IndexByte("eEfFgG%", s.kind) >= 0 && s.kind != 0 {
		f, ok := toFloat(v)
		if !ok {
			return "", errTooLarge
		}
		return s.float(f)
	}
	n, _ := whole(v)
	return s.integer(n)
}

func (s spec) unknownKind(of string) error {
	return fmt.Errorf("the format %q is not for %s", string(rune(s.kind)), of)
}

func (s spec) ungrouped() error {
	return fmt.Errorf("digits cannot be grouped by %c with the format %c", s.grouping, s.kind)
}

func (s spec) text(v string) (string, error) {
	switch {
	case s.kind != 0 && s.kind != 's':
		return "", s.unknownKind("a string")
	case s.sign != 0:
		return "", errors.New("a sign cannot be asked for in the format of a string")
	case s.align == '=':
		return "", errors.New("= cannot be used in the format of a string")
	case s.grouping != 0:
		return "", errors.New("digits cannot be grouped in the format of a string")
	case s.alternate || s.noMinus:
		return "", errors.New("# and z cannot be used in the format of a string")
	}
	if s.precision >= 0 {
		v = First(v, s.precision)
	}
	return s.pad("", v, '<'), nil
}

// First returns the first n characters of a text.
func First(text string, n int) string {
	for i := range text {
		if n--; n < 0 {
			return text[:i]
		}
	}
	return text
}

func (s spec) integer(n *big.Int) (string, error) {
	switch {
	case s.precision >= 0:
		return "", errors.New("a precision cannot be used in the format of an int")
	case s.noMinus:
		return "", errors.New("z cannot be used in the format of an int")
	case s.grouping != 0 && (s.kind == 'n' || s.kind == 'c'):
		return "", s.ungrouped()
	}
	abs := new(big.Int).Abs(n)
	prefix, body := "", ""
	group := 3
	switch s.kind {
	case 0, 'd', 'n':
		body = abs.String()
	case 'x', 'X', 'o', 'b':
		base := map[byte]int{'x': 16, 'X': 16, 'o': 8, 'b': 2}[s.kind]
		body, group = abs.Text(base), 4
		if s.alternate {
			prefix = "0" + string(rune(s.kind))
		}
		if s.kind == 'X' {
			body = strings.ToUpper(body)
		}
		if s.grouping == ',' {
			return "", s.ungrouped()
		}
	case 'c':
		if s.sign != 0 || s.alternate || !n.IsInt64() || n.Int64() < 0 || n.Int64() > utf8.MaxRune {
			return "", errors.New("c formats the number of a character, without a sign and #")
		}
		return s.pad("", string(rune(n.Int64())), '>'), nil // the range was checked above
	default:
		return "", s.unknownKind("an int")
	}
	return s.number(signOf(n.Sign() < 0, s.sign)+prefix, body, "", group), nil
}

func signOf(negative bool, asked byte) string {
	switch {
	case negative:
		return "-"
	case asked == '+' || asked == ' ':
		return string(rune(asked))
	}
	return ""
}

func (s spec) float(f float64) (string, error) {
	if s.grouping != 0 && s.kind == 'n' {
		return "", s.ungrouped()
	}
	body, err := s.floatBody(math.Abs(f))
	if err != nil {
		return "", err
	}
	negative := math.Signbit(f) && !math.IsNaN(f)
	if s.noMinus && strings.Trim(body, "0.%eE+-") == "" {
		negative = false
	}
	whole, rest := body, ""
	if i := strings.IndexAny(body, ".eE%"); i >= 0 {
		whole, rest = body[:i], body[i:]
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		s.grouping = 0
	}
	return s.number(signOf(negative, s.sign), whole, rest, 3), nil
}

// floatBody formats a float that is not negative.
func (s spec) floatBody(f float64) (string, error) {
	if s.kind == '%' {
		f *= 100 // the result may be infinite
	}
	special := math.IsInf(f, 0) || math.IsNaN(f)
	text := ""
	precision := s.precision
	if precision < 0 {
		precision = 6
	}
	switch s.kind {
	case 0:
		text = s.plainFloat(f)
	case 'e', 'E':
		text = strconv.FormatFloat(f, 'e', precision, 64)
	case 'f', 'F':
		text = strconv.FormatFloat(f, 'f', precision, 64)
	case 'g', 'G', 'n':
		text = s.general(f, max(precision, 1), false)
	case '%':
		text = strconv.FormatFloat(f, 'f', precision, 64) + "%"
	default:
		return "", s.unknownKind("a float")
	}
	if special {
		text = strings.ToLower(strings.TrimLeft(strconv.FormatFloat(f, 'f', -1, 64), "+"))
		if s.kind == '%' {
			text += "%"
		}
	}
	if s.alternate && !special {
		text = pointed(text)
	}
	if s.kind == 'E' || s.kind == 'F' || s.kind == 'G' {
		text = strings.ToUpper(text)
	}
	return text, nil
}

// pointed adds a decimal point to a number that has none.
func pointed(text string) string {
	if strings.Contains(text, ".") {
		return text
	}
	i := strings.IndexAny(text, "e%")
	if i < 0 {
		i = len(text)
	}
	return text[:i] + "." + text[i:]
}

// plainFloat formats a float without a type letter. Without a precision, it prints the shortest
// exact text. With a precision, it uses the general format with at least one digit after the point.
func (s spec) plainFloat(f float64) string {
	if s.precision < 0 {
		return FloatText(f)
	}
	return s.general(f, max(s.precision, 1), true)
}

// general formats a float in fixed or exponent notation, depending on its exponent.
func (s spec) general(f float64, precision int, point bool) string {
	e := strconv.FormatFloat(f, 'e', precision-1, 64)
	i := strings.IndexByte(e, 'e')
	if i < 0 {
		return e // infinity or NaN
	}
	exponent, _ := strconv.Atoi(e[i+1:])
	limit := precision
	if point {
		limit = precision - 1
	}
	if exponent < -4 ||
		exponent >= max(limit, 0) && !(exponent == 0 && limit <= 0 && !point) && exponent >= limit {
		mantissa := e[:i]
		if !s.alternate {
			mantissa = trimZeros(mantissa)
		}
		return mantissa + e[i:]
	}
	text := strconv.FormatFloat(f, 'f', max(precision-1-exponent, 0), 64)
	if !s.alternate {
		text = trimZeros(text)
	}
	if point && !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

func trimZeros(text string) string {
	if !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// number joins the parts of a number, with grouping and padding.
func (s spec) number(before, whole, rest string, group int) string {
	if s.zero {
		s.align = '='
	}
	if s.grouping != 0 && s.kind != 'c' {
		least := 0
		if s.align == '=' && s.fill == '0' {
			least = s.width - len(before) - len(rest)
		}
		whole = grouped(whole, string(rune(s.grouping)), group, least)
	}
	return s.pad(before, whole+rest, '>')
}

// grouped inserts marks between groups of digits, after it has padded the digits with zeros to a
// width.
func grouped(digits, mark string, group, least int) string {
	if digits == "" || digits[0] < '0' || digits[0] > 'f' {
		return digits
	}
	// n zeros with their marks never exceed the width. The loop below adds the remaining one or
	// two.
	if n := least - (least+group)/(group+1) - len(digits); n > 0 {
		digits = strings.Repeat("0", n) + digits
	}
	for len(digits)+(len(digits)-1)/group < least {
		digits = "0" + digits
	}
	var b strings.Builder
	for i := range len(digits) {
		if i > 0 && (len(digits)-i)%group == 0 {
			b.WriteString(mark)
		}
		b.WriteByte(digits[i])
	}
	return b.String()
}

// pad pads a text to the width. before is a sign or a prefix, which stays in front if the alignment
// is =.
func (s spec) pad(before, body string, align byte) string {
	if s.align != 0 {
		align = s.align
	}
	n := s.width - utf8.RuneCountInString(before) - utf8.RuneCountInString(body)
	if n <= 0 {
		return before + body
	}
	fill := func(n int) string { return strings.Repeat(string(s.fill), n) }
	switch align {
	case '<':
		return before + body + fill(n)
	case '^':
		return fill(n/2) + before + body + fill(n-n/2)
	case '=':
		return before + fill(n) + body
	}
	return fill(n) + before + body
}
