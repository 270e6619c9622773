package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"os"
	"slices"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/resource"
)

// Changes holds the differences between documents and recorded Inputs.
type Changes struct {
	// Model has the resources of changed items, and all files; nil if nothing has changed.
	Model *model.Model
	// Since identifies the recorded model.
	Since deploy.Since
	// Fingerprint and Now are the Model.Fingerprint and the Inputs that Load would return.
	Fingerprint string
	Now         Inputs
}

// maxChanges is the maximum number of changed items that are exported on their own.
const maxChanges = 2000

// Changes returns the differences from in. It returns false if the whole model has to be read: if
// the set of files differs, if more than items of documents have changed, or if there are problems,
// which Load returns. It does not read inputs that can be read only once, such as standard input
// and pipes.
func (in *Inputs) Changes(ctx context.Context, opts Options) (Changes, bool) {
	if info, err := os.Stat(opts.Path); opts.Path == "-" || err != nil ||
		!info.IsDir() && !info.Mode().IsRegular() {
		return Changes{}, false
	}
	t, err := openTree(opts)
	if err != nil {
		return Changes{}, false
	}
	defer t.close()
	path := func(d document, f Input) bool { return d.path == f.Path }
	if !slices.EqualFunc(t.docs, in.Documents, path) ||
		!slices.EqualFunc(t.projects, in.Projects, path) {
		return Changes{}, false
	}
	l := &loader{
		types:    opts.Types,
		agent:    opts.Agent,
		tree:     t,
		files:    newFiles(t),
		defaults: documentDefaults,
		note:     true,
	}
	l.copies.max = maxCopies
	c := changes{l: l, was: in, now: in.clone()}
	model, ok := c.read(ctx)
	if !ok || ctx.Err() != nil {
		return Changes{}, false
	}
	if model != nil {
		l.declare(model)
	}
	out := Changes{Model: model, Fingerprint: c.now.digest(), Now: c.now}
	if model != nil {
		model.Fingerprint = out.Fingerprint
		out.Since = deploy.Since{Fingerprint: in.digest(), Files: in.hashes()}
	}
	return out, true
}

func (in *Inputs) clone() Inputs {
	return Inputs{
		slices.Clone(in.Documents),
		slices.Clone(in.Files),
		slices.Clone(in.Projects),
		slices.Clone(in.items),
	}
}

// hashes returns the hashes of the files, sorted.
func (in *Inputs) hashes() []string {
	out := map[string]bool{}
	for _, f := range in.Files {
		out[f.hash] = true
	}
	return slices.Sorted(maps.Keys(out))
}

// changes is the state of one call of Changes.
type changes struct {
	l    *loader
	was  *Inputs
	now  Inputs
	took int // number of items
}

// read returns a model of the changed items; nil if there are none. It returns false if the whole
// model has to be read.
func (c *changes) read(ctx context.Context) (*model.Model, bool) {
	texts, ok := c.documents(ctx)
	if !ok {
		return nil, false
	}
	for i, p := range c.l.readProjects(ctx) {
		if !p.clean() || p.hash != c.was.Projects[i].hash {
			return nil, false
		}
	}
	other, ok := c.files()
	if !ok {
		return nil, false
	}
	model := &model.Model{}
	for i := range c.was.Documents {
		if len(other) > 0 && !c.was.items[i].known {
			return nil, false // the document may refer to one of these
		}
		uses := c.using(i, other)
		if texts[i] == nil && len(uses) == 0 {
			continue
		}
		made, ok := c.document(ctx, i, texts[i], uses)
		if !ok {
			return nil, false
		}
		model.Resources = append(model.Resources, made...)
	}
	if c.now.digest() == c.was.digest() {
		return nil, true
	}
	model.Files = c.l.files.blobs()
	return model, len(model.Files) == len(c.now.hashes())
}

// documents reads all documents and returns the texts of changed ones.
func (c *changes) documents(ctx context.Context) ([][]byte, bool) {
	texts := make([][]byte, len(c.was.Documents))
	ok := make([]bool, len(texts))
	parallel(len(texts), func(i int) {
		if ctx.Err() != nil {
			return
		}
		text, err := c.l.tree.read(c.l.tree.docs[i])
		now := c.now.Documents[i].take(text)
		ok[i] = err == nil && (!now || c.was.items[i].known)
		if now {
			texts[i] = text
		}
	})
	return texts, !slices.Contains(ok, false)
}

// take records the hash of a text, and reports whether it has changed.
func (f *Input) take(text []byte) bool {
	sum := sha256.Sum256(text)
	was := f.hash
	f.Size, f.hash = int64(len(text)), hex.EncodeToString(sum[:])
	return f.hash != was
}

// files reads the files that documents refer to, and returns the paths of changed ones.
func (c *changes) files() (map[string]bool, bool) {
	read := make([]*file, len(c.now.Files))
	parallel(len(read), func(i int) { read[i] = c.l.files.get(c.now.Files[i].Path) })
	other := map[string]bool{}
	for i, f := range read {
		if f.err != nil {
			return nil, false
		}
		now := &c.now.Files[i]
		if now.hash != f.hash {
			other[now.Path] = true
		}
		now.Size, now.hash = f.size, f.hash
	}
	return other, true
}

// using returns the items of a document that refer to any of the given files.
func (c *changes) using(i int, paths map[string]bool) map[int]bool {
	out := map[int]bool{}
	if len(paths) > 0 {
		for _, u := range c.was.items[i].uses {
			if paths[u.file] {
				out[u.item] = true
			}
		}
	}
	return out
}

// document returns the resources of the items of a document that have changed, or are in uses. If
// text is nil, it reads the document again.
func (c *changes) document(
	ctx context.Context,
	i int,
	text []byte,
	uses map[int]bool,
) ([]resource.Resource, bool) {
	d := c.l.tree.docs[i]
	if text == nil {
		var err error
		if text, err = c.l.tree.read(d); err != nil || c.now.Documents[i].take(text) {
			return nil, false
		}
	}
	p := c.l.parse(ctx, d, text)
	was, now := &c.was.items[i], &p.items
	if !was.known || !now.known || was.rest != now.rest || len(was.list) != len(now.list) {
		return nil, false
	}
	c.now.items[i] = p.items
	var out []resource.Resource
	from := 0
	for k, to := range p.ends {
		if was.list[k].frame != now.list[k].frame {
			return nil, false
		}
		if was.list[k].value != now.list[k].value || uses[k] {
			out = append(out, p.resources[from:to]...)
			c.took++
		}
		from = to
	}
	return out, c.took <= maxChanges
}
