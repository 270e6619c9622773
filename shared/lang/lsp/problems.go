package lsp

import (
	"path/filepath"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsp/names"
	"southbound/shared/lang/lsp/text"
	"southbound/shared/lang/syntax"
)

type token = syntax.Token

// diagnose returns the problems of the texts of a view: those of the model, and open ones.
func (s *diagnoser) diagnose(v *view) map[string][]diagnostic {
	out := map[string][]diagnostic{}
	broken := false
	for _, src := range v.loaded.Sources {
		if filepath.IsAbs(src.Path) {
			out[src.Path] = s.syntaxProblems(src.Path)
			p := s.texts.trees[src.Path]
			broken = broken || p != nil && p.broken()
		}
	}
	all := append(problems(v.found, severityError), v.evaluated...)
	for path := range s.docs {
		f := v.names.File(path)
		if f == nil || f.BuiltIn {
			continue
		}
		if _, ok := out[path]; !ok {
			out[path] = s.syntaxProblems(path)
		}
		if !broken { // the definition of a missing name may be in a broken text
			all = append(all, problems(static(v.names, f), severityError)...)
		}
	}
	for _, p := range all {
		at := s.texts.trees[p.File]
		found, ok := out[p.File]
		if at == nil || !ok || at.broken() {
			continue
		}
		d := s.diagnostic(at, p)
		if !slices.ContainsFunc(found, d.repeats) {
			out[p.File] = append(found, d)
		}
	}
	return out
}

// repeats reports whether another diagnostic describes the same problem. The messages may differ,
// since the static analysis and the evaluation both find undefined names.
func (d *diagnostic) repeats(other diagnostic) bool {
	return d.Code == other.Code && d.Severity == other.Severity &&
		(d.Range.Start == other.Range.Start || d.Message == other.Message &&
			d.Range.Start.Line == other.Range.Start.Line)
}

// syntaxProblems returns the syntax problems of a text.
func (s *diagnoser) syntaxProblems(path string) []diagnostic {
	p := s.known(path)
	if p == nil {
		return nil
	}
	out := []diagnostic{}
	for _, q := range p.problems {
		to := max(q.End.Offset, q.Pos.Offset)
		d := diagnostic{
			Range:    p.Range(int(q.Pos.Offset), int(to), s.encoding),
			Severity: severityError, Code: q.Code, Source: "southbound",
			Message: said(q.Message, q.Hint),
		}
		if q.Warning {
			d.Severity = severityWarning
		}
		for _, r := range q.Related {
			at := p.rangeAt(int(r.Pos.Line), int(r.Pos.Column), s.encoding)
			d.Related = append(d.Related, related{location{uriOf(path), at}, r.Message})
		}
		out = append(out, d)
	}
	return out
}

// said returns a message with its hint.
func said(message, hint string) string {
	if hint == "" {
		return message
	}
	return message + "\n" + hint
}

// diagnostic converts a problem to the protocol's format.
func (s *diagnoser) diagnostic(at *parsed, p problem) diagnostic {
	d := diagnostic{
		Range:    at.rangeAt(p.Line, p.Column, s.encoding),
		Severity: p.severity, Code: p.Code, Source: "southbound",
		Message: said(p.Message, p.Hint),
	}
	if p.Code == eval.CodeDeprecated {
		d.Tags = []int{tagDeprecated}
	}
	for _, r := range p.Related {
		if where, ok := s.locationAt(r.Pos); ok {
			message := r.Message
			if message == "" {
				message = "this takes part"
			}
			d.Related = append(d.Related, related{where, message})
		}
	}
	return d
}

// locationAt returns the location of a problem's place.
func (s *diagnoser) locationAt(at diag.Pos) (location, bool) {
	p := s.texts.trees[at.File]
	if p == nil || at.Line == 0 {
		return location{}, false
	}
	r := p.rangeAt(at.Line, at.Column, s.encoding)
	return s.location(at.File, p.Text, r)
}

// location returns the location of a range of a text; false if no file can show it.
func (s *workspace) location(path string, t *text.Text, r text.Range) (location, bool) {
	if doc := s.docs[path]; doc != nil {
		return location{doc.uri, r}, true
	}
	if filepath.IsAbs(path) {
		return location{uriOf(path), r}, true
	}
	file, err := s.built.show(path, t.String())
	if err != nil {
		s.log("%v", err)
		return location{}, false
	}
	return location{uriOf(file), r}, true
}

// static returns the problems with the names in a text that need no evaluation.
func static(p *names.Project, f *names.File) diag.Problems {
	var out diag.Problems
	add := func(at int, code, message, hint string, related ...diag.Related) {
		i, _ := slices.BinarySearchFunc(f.Tree.Tokens, at, func(t token, at int) int {
			return int(t.Pos.Offset) - at
		})
		if i < len(f.Tree.Tokens) {
			pos := f.Tree.Tokens[i].Pos
			out.Add(diag.Problem{
				Pos:  diag.Pos{File: f.Path, Line: int(pos.Line), Column: int(pos.Column)},
				Code: code, Message: message, Hint: hint, Related: related,
			})
		}
	}
	for _, u := range p.Uses(f).List {
		if u.Code != "" && len(out) < diag.Limit {
			add(u.Whole, u.Code, u.Why, u.Hint)
		}
	}
	for _, d := range p.Duplicates {
		if d.Symbol.File == f {
			first := place(d.First)
			add(d.Symbol.From, eval.CodeDuplicate, d.Symbol.Name+" is defined twice", "",
				diag.Related{Pos: first, Message: "it is defined here first"})
		}
	}
	return out
}

// place returns the place of a symbol's definition.
func place(x *names.Symbol) diag.Pos {
	if x.File == nil {
		return diag.Pos{}
	}
	pos := x.File.Tree.Tokens[x.NameToken].Pos
	return diag.Pos{File: x.File.Path, Line: int(pos.Line), Column: int(pos.Column)}
}
