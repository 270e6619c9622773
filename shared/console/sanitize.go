package console

import (
	"bytes"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// sanitizer removes from HTML all that its list of elements and attributes has not. Rendered
// Markdown passes it, so that a mistake of the renderer gives no script either.
type sanitizer struct {
	language *regexp.Regexp
	out      strings.Builder
	open     []atom.Atom
}

// sanitize returns HTML with elements of documents only, each of which is closed. Links go to http,
// https, mailto or this site. Ids begin with prefix.
func sanitize(in []byte, prefix string) string {
	s := &sanitizer{language: regexp.MustCompile(`^language-[a-zA-Z0-9+#-]{1,40}$`)}
	z := html.NewTokenizer(bytes.NewReader(in))
	for {
		switch z.Next() {
		case html.ErrorToken:
			for len(s.open) > 0 {
				s.end(s.open[len(s.open)-1])
			}
			return s.out.String()
		case html.TextToken:
			s.out.WriteString(html.EscapeString(z.Token().Data))
		case html.StartTagToken, html.SelfClosingTagToken:
			s.start(z.Token(), prefix)
		case html.EndTagToken:
			s.end(z.Token().DataAtom)
		}
	}
}

func documentElement(a atom.Atom) bool {
	switch a {
	case atom.A, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.P, atom.Em, atom.Strong, atom.Del, atom.Code,
		atom.Pre, atom.Blockquote, atom.Ul, atom.Ol, atom.Li, atom.Table, atom.Thead, atom.Tbody,
		atom.Tr, atom.Th, atom.Td, atom.Input:
		return true
	}
	return emptyElement(a)
}

func emptyElement(a atom.Atom) bool { return a == atom.Br || a == atom.Hr }

func (s *sanitizer) start(t html.Token, prefix string) {
	if !documentElement(t.DataAtom) {
		return
	}
	if t.DataAtom == atom.Input {
		s.checkbox(&t)
		return
	}
	clean := html.Token{Type: html.StartTagToken, DataAtom: t.DataAtom, Data: t.DataAtom.String()}
	for _, a := range t.Attr {
		if a.Namespace == "" && s.keeps(t.DataAtom, a.Key, a.Val, prefix) &&
			!slices.ContainsFunc(clean.Attr, func(b html.Attribute) bool { return b.Key == a.Key }) {
			clean.Attr = append(clean.Attr, a)
		}
	}
	if t.DataAtom == atom.A {
		clean.Attr = append(clean.Attr, html.Attribute{Key: "rel", Val: "nofollow noreferrer"})
	}
	s.out.WriteString(clean.String())
	if !emptyElement(t.DataAtom) {
		s.open = append(s.open, t.DataAtom)
	}
}

// end closes an element, and those that are open within it.
func (s *sanitizer) end(a atom.Atom) {
	if !slices.Contains(s.open, a) {
		return
	}
	for {
		last := s.open[len(s.open)-1]
		s.open = s.open[:len(s.open)-1]
		s.out.WriteString("</" + last.String() + ">")
		if last == a {
			return
		}
	}
}

// checkbox writes the box of a task list as a character: screen readers would
// announce a control without label.
func (s *sanitizer) checkbox(t *html.Token) {
	if slices.ContainsFunc(t.Attr, func(a html.Attribute) bool { return a.Key == "checked" }) {
		s.out.WriteString("☑")
		return
	}
	s.out.WriteString("☐")
}

func (s *sanitizer) keeps(element atom.Atom, key, value, prefix string) bool {
	switch element {
	case atom.A:
		return key == "title" || (key == "href" && harmless(value))
	case atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		return key == "id" && strings.HasPrefix(value, prefix)
	case atom.Code:
		return key == "class" && s.language.MatchString(value)
	case atom.Ol:
		return key == "start" && strings.Trim(value, "0123456789") == "" && len(value) < 10
	}
	return false
}

// harmless reports whether a link goes to http, https, mailto or a page of this site.
func harmless(link string) bool {
	u, err := url.Parse(link)
	if err != nil || strings.ContainsAny(link, "\\\t\r\n") {
		return false
	}
	switch u.Scheme {
	case "http", "https", "mailto":
		return true
	case "":
		return u.Host == "" && !strings.HasPrefix(link, "//")
	}
	return false
}
