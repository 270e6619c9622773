package lsp

import (
	"context"

	"southbound/shared/lang/lsp/text"
	"southbound/shared/lang/syntax"
)

// document is an open document of an editor.
type document struct {
	uri     string
	version int32
}

// changed records a change of texts, aborts the running evaluation, and wakes the diagnoser.
func (s *server) changed() {
	s.change++
	s.abandon()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *server) didOpen(p openParams) {
	path, ok := pathOf(p.TextDocument.URI)
	if !ok {
		return
	}
	path = s.built.original(path)
	s.docs[path] = &document{p.TextDocument.URI, p.TextDocument.Version}
	s.texts.open[path] = text.New(p.TextDocument.Text)
	s.forget()
	s.changed()
}

func (s *server) didChange(p changeParams) {
	path, ok := pathOf(p.TextDocument.URI)
	if !ok {
		return
	}
	path = s.built.original(path)
	doc := s.docs[path]
	if doc == nil {
		s.log("a change of %s, which is not open", path)
		return
	}
	t := s.texts.open[path]
	for _, c := range p.ContentChanges {
		if c.Range == nil {
			t = text.New(c.Text)
		} else {
			t = t.Replace(*c.Range, c.Text, s.encoding)
		}
	}
	s.texts.open[path] = t
	if p.TextDocument.Version != nil {
		doc.version = *p.TextDocument.Version
	}
	for _, v := range s.views {
		v.edited(path)
	}
	s.changed()
}

func (s *server) didClose(p documentParams) {
	path, ok := pathOf(p.TextDocument.URI)
	if !ok {
		return
	}
	path = s.built.original(path)
	delete(s.docs, path)
	delete(s.texts.open, path)
	s.forget()
	s.changed()
}

func (s *server) didSave(documentParams) { s.filesChanged(nothing{}) }

// filesChanged marks all views as stale, so that they read their files again.
func (s *server) filesChanged(nothing) {
	s.forget()
	s.changed()
}

func (s *server) foldersChanged(p foldersParams) {
	gone := map[string]bool{}
	for _, f := range p.Event.Removed {
		if path, ok := pathOf(f.URI); ok {
			gone[path] = true
		}
	}
	var kept []string
	for _, path := range s.folders {
		if !gone[path] {
			kept = append(kept, path)
		}
	}
	for _, f := range p.Event.Added {
		if path, ok := pathOf(f.URI); ok {
			kept = append(kept, path)
		}
	}
	s.folders = kept
	s.filesChanged(nothing{})
}

// formatting returns the edits that format a text; an error for a text with syntax errors.
func (s answers) formatting(_ context.Context, p documentParams) (any, error) {
	path, ok := s.openPath(p.TextDocument.URI)
	if !ok {
		return nil, notOpen(p.TextDocument.URI)
	}
	t := s.texts.open[path]
	formatted, problems := syntax.Formatted(t.String())
	for _, q := range problems {
		if !q.Warning {
			return nil, failed("the text is not formatted: %s: %s", q.Pos, q.Message)
		}
	}
	return difference(t, formatted, s.encoding), nil
}

// difference returns the edits from a text to another one. It keeps the common first and last
// lines.
func difference(t *text.Text, to string, e text.Encoding) []textEdit {
	from := t.String()
	if from == to {
		return []textEdit{}
	}
	begin := 0
	for n := min(len(from), len(to)); begin < n && from[begin] == to[begin]; {
		begin++
	}
	for begin > 0 && from[begin-1] != '\n' { // whole lines
		begin--
	}
	end := 0
	for n := min(len(from), len(to)) - begin; end < n &&
		from[len(from)-1-end] == to[len(to)-1-end]; {
		end++
	}
	for end > 0 && from[len(from)-1-end] != '\n' {
		end--
	}
	return []textEdit{{
		Range: t.Range(begin, len(from)-end, e), NewText: to[begin : len(to)-end],
	}}
}
