package lsp

import (
	"os"
	"time"

	"southbound/shared/lang/lsp/text"
	"southbound/shared/lang/syntax"
)

// texts caches the texts of files and their trees. A file is read again if it has changed, and a
// text is parsed again if it differs.
type texts struct {
	open  map[string]*text.Text // the texts of open documents
	files map[string]onDisk
	trees map[string]*parsed
}

// onDisk is the cached text of a file, with the time and size that validate the cache.
type onDisk struct {
	at   time.Time
	size int64
	text string
}

// parsed is a text with its tree.
type parsed struct {
	*text.Text
	tree     *syntax.File
	problems []syntax.Problem
	// good is the last tree without syntax errors. Other texts are checked against it while the
	// user edits this text. nil if there was none.
	good *syntax.File
}

// broken reports whether the text has syntax errors.
func (p *parsed) broken() bool { return p.good != p.tree }

func newTexts() *texts {
	return &texts{
		open: map[string]*text.Text{}, files: map[string]onDisk{}, trees: map[string]*parsed{},
	}
}

// text returns the text of an open document, else that of the file; false if there is no file, or
// if it is too large for a model.
func (t *texts) text(path string) (string, bool) {
	if doc := t.open[path]; doc != nil {
		return doc.String(), true
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > syntax.MaxText {
		delete(t.files, path)
		return "", false
	}
	f, ok := t.files[path]
	if !ok || !f.at.Equal(info.ModTime()) || f.size != info.Size() {
		data, err := os.ReadFile(path)
		if err != nil {
			return "", false
		}
		f = onDisk{info.ModTime(), info.Size(), string(data)}
		t.files[path] = f
	}
	return f.text, true
}

// parse returns the tree of a text. It replaces syntax.Parse in project.Load: if the text has
// errors, it returns the last tree without errors, if there was one.
func (t *texts) parse(path, content string) (*syntax.File, []syntax.Problem) {
	p := t.parsed(path, content)
	if p.good != nil {
		return p.good, nil
	}
	return p.tree, p.problems
}

func (t *texts) parsed(path, content string) *parsed {
	before := t.trees[path]
	if before != nil && before.String() == content {
		return before
	}
	p := &parsed{Text: text.New(content)}
	p.tree, p.problems = syntax.Parse(content)
	p.good = p.tree
	for _, q := range p.problems {
		if !q.Warning {
			p.good = nil
		}
	}
	if p.good == nil && before != nil {
		p.good = before.good
	}
	t.trees[path] = p
	return p
}
