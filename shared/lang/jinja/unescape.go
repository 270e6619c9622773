package jinja

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

var escapes = map[byte]string{
	'\n': "",
	'\\': `\`,
	'\'': "'",
	'"':  `"`,
	'a':  "\a",
	'b':  "\b",
	'f':  "\f",
	'n':  "\n",
	'r':  "\r",
	't':  "\t",
	'v':  "\v",
}

// unescape decodes the escape sequences of a Python string.
func unescape(text string) (string, error) {
	if !strings.Contains(text, `\`) {
		return text, nil
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) {
			b.WriteByte(text[i])
			continue
		}
		i++
		c := text[i]
		if e, ok := escapes[c]; ok {
			b.WriteString(e)
			continue
		}
		n, base, skip := 0, 16, 1
		switch {
		case c == 'x':
			n = 2
		case c == 'u':
			n = 4
		case c == 'U':
			n = 8
		case c >= '0' && c <= '7':
			base, skip = 8, 0
			for n < 3 && i+n < len(text) && text[i+n] >= '0' && text[i+n] <= '7' {
				n++
			}
		case c == 'N':
			return "", fmt.Errorf(`\N{…} is not supported in a string; write the character itself`)
		default:
			b.WriteByte('\\')
			b.WriteByte(c)
			continue
		}
		if i+skip+n > len(text) {
			return "", fmt.Errorf(`the escape \%c is cut off`, c)
		}
		code, err := strconv.ParseUint(text[i+skip:i+skip+n], base, 32)
		if err != nil || code > utf8.MaxRune {
			return "", fmt.Errorf(`\%c%s is not a character`, c, text[i+skip:i+skip+n])
		}
		if !utf8.ValidRune(rune(code)) { // checked
			return "", fmt.Errorf(`\%c%s is half of a pair of surrogates, which no text can hold; `+
				`write the whole character: \U0001f600 instead of \ud83d\ude00`,
				c, text[i+skip:i+skip+n])
		}
		b.WriteRune(rune(code)) // checked
		i += skip + n - 1
	}
	return b.String(), nil
}
