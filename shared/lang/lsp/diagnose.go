package lsp

import (
	"context"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsp/text"
	"southbound/shared/lang/resources"
	"southbound/shared/patience"
)

// quiet is how long the server waits for another change before it evaluates. roundLimit is the time
// limit of an evaluation. If a model exceeds it, only the problems of its definitions are
// published.
const (
	quiet      = 80 * time.Millisecond
	roundLimit = 10 * time.Second
)

// limits returns the limits of an evaluation in an editor.
func limits() eval.Limits {
	l := eval.DefaultLimits()
	const steps, instances, bytes = 20_000_000, 200_000, 64 << 20
	l.Steps, l.Instances, l.Bytes = steps, instances, bytes
	return l
}

// problem is a problem with its severity.
type problem struct {
	diag.Problem
	severity int
}

func problems(ps diag.Problems, severity int) []problem {
	out := make([]problem, len(ps))
	for i, p := range ps {
		out[i] = problem{p, severity}
	}
	return out
}

// published is the last message to a client about a file.
type published struct {
	version     int32
	diagnostics []diagnostic
}

// diagnoser publishes the problems of texts to the client.
type diagnoser struct {
	*server
	last map[string]published // the last message by file
}

func newDiagnoser(s *server) *diagnoser {
	return &diagnoser{server: s, last: map[string]published{}}
}

// work publishes problems until the context ends: immediately those that need no evaluation, and
// after a pause in changes those of an evaluation.
func (s *diagnoser) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
			s.round(ctx)
		}
	}
}

func (s *diagnoser) round(ctx context.Context) {
	var err error
	defer s.survive("diagnostics", &err)
	run, cancel := patience.WithTimeout(ctx, roundLimit)
	defer cancel()
	change, views := s.first(cancel)
	select {
	case <-run.Done():
		return // the next change has signaled wake
	case <-time.After(quiet):
	}
	found := make([][]problem, len(views))
	for i, v := range views {
		found[i] = s.evaluate(run, v)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.change != change || s.shutdown {
		return
	}
	for i, v := range views {
		v.view.evaluated = found[i]
	}
	s.publish(true)
}

// program is the input of the evaluation of a view.
type program struct {
	view    *view
	sources []eval.Source
	env     any
	rules   []eval.Rule
	python  []eval.Plugin
	classes []eval.Dataclass // without fields, since Python code is not parsed
}

// first publishes the problems that need no evaluation, and returns the programs to evaluate.
func (s *diagnoser) first(cancel context.CancelFunc) (uint64, []program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.abandon = cancel
	if s.shutdown {
		cancel()
		return s.change, nil
	}
	s.publish(false)
	var out []program
	for _, v := range s.inUse() {
		p := program{
			view: v, sources: v.loaded.Sources, rules: v.loaded.Rules, python: v.python,
			classes: v.dataclasses(),
		}
		if v.loaded.Env != nil {
			v.loaded.Env.Later = resources.Facts(nil)
			p.env = v.loaded.Env
		}
		if len(v.found) > 0 || s.unreadable(v) {
			p.sources = nil
		}
		out = append(out, p)
	}
	return s.change, out
}

// unreadable reports whether a text of a view has never parsed without errors: definitions that its
// tree lacks would be reported as missing.
func (s *workspace) unreadable(v *view) bool {
	return slices.ContainsFunc(v.loaded.Sources, func(src eval.Source) bool {
		p := s.texts.trees[src.Path]
		return p != nil && p.good == nil
	})
}

// evaluate returns the problems that an evaluation finds. It needs no lock.
func (s *diagnoser) evaluate(ctx context.Context, p program) []problem {
	if len(p.sources) == 0 {
		return nil
	}
	in := eval.Program{
		Sources: p.sources, Rules: p.rules, Env: p.env, Limits: limits(),
		Dataclasses: p.classes,
	}
	var called atomic.Bool
	in.Plugins = slices.Concat(s.built.quiet(), silent(p.python, &called))
	ours := func(s eval.Source) bool { return s.Namespace == resources.Namespace }
	if slices.ContainsFunc(p.sources, ours) {
		in.Types = special()
	}
	_, warnings, err := eval.Run(ctx, in)
	found, _ := diag.Of(err)
	out := append(problems(found, severityError), problems(warnings, severityWarning)...)
	return slices.DeleteFunc(out, func(found problem) bool {
		return found.Code == eval.CodeLimit ||
			called.Load() && leftOpen(found.Code)
	})
}

// inUse returns the up-to-date views of open documents, each once, and removes all other views.
func (s *workspace) inUse() []*view {
	var out []*view
	for path := range s.docs {
		if v := s.viewOf(path); v != nil && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	for key, v := range s.views {
		if !slices.Contains(out, v) {
			delete(s.views, key)
		}
	}
	return out
}

// publish sends changed diagnostics to the client. Before the evaluation is done, it skips a text
// if only the places of its problems have changed.
func (s *diagnoser) publish(done bool) {
	files := map[string][]diagnostic{}
	for _, v := range s.inUse() {
		for path, found := range s.diagnose(v) {
			files[path] = append(files[path], found...)
		}
		for path, found := range v.lockProblems() {
			files[path] = found // the views of a project have the same
		}
	}
	for path := range s.docs {
		if _, ok := files[path]; !ok && filepath.IsAbs(path) {
			files[path] = s.syntaxProblems(path)
		}
	}
	for path := range s.last {
		if _, ok := files[path]; !ok {
			s.send(path, nil, true)
			delete(s.last, path)
		}
	}
	for path, found := range files {
		s.send(path, found, done)
	}
}

// send publishes the problems of a file.
func (s *diagnoser) send(path string, found []diagnostic, done bool) {
	if found == nil {
		found = []diagnostic{}
	}
	before, known := s.last[path]
	now := published{diagnostics: found}
	p := publishParams{URI: uriOf(path), Diagnostics: found}
	doc := s.docs[path]
	if doc != nil {
		now.version, p.URI, p.Version = doc.version, doc.uri, &doc.version
	}
	switch {
	case !known && doc == nil && len(found) == 0:
		return
	case known && now.version == before.version && same(found, before.diagnostics):
		return
	case known && !done && sameMessages(found, before.diagnostics):
		return
	}
	s.last[path] = now
	if err := s.rpc.Notify(context.Background(), "textDocument/publishDiagnostics", p); err != nil {
		s.log("publish problems: %v", err)
	}
}

func same(a, b []diagnostic) bool {
	return slices.EqualFunc(a, b, func(x, y diagnostic) bool {
		return x.Range == y.Range && x.Message == y.Message && x.Severity == y.Severity &&
			slices.Equal(x.Related, y.Related)
	})
}

func sameMessages(a, b []diagnostic) bool {
	return slices.EqualFunc(a, b, func(x, y diagnostic) bool { return x.Message == y.Message })
}

// rangeAt returns the range that begins at a line and a column: a token, or the rest of the line.
func (p *parsed) rangeAt(line, column int, e text.Encoding) text.Range {
	from := p.At(line, column)
	i, found := slices.BinarySearchFunc(p.tree.Tokens, from, func(t token, at int) int {
		return int(t.Pos.Offset) - at
	})
	if found && i < len(p.tree.Tokens)-1 {
		return p.Range(from, int(p.tree.Tokens[i].End().Offset), e)
	}
	end := from
	for content := p.String(); end < len(content) && content[end] != '\n' && content[end] != '\r'; {
		end++
	}
	return p.Range(from, end, e)
}
