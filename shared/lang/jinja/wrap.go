package jinja

import (
	"strings"
	"unicode"
)

// wrapper breaks lines as Python's textwrap does.
type wrapper struct {
	width         int
	long, hyphens bool // break overlong words; break after hyphens
}

// wrap breaks a text without line breaks into lines.
func (w wrapper) wrap(text string) []string {
	chunks := w.chunks(text)
	var lines []string
	for len(chunks) > 0 {
		var line []string
		used := 0
		if len(lines) > 0 && strings.TrimSpace(chunks[0]) == "" {
			chunks = chunks[1:] // only the first line may begin with white space
		}
		for len(chunks) > 0 && used+runes(chunks[0]) <= w.width {
			used += runes(chunks[0])
			line, chunks = append(line, chunks[0]), chunks[1:]
		}
		if len(chunks) > 0 && runes(chunks[0]) > w.width {
			line, chunks = w.tooLong(line, chunks, used)
		}
		if n := len(line); n > 0 && strings.TrimSpace(line[n-1]) == "" {
			line = line[:n-1]
		}
		if len(line) > 0 {
			lines = append(lines, strings.Join(line, ""))
		}
	}
	return lines
}

func runes(text string) int { return len([]rune(text)) }

// tooLong takes the part of an overlong chunk that fits the line. If the chunk must not be broken,
// it gets a line of its own.
func (w wrapper) tooLong(line, chunks []string, used int) (taken, rest []string) {
	if !w.long {
		if len(line) == 0 {
			return append(line, chunks[0]), chunks[1:]
		}
		return line, chunks
	}
	chunk := []rune(chunks[0])
	end := max(w.width-used, 1)
	if w.hyphens {
		if i := strings.LastIndexByte(string(chunk[:end]), '-'); i > 0 &&
			strings.Trim(string(chunk[:end])[:i], "-") != "" {
			end = runes(string(chunk[:end])[:i+1])
		}
	}
	return append(line, string(chunk[:end])), append([]string{string(chunk[end:])}, chunks[1:]...)
}

// chunks splits a text into unbreakable parts: words, white space, and parts of words up to a
// hyphen.
func (w wrapper) chunks(text string) []string {
	var out []string
	for rest := []rune(text); len(rest) > 0; {
		n, space := 1, unicode.IsSpace(rest[0])
		for n < len(rest) && unicode.IsSpace(rest[n]) == space {
			n++
		}
		if space || !w.hyphens {
			out = append(out, string(rest[:n]))
		} else {
			out = append(out, hyphenated(rest[:n])...)
		}
		rest = rest[n:]
	}
	return out
}

// hyphenated splits a word after hyphens between letters, and around dashes of two or more.
func hyphenated(word []rune) []string {
	var out []string
	start := 0
	for i := 0; i < len(word); i++ {
		if word[i] != '-' {
			continue
		}
		n := 1
		for i+n < len(word) && word[i+n] == '-' {
			n++
		}
		before := i > start && isWord(word[i-1])
		switch {
		case n > 1 && i > 0 && i+n < len(word) && isWord(word[i+n]) && before:
			out = append(out, string(word[start:i]), string(word[i:i+n]))
			start = i + n
		case n == 1 && breaks(word, i):
			out = append(out, string(word[start:i+1]))
			start = i + 1
		}
		i += n - 1
	}
	if start < len(word) {
		out = append(out, string(word[start:]))
	}
	return out
}

// breaks reports whether a line may end after the hyphen at i: two letters precede it, and two
// follow it; another hyphen may separate the two.
func breaks(word []rune, i int) bool {
	letter := func(j int) bool {
		return j >= 0 && j < len(word) && isWord(word[j]) && !unicode.IsDigit(word[j])
	}
	if !letter(i-1) || !(letter(i-2) || i >= 3 && word[i-2] == '-' && letter(i-3)) {
		return false
	}
	return letter(i+1) && (letter(i+2) || i+3 < len(word) && word[i+2] == '-' && letter(i+3))
}

// splitLines splits a text at line ends, as Python's splitlines() does.
func splitLines(text string, keep bool) []string {
	var out []string
	for text != "" {
		end := strings.IndexFunc(text, func(r rune) bool {
			return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 ||
				r == 0x2029
		})
		if end < 0 {
			return append(out, text)
		}
		n := len(string([]rune(text[end:])[:1]))
		if strings.HasPrefix(text[end:], "\r\n") {
			n = 2
		}
		if keep {
			out = append(out, text[:end+n])
		} else {
			out = append(out, text[:end])
		}
		text = text[end+n:]
	}
	return out
}
