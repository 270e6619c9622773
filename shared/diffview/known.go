package diffview

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"strings"

	"southbound/shared/diff"
	"southbound/shared/resource"
)

// KnownAfterApply returns planned changes with words in place of desired facts and secret outputs
// whose values an apply learns. Other changes stay the same.
func KnownAfterApply(changes map[string]diff.Diff) map[string]diff.Diff {
	out := maps.Clone(changes)
	for name, d := range changes {
		d.Desired = awaited(d.Desired)
		out[name] = d
	}
	return out
}

// words is text in a value that is shown without quotation marks.
type words string

// The marks around words in JSON, until unquoted has removed them.
const (
	openWords  = "\ue000"
	closeWords = "\ue001"
)

// MarshalJSON implements json.Marshaler.
func (w words) MarshalJSON() ([]byte, error) {
	return PlainJSON(openWords + string(w) + closeWords)
}

var quotedWords = regexp.MustCompile(`"` + openWords + `((?:[^"\\]|\\.)*?)` + closeWords + `"`)

// unquoted removes the quotation marks and escapes of words in JSON.
func unquoted(text []byte) []byte {
	if !bytes.Contains(text, []byte(openWords)) {
		return text
	}
	return quotedWords.ReplaceAllFunc(text, func(found []byte) []byte {
		var s string
		if json.Unmarshal(found, &s) != nil {
			return found
		}
		return []byte(strings.TrimSuffix(strings.TrimPrefix(s, openWords), closeWords))
	})
}

// holdsWords reports whether a value is or contains words.
func holdsWords(v any) bool {
	switch v := v.(type) {
	case words:
		return true
	case map[string]any:
		for _, one := range v {
			if holdsWords(one) {
				return true
			}
		}
	case []any:
		for _, one := range v {
			if holdsWords(one) {
				return true
			}
		}
	}
	return false
}

// awaited replaces facts and secret outputs in a value by words. A text of parts on one line becomes its parts, and one
// of several lines a text with the words in it.
func awaited(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = awaited(v[i])
		}
		return out
	case map[string]any:
		if what, is := learned(v); is {
			return words("(known after apply: " + what + ")")
		}
		if parts, is := v["text"].([]any); is && len(v) == 1 {
			return awaitedText(v, parts)
		}
		out := make(map[string]any, len(v))
		for name := range v {
			out[name] = awaited(v[name])
		}
		return out
	}
	return v
}

// learned recognizes a reference to a value that a run learns, in its form of documents: a fact, or a
// secret output without a version. It returns the name of the value for people.
func learned(v map[string]any) (what string, is bool) {
	if source, named := v["secret"].(string); named && len(v) == 1 {
		o, is := resource.ParseOutput(source)
		return "secret output " + o.Path + " of " + string(o.Of), is
	}
	name, named := v["fact"].(string)
	of := ""
	switch id := v["of"].(type) {
	case string:
		of = id
	case resource.ID:
		of = string(id)
	}
	return "fact " + name + " of " + of, named && of != "" && len(v) == 2
}

// awaitedText replaces them in a text of parts; v is the whole value.
func awaitedText(v map[string]any, parts []any) any {
	waits, several := false, false
	for _, p := range parts {
		switch p := p.(type) {
		case map[string]any:
			_, is := learned(p)
			waits = waits || is
		case string:
			several = several || severalLines(p)
		}
	}
	if !waits {
		return v
	}
	shown := make([]string, len(parts))
	for i, p := range parts {
		if text, is := p.(string); is && several {
			shown[i] = text
		} else {
			shown[i] = short(awaited(p), 0)
		}
	}
	if several {
		return strings.Join(shown, "")
	}
	return words(strings.Join(shown, " "))
}
