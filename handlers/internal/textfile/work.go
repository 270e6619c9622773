package textfile

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"southbound/handlers/internal/held"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// work makes the changes of one text. It reads each back, and no change undoes another one.
type work struct {
	Texts
	where   string
	before  Text
	page    *Page
	changes []change
	others  []held.Claim[provider.Resource] // described earlier, and not changed here
}

// change is one change of a text, with its error.
type change struct {
	item provider.BatchChange
	err  *error
}

// wantedOf returns the state that a change should reach. Whether the thing is removed follows from
// the change, and not from its resource.
func wantedOf(item provider.BatchChange) provider.Resource {
	r := item.Resource
	r.Purged = item.Change == diff.Purged
	return r
}

// all makes all changes and returns the text after them. Then it reads all of them back, and the
// other described resources in the text. Rarely, one of these differs from its description. Then
// all changes are made again, and such resources are watched, to find the changes that undo them.
func (w *work) all() Text {
	var watched []provider.Resource
	for {
		undone := w.undone(w.try(watched))
		if len(undone) == 0 {
			return w.page.text()
		}
		watched = append(watched, undone...) // none of them was watched before
	}
}

// try makes all changes, except those that undo watched resources, and returns the resources that
// should have their described state afterwards.
func (w *work) try(watched []provider.Resource) []provider.Resource {
	w.page = PageOf(w.before)
	standing := w.standing()
	guarded := intersect(standing, watched)
	for _, c := range w.changes {
		existed, want := w.page.Exists, wantedOf(c.item)
		if *c.err = w.make(c.item); *c.err != nil {
			continue
		}
		if len(watched) > 0 {
			if *c.err = w.readBack(want); *c.err == nil {
				*c.err = w.contradicts(w.undone(guarded))
			}
		}
		if *c.err != nil {
			w.undo(existed)
			continue
		}
		standing = append(standing, want)
		guarded = append(guarded, intersect([]provider.Resource{want}, watched)...)
	}
	return standing
}

// undo undoes the last change.
func (w *work) undo(existed bool) {
	w.page.Undo()
	w.page.Exists = existed
}

// standing returns the other resources that have their described state in the original text.
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

// undone returns the resources that no longer have their described state.
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

// intersect returns the resources of some that are in others.
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

// make makes one change.
func (w *work) make(item provider.BatchChange) error {
	w.page.Begin()
	existed, before := w.page.Exists, ""
	if item.Change == diff.Created {
		before = w.fingerprint()
	}
	item.Resource = wantedOf(item)
	if err := w.Change(item, w.page); err != nil {
		w.undo(existed)
		return err
	}
	w.keepOpen(item, before)
	return nil
}

// readBack rejects a change after which its resource does not have its described state.
func (w *work) readBack(want provider.Resource) error {
	var got provider.Reading
	got.Observation, got.Err = w.Observe(want, w.page)
	switch {
	case w.right(want, got):
		return nil
	case got.Err != nil:
		return fmt.Errorf("after the change of %s: %w", w.where, got.Err)
	}
	return provider.Errorf(provider.NeedsChange,
		"%s: after the change it would not be read back as described, so nothing was written; "+
			"look at the lines around it", w.where)
}

// unended is the fact that a change has added an end to the last line: the hash of the original
// text.
const unended = "text_without_last_end"

// keepOpen removes the end of the last line again, if a change has added it and the inserted lines
// are removed. A text that was changed since is left alone.
func (w *work) keepOpen(item provider.BatchChange, before string) {
	switch {
	case item.Context.DryRun():
	case item.Change == diff.Created && before != "" && !w.page.open():
		item.Context.Fact(unended, before)
	case item.Change == diff.Purged && item.Context.Known(unended) != "":
		w.page.reopen(func() bool { return w.fingerprint() == item.Context.Known(unended) })
	}
}

// fingerprint returns the hash of a text whose last line has no end, "" for any other text.
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

// contradicts rejects a change that would undo resources, and names them.
func (w *work) contradicts(lost []provider.Resource) error {
	if len(lost) == 0 {
		return nil
	}
	var names []string
	for _, r := range lost[:min(len(lost), maxNamed)] {
		names = append(names, string(r.ID))
	}
	return provider.Errorf(provider.NeedsChange,
		"%s: the change %w %s, which is as described; change one of the two, or remove it",
		w.where, errUndoes, strings.Join(names, ", "))
}

var errUndoes = errors.New("would undo")

// foresee makes the changes of a file in memory in a dry run, and records those that would undo
// others.
func (h Texts) foresee(
	f *file, items []provider.BatchRead, out []provider.Reading,
	table *held.Table[provider.Resource],
) {
	w := &work{Texts: h, where: f.where, before: f.text, others: table.At(f.real)}
	errs := make([]error, len(out))
	for _, i := range f.read {
		if r := items[i].Resource; out[i].Err == nil && !h.right(r, out[i]) {
			c := provider.BatchChange{Context: items[i].Context, Resource: r, Change: diff.Updated}
			switch {
			case r.Purged:
				c.Change = diff.Purged
			case !out[i].Observation.Exists:
				c.Change = diff.Created
			}
			w.changes = append(w.changes, change{c, &errs[i]})
		}
	}
	if len(f.read) < 2 || len(w.changes) == 0 {
		return
	}
	w.all()
	for _, i := range f.read {
		if errors.Is(errs[i], errUndoes) {
			foreseen(items[i].Context).Hold(items[i].Context, items[i].Resource.ID, f.where, errs[i])
		}
	}
}

// foreseen are the changes of a dry run that would undo others, with the error of each.
func foreseen(ctx *provider.Context) *held.Table[error] { return held.Of[error](ctx) }

// maxNamed is how many resources an error names.
const maxNamed = 3
