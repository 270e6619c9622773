package jinja

import (
	"strings"
	"sync"
	"unicode"
)

// Letters whose other case has several characters. Most programs never build these tables.
var (
	capitals = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer(strings.Fields(upperForms)...)
	})
	titles = sync.OnceValue(func() *strings.Replacer {
		return strings.NewReplacer(strings.Fields(titleForms)...)
	})
)

// upper is Python's upper(): some letters become two.
func upper(text string) string { return strings.ToUpper(capitals().Replace(text)) }

// title returns a character in title case, as Python does.
func title(r rune) string {
	text := string(r)
	if forms := titles().Replace(text); forms != text {
		return forms
	}
	return string(unicode.ToTitle(r))
}

// lower is Python's lower(): a sigma at the end of a word has its own form, and İ becomes two
// characters.
func lower(text string) string {
	if !strings.ContainsAny(text, "İΣ") {
		return strings.ToLower(text)
	}
	var b strings.Builder
	chars := []rune(text)
	for i := range chars {
		b.WriteString(lowerAt(chars, i))
	}
	return b.String()
}

// lowerAt returns a character of a text in lower case.
func lowerAt(chars []rune, i int) string {
	switch {
	case chars[i] == 'İ':
		return "i\u0307"
	case chars[i] == 'Σ' && endsWord(chars, i):
		return "ς"
	}
	return string(unicode.ToLower(chars[i]))
}

// endsWord reports whether a letter precedes a position, and none follows it.
func endsWord(chars []rune, at int) bool {
	before, behind := at-1, at+1
	for before >= 0 && passedOver(chars[before]) {
		before--
	}
	for behind < len(chars) && passedOver(chars[behind]) {
		behind++
	}
	return before >= 0 && hasCase(chars[before]) && (behind == len(chars) || !hasCase(chars[behind]))
}

func hasCase(r rune) bool {
	return unicode.In(r, unicode.Lu, unicode.Ll, unicode.Lt, unicode.Other_Lowercase,
		unicode.Other_Uppercase)
}

// passedOver reports whether a character is ignored in the search for a letter: Case_Ignorable of
// Unicode.
func passedOver(r rune) bool {
	return unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Lm, unicode.Sk) ||
		strings.ContainsRune("'.:\u00b7\u0387\u055f\u05f4\u2018\u2019\u2024\u2027\ufe13\ufe52\ufe55"+
			"\uff07\uff0e\uff1a", r)
}
