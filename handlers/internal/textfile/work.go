package textfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"southbound/handlers/internal/held"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// work makes the changes of one text. It reads each back, and undoes none that stands.
type work struct {
	Texts
	where   string
	before  Text
	page    *Page
	changes []change
	others  []held.Claim[provider.Resource] // as described before, and not changed here
}

// change is one of them, with what came of it.
type change struct {
	item provider.BatchChange
	err  *error
}

// wantedOf returns what a change is to bring about, which the change of a thing that leaves says
// better than its resource.
func wantedOf(item provider.BatchChange) provider.Resource {
	r := item.Resource
	r.Purged = item.Change == diff.Purged
	return r
}

// all makes all changes and returns the text after them. Changes that contradict each other, or a
// resource that stands, are rare: only if something is undone, all are made again one by one to
// find the one that undoes it.
func (w *work) all() Text {
	w.begin()
	standing := w.standing()
	for _, c := range w.changes {
		if *c.err = w.make(c.item); *c.err == nil {
			standing = append(standing, wantedOf(c.item))
		}
	}
	undone := w.undone(standing)
	if len(undone) == 0 {
		return w.page.text()
	}
	w.begin()
	standing = intersect(w.standing(), undone)
	for _, c := range w.changes {
		if *c.err != nil {
			continue
		}
		existed := w.page.Exists
		if *c.err = w.make(c.item); *c.err != nil {
			continue
		}
		if lost := w.undone(standing); len(lost) > 0 {
			w.undo(existed)
			*c.err = w.contradicts(lost)
			continue
		}
		standing = append(standing, intersect([]provider.Resource{wantedOf(c.item)}, undone)...)
	}
	return w.page.text()
}

// undo takes the last change back.
func (w *work) undo(existed bool) {
	w.page.Undo()
	w.page.Exists = existed
}

// begin starts from the text as it was.
func (w *work) begin() { w.page = PageOf(w.before) }

// standing returns the other resources that are as described in the text as it was.
func (w *work) standing() []provider.Resource {
	own := map[resource.ID]bool{}
	for _, c := range w.changes {
		own[c.item.Resource.ID] = true
	}
	var out []provider.Resource
	for _, r := range w.others {
		if !own[r.ID] && w.isRight(r.Described) {
			out = append(out, r.Described)
		}
	}
	return out
}

// undone returns those that are not as described any longer.
func (w *work) undone(standing []provider.Resource) []provider.Resource {
	var out []provider.Resource
	for _, r := range standing {
		if !w.isRight(r) {
			out = append(out, r)
		}
	}
	return out
}

func (w *work) isRight(r provider.Resource) bool {
	obs, err := w.Observe(r, w.page)
	return w.right(r, provider.Reading{Observation: obs, Err: err})
}

// intersect returns the resources of some that are among others.
func intersect(some, others []provider.Resource) []provider.Resource {
	among := map[resource.ID]bool{}
	for _, r := range others {
		among[r.ID] = true
	}
	var out []provider.Resource
	for _, r := range some {
		if among[r.ID] {
			out = append(out, r)
		}
	}
	return out
}

// make makes one change, unless it is not read back as described: then the page stays as it was.
func (w *work) make(item provider.BatchChange) error {
	w.page.Begin()
	existed, want, before := w.page.Exists, wantedOf(item), ""
	if item.Change == diff.Created {
		before = w.fingerprint()
	}
	item.Resource = want
	err := w.Change(item, w.page)
	if err == nil {
		w.keepOpen(item, before)
		var got provider.Reading
		got.Observation, got.Err = w.Observe(want, w.page)
		switch {
		case w.right(want, got):
		case got.Err != nil:
			err = fmt.Errorf("after the change of %s: %w", w.where, got.Err)
		default:
			err = provider.Errorf(provider.NeedsChange,
				"%s: after the change it would not be read back as described, so nothing was "+
					"written; look at the lines around it", w.where)
		}
	}
	if err != nil {
		w.undo(existed)
	}
	return err
}

// unended is the fact that a change has given an end to a last line that had none: the hash of the
// text as it was.
const unended = "text_without_last_end"

// keepOpen takes the end of the last line away again, if a change has given it one and what was put
// in is taken out. A text that is not what it was then is left alone.
func (w *work) keepOpen(item provider.BatchChange, before string) {
	switch {
	case item.Change == diff.Created && before != "" && !w.page.open():
		item.Context.Fact(unended, before)
	case item.Change == diff.Purged && item.Context.Known(unended) != "":
		w.page.reopen(func() bool { return w.fingerprint() == item.Context.Known(unended) })
	}
}

// fingerprint returns the hash of a text whose last line has no end, "" of any other.
func (w *work) fingerprint() string {
	if !w.page.open() {
		return ""
	}
	sum := sha256.Sum256([]byte(w.page.Text()))
	return hex.EncodeToString(sum[:])
}

// Remembers implements provider.Rememberer.
func (h Texts) Remembers(r provider.Resource) []string {
	if r.Purged {
		return []string{unended}
	}
	return nil
}

// contradicts names the resources that a change would undo.
func (w *work) contradicts(lost []provider.Resource) error {
	var names []string
	for _, r := range lost[:min(len(lost), maxNamed)] {
		names = append(names, string(r.ID))
	}
	return provider.Errorf(provider.NeedsChange,
		"%s: the change would undo %s, which is as described; change one of the two, or remove it",
		w.where, strings.Join(names, ", "))
}

// maxNamed bounds how many resources an error names.
const maxNamed = 3
