package pysource

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type kind byte

const (
	word   kind = iota + 1 // a name, a keyword or a number
	quoted                 // a string
	sign                   // any other character
)

// token is a token of Python.
type token struct {
	kind kind
	text string // of a string: what it holds
	at   int    // where it begins, in bytes
}

// scanner splits a text into logical lines: a line goes on in brackets and behind a backslash.
type scanner struct {
	text  string
	at    int
	depth int // of brackets
	line  []token
	lines [][]token
}

// scan returns the logical lines of a text that are not empty.
func scan(text string) [][]token {
	s := &scanner{text: text}
	for s.at < len(s.text) {
		s.next()
	}
	s.end()
	return s.lines
}

// end ends a logical line.
func (s *scanner) end() {
	if len(s.line) > 0 {
		s.lines = append(s.lines, s.line)
	}
	s.line, s.depth = nil, 0
}

// next reads what comes next: white space, a comment, a token or the end of a line.
func (s *scanner) next() {
	c := s.text[s.at]
	switch {
	case c == '\n':
		if s.at++; s.depth == 0 {
			s.end()
		}
	case c == '\\' || c == ' ' || c == '\t' || c == '\r' || c == '\f':
		s.at++
		if c == '\\' && strings.HasPrefix(strings.TrimPrefix(s.text[s.at:], "\r"), "\n") {
			s.at += strings.IndexByte(s.text[s.at:], '\n') + 1
		}
	case c == '#':
		if n := strings.IndexByte(s.text[s.at:], '\n'); n >= 0 {
			s.at += n
		} else {
			s.at = len(s.text)
		}
	case c == '"' || c == '\'':
		s.quoted(s.at, s.at)
	case c == '_' || c >= utf8.RuneSelf || unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)):
		s.word()
	default:
		s.sign(c)
	}
}

func (s *scanner) sign(c byte) {
	switch c {
	case '(', '[', '{':
		s.depth++
	case ')', ']', '}':
		s.depth = max(s.depth-1, 0)
	}
	s.line = append(s.line, token{sign, string(c), s.at})
	s.at++
}

// word reads a name or a number, or a string that has a prefix.
func (s *scanner) word() {
	from := s.at
	for s.at < len(s.text) {
		r, n := utf8.DecodeRuneInString(s.text[s.at:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) &&
			(r != utf8.RuneError || n != 1) {
			break
		}
		s.at += n
	}
	if s.at < len(s.text) && (s.text[s.at] == '"' || s.text[s.at] == '\'') &&
		strings.Trim(strings.ToLower(s.text[from:s.at]), "rbfut") == "" {
		s.quoted(from, s.at)
		return
	}
	if s.at == from { // a character that is part of nothing
		s.at++
		return
	}
	s.line = append(s.line, token{word, s.text[from:s.at], from})
}

// quoted reads a string whose prefix begins at from. One that is not closed ends with its line, or
// with the text.
func (s *scanner) quoted(from, open int) {
	raw := strings.ContainsAny(s.text[from:open], "rR")
	end := s.text[open : open+1]
	if strings.HasPrefix(s.text[open:], strings.Repeat(end, 3)) {
		end = strings.Repeat(end, 3)
	}
	var out strings.Builder
	i := open + len(end)
	for i < len(s.text) && !strings.HasPrefix(s.text[i:], end) &&
		(len(end) > 1 || s.text[i] != '\n') {
		if s.text[i] == '\\' && i+1 < len(s.text) {
			out.WriteString(unescaped(s.text[i:i+2], raw))
			i += 2
			continue
		}
		out.WriteByte(s.text[i])
		i++
	}
	s.line = append(s.line, token{quoted, out.String(), from})
	if s.at = i; strings.HasPrefix(s.text[i:], end) {
		s.at = i + len(end)
	}
}

// unescaped returns what a backslash and a character stand for. Codes of characters are left as
// they are written.
func unescaped(pair string, raw bool) string {
	if raw {
		return pair
	}
	switch pair[1] {
	case '\n':
		return ""
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case '\\', '\'', '"':
		return pair[1:]
	}
	return pair
}
