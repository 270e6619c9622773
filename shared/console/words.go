package console

import (
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"

	"southbound/shared/api"
	"southbound/shared/api/problem"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// statusView is a status in words, for the template "status".
type statusView struct {
	Word string // as the command line says it
	Icon string // the id of the symbol in base.html, without "i-"
	Tone string // bad, warn, busy, quiet or good: the colour
	Name string // the value in filters
}

// statusOf returns a status in words.
func statusOf(s state.Status) statusView {
	v := statusView{Word: string(s), Name: string(s), Icon: "dot", Tone: "quiet"}
	switch s {
	case state.StatusFailed:
		v.Icon, v.Tone = "cross", "bad"
	case state.StatusUnavailable:
		v.Icon, v.Tone = "broken", "bad"
	case state.StatusSkipped, state.StatusBlocked:
		v.Icon, v.Tone = "bar", "warn"
	case state.StatusUndefined:
		v.Icon, v.Tone = "question", "warn"
	case state.StatusNonCompliant:
		v.Icon, v.Tone = "differs", "warn"
	case state.StatusDeploying:
		v.Icon, v.Tone = "arrow", "busy"
	case state.StatusAvailable:
		v.Icon, v.Tone = "clock", "busy"
	case state.StatusDeployed:
		v.Icon, v.Tone = "check", "good"
	}
	return v
}

// countView is the number of resources of a status, for the template "count".
type countView struct {
	Status statusView
	Count  string
	URL    string // the resources; "": no link
}

// countsOf returns the statuses that resources have, the worst first. link, if not nil, returns the
// URL of the resources with a status.
func countsOf(counts map[state.Status]int, link func(state.Status) string) []countView {
	var out []countView
	for _, s := range api.Statuses() {
		if n := counts[s]; n > 0 {
			c := countView{Status: statusOf(s), Count: number(n)}
			if link != nil {
				c.URL = link(s)
			}
			out = append(out, c)
		}
	}
	return out
}

// number returns a number with its thousands apart.
func number(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// cutText is a text for the template "cut": in the middle shortened to max characters, with the
// whole as its title.
type cutText struct{ Text, Whole string }

func cut(s string, limit int) cutText {
	n := utf8.RuneCountInString(s)
	if n <= limit {
		return cutText{Text: s}
	}
	r := []rune(s)
	head := (limit - 1) * 2 / 3
	return cutText{string(r[:head]) + "…" + string(r[n-(limit-1-head):]), s}
}

// chip is a filter that is set, for the template "chips".
type chip struct {
	Text   string // such as "status: failed"
	Remove string // the URL without it
}

// problemView is an error with its cause and cure, for the template "problem" and for error.html.
type problemView struct {
	Title    string
	Text     string
	Hint     string
	Problems []problemLine
	More     string // how many problems are not listed
	Status   int    // of HTTP
	Retry    string // the URL to try again; "": that is of no use
}

type problemLine struct {
	Place, Text, Hint, Pointer string
	URL                        string // of the instance that Place names
}

// problem returns an error for people.
func (r *request) problem(err error) *problemView {
	f := api.FailureOf(err)
	v := &problemView{Text: sentence(f.Message), Hint: sentence(f.Hint), Status: problem.StatusOf(f.Kind),
		Title: "This did not work"}
	switch f.Kind {
	case fault.NotFound:
		v.Title = "Not found"
	case fault.Denied:
		v.Title, v.Status = "Not permitted", 403
	case fault.Conflict, fault.Refused, fault.Fenced:
		v.Title = "Refused"
	case fault.Unavailable, fault.Timeout, fault.Busy, fault.Canceled:
		v.Title = "The home does not answer"
	case fault.Invalid, fault.Usage:
		v.Title = "The request has a mistake"
	case fault.Full:
		v.Title, v.Status = "Too large", 413
	}
	if r.Method == "GET" && v.Status >= 500 {
		v.Retry = r.here()
	}
	for _, w := range f.Problems {
		line := problemLine{Text: sentence(w.Message), Hint: sentence(w.Hint), Pointer: w.Pointer}
		switch {
		case w.File != "":
			line.Place = fmt.Sprintf("%s:%d", w.File, w.Line)
		case w.Resource != "":
			line.Place = w.Resource
		case w.Instance != "" && r.Env != "":
			line.Place, line.URL = cmp.Or(w.Identity, w.Instance), r.instanceURL(w.Instance, "")
		}
		if w.Attribute != "" {
			line.Place = strings.TrimSpace(line.Place + " " + w.Attribute)
		}
		v.Problems = append(v.Problems, line)
	}
	if len(v.Problems) == 1 && v.Problems[0].Place == "" {
		v.Problems = nil // the message says it
	}
	if f.More > 0 {
		v.More = plural(f.More, "more problem")
	}
	return v
}

// sentence returns a message as a sentence: with a capital letter, if it begins with a word, and a
// full stop.
func sentence(s string) string {
	s = strings.TrimSpace(s)
	if s == "" {
		return ""
	}
	first, _, _ := strings.Cut(s, " ")
	if word := strings.Trim(first, ",:"); word == strings.ToLower(word) &&
		strings.Trim(word, "abcdefghijklmnopqrstuvwxyz") == "" {
		s = strings.ToUpper(s[:1]) + s[1:]
	}
	if strings.ContainsAny(s[len(s)-1:], ".!?") {
		return s
	}
	return s + "."
}

// visible replaces characters that change how a page is read and cannot be seen: controls and marks
// of text direction. Texts of models, hosts and customers may contain them. The values of form
// controls stay, as they are sent back.
func visible(page []byte) []byte {
	if !hides(page) {
		return page
	}
	var b bytes.Buffer
	b.Grow(len(page) + 64)
	z := html.NewTokenizer(bytes.NewReader(page))
	area := false
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return b.Bytes()
		}
		raw := z.Raw()
		keep := area && kind == html.TextToken
		area = area && keep
		if kind == html.StartTagToken || kind == html.SelfClosingTagToken {
			tag := string(tagOf(raw))
			area = tag == "textarea"
			keep = area || tag == "input" || tag == "option" || tag == "button"
		}
		if keep || !hides(raw) {
			b.Write(raw)
			continue
		}
		for _, c := range string(raw) {
			if hidden(c) {
				fmt.Fprintf(&b, "⟨U+%04X⟩", c)
				continue
			}
			b.WriteRune(c)
		}
	}
}

// tagOf returns the name of the tag that text begins with.
func tagOf(text []byte) []byte {
	end := bytes.IndexFunc(text[1:], func(c rune) bool { return c < 'a' || c > 'z' })
	if end < 0 {
		return text[1:]
	}
	return text[1 : 1+end]
}

// hides reports whether a text has hidden characters. It decodes only characters that may be hidden, by
// their first byte.
func hides(text []byte) bool {
	for i, c := range text {
		switch {
		case c >= 0x20 && c < 0x7f: // nearly all of a page
		case c < 0x20, c == 0x7f, c == 0xc2, c == 0xd8, c == 0xe2:
			if r, _ := utf8.DecodeRune(text[i:]); hidden(r) {
				return true
			}
		}
	}
	return false
}

func hidden(c rune) bool {
	switch {
	case c == '\n', c == '\t', c == '\r':
		return false
	case c < 0x20, c >= 0x7f && c < 0xa0:
		return true
	case c == 0x61c, c == 0x200e, c == 0x200f, c >= 0x202a && c <= 0x202e,
		c >= 0x2066 && c <= 0x2069:
		return true
	}
	return false
}
