package source

import (
	"math/big"
	"strconv"
	"strings"
)

// maxDigits limits the digits of a number, since the time to parse a number grows faster than its
// length.
const maxDigits = 1000

// plain parses an unquoted scalar by the core schema of YAML 1.2: yes, no, on and off are text, as
// are times and 1_000; an octal number starts with 0o. zero is set for an integer with leading
// zeros. problem is not "" for a number that cannot be stored.
func plain(s string) (value any, zero bool, problem string) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return nil, false, ""
	case "true", "True", "TRUE":
		return true, false, ""
	case "false", "False", "FALSE":
		return false, false, ""
	}
	if c := s[0]; c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
		return plainNumber(s)
	}
	return s, false, ""
}

// plainText reports whether an unquoted scalar is text.
func plainText(s string) bool {
	if s == "" || strings.IndexByte("0123456789-+.~nNtTfF", s[0]) < 0 {
		return s != ""
	}
	v, _, problem := plain(s)
	_, ok := v.(string)
	return ok && problem == ""
}

func plainNumber(s string) (value any, zero bool, problem string) {
	digits := strings.TrimLeft(s, "+-")
	signs := len(s) - len(digits)
	switch {
	case signs > 1:
		return s, false, ""
	case len(s) > maxDigits && strings.Trim(s, "0123456789+-.eExo") == "":
		return nil, false, "the number is too long"
	case isDigits(digits):
		return integer(strings.TrimPrefix(s, "+"), 10), len(digits) > 1 && digits[0] == '0', ""
	case signs == 0 && strings.HasPrefix(s, "0o") && inBase(s[2:], "01234567"):
		return integer(s[2:], 8), false, ""
	case signs == 0 && strings.HasPrefix(s, "0x") && inBase(s[2:], "0123456789abcdefABCDEF"):
		return integer(s[2:], 16), false, ""
	case isFloat(digits):
		f, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return nil, false, "the number is too large"
		}
		return f, false, ""
	}
	switch digits {
	case ".inf", ".Inf", ".INF":
		return nil, false, "infinity is not a number that can be stored"
	case ".nan", ".NaN", ".NAN":
		if signs == 0 {
			return nil, false, "not-a-number cannot be stored"
		}
	}
	return s, false, ""
}

func inBase(s, digits string) bool { return s != "" && strings.Trim(s, digits) == "" }

func isDigits(s string) bool { return inBase(s, "0123456789") }

// integer parses a text that is known to be an integer.
func integer(s string, base int) any {
	if n, err := strconv.ParseInt(s, base, 64); err == nil {
		return n
	}
	n, _ := new(big.Int).SetString(s, base)
	return n
}

// isFloat matches (\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
func isFloat(s string) bool {
	whole, rest := cutDigits(s)
	part := 0
	if strings.HasPrefix(rest, ".") {
		part, rest = cutDigits(rest[1:])
	}
	if whole+part == 0 {
		return false
	}
	if rest != "" && (rest[0] == 'e' || rest[0] == 'E') {
		rest = rest[1:]
		if rest != "" && (rest[0] == '-' || rest[0] == '+') {
			rest = rest[1:]
		}
		return isDigits(rest)
	}
	return rest == ""
}

func cutDigits(s string) (n int, rest string) {
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n, s[n:]
}

func isInteger(v any) bool {
	switch v.(type) {
	case int64, *big.Int:
		return true
	}
	return false
}
