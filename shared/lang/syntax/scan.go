package syntax

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxText is the longest text that is read, in bytes.
const MaxText = 32 << 20

// MaxTokens is how many tokens a text may have, comments among them: each takes some hundred bytes
// until the text is read.
const MaxTokens = 8 << 20

// Problem is what is wrong with a text, or doubtful: Warning.
type Problem struct {
	Code     string // a stable word, such as syntax
	Pos, End Pos
	Message  string
	Hint     string // what to do; may be ""
	Warning  bool
	Related  []Related
}

// Related is another place that takes part in a problem.
type Related struct {
	Pos     Pos
	Message string
}

// The codes of the problems of texts.
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

// Scan returns the tokens of a text, with the comments among them, and what is wrong. The last
// token is an EOF. What cannot be a token is reported, and is an Unknown.
func Scan(text string) ([]Token, []Problem) { return scan(text, MaxTokens) }

// scan is Scan for texts of at most so many tokens. Nothing of a text that has more is read.
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

// invalid reports the first byte that is not UTF-8. Nothing of such a text is read.
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

// advance moves on by n bytes.
func (s *scanner) advance(n int) {
	rest := s.rest()
	s.at = s.at.behind(rest[:n], rest[n:])
}

// sample is how much of a text is read before its tokens are counted on: to find room for more of
// them copies those that are there.
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
		const spare = 16 // the part of what is expected that is added to it
		left := len(s.text) - int(from.Offset)
		more := len(s.tokens) * left / max(int(from.Offset), 1)
		more = min(more+more/spare+spare, left+1, s.maxTokens-len(s.tokens)+1)
		s.tokens = slices.Grow(s.tokens, more)
	}
	s.tokens = append(s.tokens, Token{Kind: k, Text: s.text[from.Offset:s.at.Offset], Pos: from})
}

// next reads one token or what stands between two; false at the end.
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

// blanks returns the length of the white space with which a text begins.
func blanks(text string) int {
	for i := range len(text) {
		if c := text[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			return i
		}
	}
	return len(text)
}

// length returns the kind and the length of the token with which a text begins; 0 for none.
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

// instead is what to write for the signs of other languages.
var instead = map[rune]string{
	'!': "write `not`, or != between two values", '&': "write `and`", '|': "write `or`",
	';': "nothing stands between statements that have lines of their own",
}

// illegal reports what is not a token.
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

// openBlock reports a text over lines that cannot be one: of an f-string, which is read up to its
// end, or without an end. Its first two quotes were read as an empty text. It returns false if
// there were none.
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

// regexLength reads `matching /…/`: only there a / begins a regular expression.
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

// quoted returns the length of what stands between two marks of a line, with them; 0 if it does not
// end.
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

// textLength reads f"…" and r"…", which come before names, and all texts but those over lines.
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
		return 0, 0 // blockLength has to look first
	}
	if n := quoted(text[from:], text[from]); n > 0 {
		return k, from + n
	}
	return 0, 0
}

// wordLength reads a name or a keyword. A hyphen belongs to it, and is refused by the parser.
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

// signLength reads the signs that come before numbers: `--` and `->` are relations, even before a
// digit.
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

// blockLength reads a text over lines: three to five quotes, and the next three to five. More
// quotes are taken at the beginning as long as the text still ends.
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

// numberLength reads numbers, whose sign belongs to them, texts on a line, and all other signs.
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
