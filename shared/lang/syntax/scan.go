package syntax

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxText is the largest size of a text in bytes.
const MaxText = 32 << 20

// MaxTokens is the largest number of tokens of a text, including comments. Each token takes about a
// hundred bytes until the text is parsed.
const MaxTokens = 8 << 20

// Problem is an error in a text, or a warning if Warning is true.
type Problem struct {
	Code     string // a stable word, such as syntax
	Pos, End Pos
	Message  string
	Hint     string // how to fix the problem; may be ""
	Warning  bool
	Related  []Related
}

// Related is another position that belongs to a problem.
type Related struct {
	Pos     Pos
	Message string
}

// The codes of syntax problems.
const (
	CodeSyntax    = "syntax"
	CodeEncoding  = "encoding"
	CodeTooLarge  = "too_large"
	CodeTooDeep   = "too_deep"
	CodeEscape    = "invalid_escape"
	CodeDropped   = "dropped_expression"
	CodeReserved  = "reserved_word"
	CodeName      = "invalid_name"
	CodeFormat    = "invalid_format"
	CodeNamespace = "namespace_access"
)

// Scan returns the tokens of a text, including comments, and its problems. The last token is EOF.
// An invalid token is reported, and has the kind Unknown.
func Scan(text string) ([]Token, []Problem) { return scan(text, MaxTokens) }

// scan is Scan with a limit for the number of tokens. If a text has more tokens, scan returns only
// EOF.
func scan(text string, maxTokens int) ([]Token, []Problem) {
	const perToken = 3 // bytes of text, about
	s := &scanner{
		text: text, at: Pos{Line: 1, Column: 1}, maxTokens: maxTokens,
		tokens: make([]Token, 0, min(len(text), sample)/perToken+1),
	}
	switch {
	case len(text) > MaxText:
		s.problem(CodeTooLarge, s.at, s.at, "divide it into several files",
			"the file is larger than %d MiB", MaxText>>20)
		s.text = ""
	case !utf8.ValidString(text):
		s.invalid()
	}
	if strings.HasPrefix(s.text, "\ufeff") {
		s.at.Offset = int32(len("\ufeff"))
	}
	for s.next() {
	}
	s.token(EOF, 0)
	return s.tokens, s.problems
}

type scanner struct {
	text      string
	maxTokens int
	at        Pos
	tokens    []Token
	problems  []Problem
}

func (s *scanner) rest() string { return s.text[s.at.Offset:] }

func (s *scanner) problem(code string, from, to Pos, hint, format string, args ...any) {
	s.problems = append(s.problems, Problem{Code: code, Pos: from, End: to,
		Message: fmt.Sprintf(format, args...), Hint: hint})
}

// invalid reports the first byte that is not UTF-8. Such a text is not scanned at all.
func (s *scanner) invalid() {
	bad := 0
	for bad < len(s.text) {
		r, n := utf8.DecodeRuneInString(s.text[bad:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		bad += n
	}
	s.advance(bad)
	s.problem(CodeEncoding, s.at, s.at, "save it as UTF-8",
		"the text is not UTF-8: the byte 0x%02x", s.text[bad])
	s.text = s.text[:bad]
}

// advance moves the position by n bytes.
func (s *scanner) advance(n int) {
	rest := s.rest()
	s.at = s.at.behind(rest[:n], rest[n:])
}

// sample is the number of bytes after which the scanner extrapolates the number of tokens. Each
// later growth of the slice would copy all tokens.
const sample = 16 << 10

func (s *scanner) token(k Kind, n int) {
	from := s.at
	if k != EOF && len(s.tokens) == s.maxTokens {
		s.problem(CodeTooLarge, from, from, "divide it into several files",
			"the file has more than %d words and signs", s.maxTokens)
		s.text, s.tokens = s.text[:from.Offset], nil
		return
	}
	switch k {
	case Name, TypeName, Keyword, Int, Float, Rel, Compare, Punct: // ASCII, on a line
		s.at.Offset += int32(n) // texts are bounded by MaxText
		s.at.Column += int32(n) // texts are bounded by MaxText
	default:
		s.advance(n)
	}
	if len(s.tokens) == cap(s.tokens) {
		const spare = 16 // inverse of the margin that is added to the estimate
		left := len(s.text) - int(from.Offset)
		more := len(s.tokens) * left / max(int(from.Offset), 1)
		more = min(more+more/spare+spare, left+1, s.maxTokens-len(s.tokens)+1)
		s.tokens = slices.Grow(s.tokens, more)
	}
	s.tokens = append(s.tokens, Token{Kind: k, Text: s.text[from.Offset:s.at.Offset], Pos: from})
}

// next scans one token, or the white space before it; false at the end.
func (s *scanner) next() bool {
	rest := s.rest()
	if rest == "" {
		return false
	}
	if n := blanks(rest); n > 0 {
		s.advance(n)
		return true
	}
	if rest[0] == '#' {
		n := strings.IndexAny(rest, "\r\n")
		if n < 0 {
			n = len(rest)
		}
		s.token(Comment, n)
		return true
	}
	if k, n := length(rest); n > 0 {
		s.token(k, n)
	} else {
		s.illegal()
	}
	return true
}

// blanks returns the length of the leading white space.
func blanks(text string) int {
	for i := range len(text) {
		if c := text[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return i
		}
	}
	return len(text)
}

// length returns the kind and the length of the first token; the length is 0 if there is no valid
// token.
func length(text string) (Kind, int) {
	switch c := text[0]; {
	case letter(c):
		if k, n := regexLength(text); n > 0 {
			return k, n
		}
		if k, n := textLength(text); n > 0 {
			return k, n
		}
		return wordLength(text)
	case digit(c):
	case c == '"':
		if k, n := blockLength(text); n > 0 {
			return k, n
		}
	default:
		if k, n := signLength(text); n > 0 {
			return k, n
		}
	}
	return numberLength(text)
}

// instead maps signs of other languages to hints.
var instead = map[rune]string{
	'!': "write `not`, or != between two values", '&': "write `and`", '|': "write `or`",
	';': "nothing stands between statements that have lines of their own",
}

// illegal reports an invalid token.
func (s *scanner) illegal() {
	from, rest := s.at, s.rest()
	r, n := utf8.DecodeRuneInString(rest)
	if r == '"' && s.openBlock() {
		return
	}
	if r == '"' || r == '\'' {
		line := rest
		if i := strings.IndexAny(rest, "\r\n"); i >= 0 {
			line = rest[:i]
		}
		s.token(Unknown, len(line))
		s.problem(CodeSyntax, from, s.at,
			`end it with the same quote, or write """ around a text over lines`,
			"the text does not end on its line")
		return
	}
	for n < len(rest) {
		next, size := utf8.DecodeRuneInString(rest[n:])
		if next < utf8.RuneSelf && (next != r || r != '&' && r != '|') {
			break
		}
		n += size
	}
	s.token(Unknown, n)
	hint := "texts stand between quotes, comments behind #"
	if h, ok := instead[r]; ok {
		hint = h
	}
	s.problem(CodeSyntax, from, s.at, hint, "%q cannot stand here", rest[:n])
}

// openBlock reports an invalid text over several lines: one that is unterminated, or an f-string,
// which is skipped up to its end. The scanner has read the first two quotes as an empty text.
// openBlock returns false if the previous token is no such text.
func (s *scanner) openBlock() bool {
	if len(s.tokens) == 0 {
		return false
	}
	last := &s.tokens[len(s.tokens)-1]
	if last.End().Offset != s.at.Offset || !strings.HasSuffix(last.Text, `""`) ||
		len(last.Text) > len(`f""`) {
		return false
	}
	from, rest := last.Pos, s.rest()
	end := strings.Index(rest[1:], `"""`)
	switch {
	case last.Kind == String:
		s.token(Unknown, len(rest))
		s.problem(CodeSyntax, from, s.at, `write """ behind its last line`,
			`the text over lines does not end`)
	case end < 0:
		s.token(Unknown, len(rest))
		s.problem(CodeSyntax, from, s.at, `write """ before and behind a text over lines, `+
			`with values in it as {{ host.name }}`, "no %s\"\"\" begins a text", last.Text[:1])
	default:
		s.token(Unknown, len(`"`)+end+len(`"""`))
		s.problem(CodeSyntax, from, s.at, `write it without the `+last.Text[:1]+
			`, with values in it as {{ host.name }}`, "no text over lines begins with %s\"\"\"",
			last.Text[:1])
	}
	return true
}

// regexLength scans `matching /…/`. Only after this word does a / start a regular expression.
func regexLength(text string) (Kind, int) {
	const word = "matching"
	if !strings.HasPrefix(text, word) {
		return 0, 0
	}
	blank := strings.TrimLeft(text[len(word):], " \t\r\n")
	at := len(text) - len(blank)
	if at == len(word) || blank == "" || blank[0] != '/' {
		return 0, 0
	}
	if n := quoted(blank, '/'); n > 2 {
		return Regex, at + n
	}
	return 0, 0
}

// quoted returns the length of a quoted text on one line, including both marks; 0 if it is
// unterminated.
func quoted(text string, mark byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case mark:
			return i + 1
		case '\n', '\r':
			return 0
		case '\\':
			if i++; i < len(text) && (text[i] == '\n' || text[i] == '\r') {
				return 0
			}
		}
	}
	return 0
}

// textLength scans f"…" and r"…", which take precedence over names.
func textLength(text string) (Kind, int) {
	k, from := String, 0
	switch text[0] {
	case 'f':
		k, from = FString, 1
	case 'r':
		k, from = Raw, 1
	}
	if len(text) <= from || text[from] != '"' && text[from] != '\'' {
		return 0, 0
	}
	if from == 0 {
		return 0, 0 // blockLength takes precedence
	}
	if n := quoted(text[from:], text[from]); n > 0 {
		return k, from + n
	}
	return 0, 0
}

// wordLength scans a name or a keyword. A hyphen is part of the word, and the parser rejects it.
func wordLength(text string) (Kind, int) {
	n := 0
	for n < len(text) && (letter(text[n]) || n > 0 && (digit(text[n]) || text[n] == '-')) {
		n++
	}
	switch {
	case n == 0:
		return 0, 0
	case IsKeyword(text[:n]):
		return Keyword, n
	case text[0] >= 'A' && text[0] <= 'Z':
		return TypeName, n
	}
	return Name, n
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' }
func digit(c byte) bool  { return c >= '0' && c <= '9' }

// signLength scans the signs that take precedence over numbers: `--` and `->` are relations, even
// before a digit.
func signLength(text string) (Kind, int) {
	if len(text) < 2 {
		return 0, 0
	}
	switch text[:2] {
	case "::", "+=":
		return Punct, 2
	case "--", "->", "<-":
		return Rel, 2
	case "!=", "==", ">=", "<=":
		return Compare, 2
	}
	if text[0] == '<' || text[0] == '>' {
		return Compare, 1
	}
	return 0, 0
}

// blockLength scans a text over several lines, which starts and ends with three to five quotes. It
// takes as many quotes as possible at the start if the text is still terminated.
func blockLength(text string) (Kind, int) {
	open := len(text) - len(strings.TrimLeft(text, `"`))
	for n := min(open, 5); n >= 3; n-- {
		if end := strings.Index(text[n:], `"""`); end >= 0 {
			end += n + 3
			for more := 0; more < 2 && end < len(text) && text[end] == '"'; more++ {
				end++
			}
			return Block, end
		}
	}
	return 0, 0
}

// numberLength scans numbers with their sign, texts on one line, and all other signs.
func numberLength(text string) (Kind, int) {
	n := 0
	if text[0] == '-' {
		n = 1
	}
	whole := n
	for whole < len(text) && digit(text[whole]) {
		whole++
	}
	if whole+1 < len(text) && text[whole] == '.' && digit(text[whole+1]) {
		for whole++; whole < len(text) && digit(text[whole]); {
			whole++
		}
		return Float, whole
	}
	switch {
	case whole > n:
		return Int, whole
	case text[0] == '"' || text[0] == '\'':
		return String, quoted(text, text[0])
	case strings.HasPrefix(text, "**"):
		return Punct, 2
	case text[0] == '<' || text[0] == '>':
		return Compare, 1
	case strings.IndexByte("+-/:[]()=,.{}?*%", text[0]) >= 0:
		return Punct, 1
	}
	return 0, 0
}
