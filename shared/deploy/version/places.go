package version

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/internal/binform"
	"southbound/shared/resource"
)

// Places are the places of resources in the documents or the model of their export. They are stored
// beside a version and are no part of it: a version with other places has the same digest, and a
// resource that only moved is not affected. See docs/design/places.md.
type Places map[resource.ID]diag.Pos

// The bounds of places. A version with more resources has no places. The name of a file is cut.
const (
	MaxPlaces    = 200_000
	maxPlaceFile = 1000
	maxPlace     = 1 << 30 // line and column
)

const placesFormat = 1

// PlacesOf returns the places of the resources of a model; nil if they are not known.
func PlacesOf(m *model.Model) Places {
	if m.Places != nil || m.Where == nil || len(m.Resources) > MaxPlaces {
		return m.Places
	}
	out := make(Places, len(m.Resources))
	for i := range m.Resources {
		if at := m.Where(i, ""); at.File != "" {
			out[m.Resources[i].ID] = at
		}
	}
	return out
}

// Within returns the places of the resources that has reports.
func (p Places) Within(has func(resource.ID) bool) Places {
	out := make(Places, len(p))
	for id, at := range p {
		if has(id) {
			out[id] = at
		}
	}
	return out
}

// PlacesEdit is a change of places. It is stored instead of all places if an export changed a few
// resources.
type PlacesEdit struct {
	Put  Places
	Gone map[resource.ID]bool // resources that left
	// Moved are files in which lines may have moved: of other resources only the file is known.
	Moved map[string]bool
}

// Then returns the edit that makes the changes of p, and then those of next.
func (p *PlacesEdit) Then(next *PlacesEdit) *PlacesEdit {
	out := &PlacesEdit{Put: next.Apply(p.Put), Gone: map[resource.ID]bool{}, Moved: map[string]bool{}}
	for _, e := range []*PlacesEdit{p, next} {
		maps.Copy(out.Gone, e.Gone)
		maps.Copy(out.Moved, e.Moved)
	}
	maps.DeleteFunc(out.Gone, func(id resource.ID, _ bool) bool {
		_, again := out.Put[id]
		return again
	})
	return out
}

// Apply returns places after the edit.
func (p *PlacesEdit) Apply(to Places) Places {
	out := make(Places, len(to)+len(p.Put))
	for id, at := range to {
		if p.Moved[at.File] {
			at.Line, at.Column = 0, 0
		}
		if !p.Gone[id] {
			out[id] = at
		}
	}
	maps.Copy(out, p.Put)
	return out
}

// size returns the number of parts of an edit.
func (p *PlacesEdit) size() int { return len(p.Put) + len(p.Gone) + len(p.Moved) }

// maxPlacesEdit is the number of parts up to which an edit is stored beside its base.
const maxPlacesEdit = 2000

// placesText returns the text of a file of places or of an edit, without compression.
func placesText(p *PlacesEdit) []byte {
	number := map[string]int{}
	var files []string
	ids := slices.Sorted(maps.Keys(p.Put))
	for _, id := range ids {
		file := cutFile(p.Put[id].File)
		if _, known := number[file]; !known {
			number[file] = len(files)
			files = append(files, file)
		}
	}
	w := &binform.Writer{}
	w.Uint(placesFormat)
	w.Texts(files)
	w.Len(len(ids))
	for _, id := range ids {
		at := p.Put[id]
		w.Text(string(id))
		w.Len(number[cutFile(at.File)])
		w.Len(min(max(at.Line, 0), maxPlace))
		w.Len(min(max(at.Column, 0), maxPlace))
	}
	binform.WriteTexts(w, slices.Sorted(maps.Keys(p.Gone)))
	w.Texts(slices.Sorted(maps.Keys(p.Moved)))
	return w.B
}

// cutFile returns the stored form of the name of a file.
func cutFile(name string) string {
	return strings.ToValidUTF8(name[:min(len(name), maxPlaceFile)], "")
}

// PlacesText returns the text in which places are transferred.
func PlacesText(p Places) []byte { return placesText(&PlacesEdit{Put: p}) }

// ParsePlaces reads transferred places. Its error is Invalid.
func ParsePlaces(text []byte) (Places, error) {
	e, err := parsePlaces(text)
	if err != nil {
		return nil, err
	}
	return e.Put, nil
}

// parsePlaces reads the text of a file of places or of an edit. Its error is Invalid.
func parsePlaces(text []byte) (*PlacesEdit, error) {
	r := &binform.Reader{B: text}
	if r.Uint() != placesFormat {
		r.Fail()
	}
	files := r.Texts()
	for i := range files {
		files[i] = cutFile(files[i])
	}
	n := r.Len()
	if n > MaxPlaces {
		r.Fail()
		n = 0
	}
	out := &PlacesEdit{Put: make(Places, n), Gone: map[resource.ID]bool{}, Moved: map[string]bool{}}
	for range n {
		id := resource.ID(r.Text())
		file := r.UintTo(uint64(max(len(files)-1, 0)))                                 // not negative
		at := diag.Pos{Line: int(r.UintTo(maxPlace)), Column: int(r.UintTo(maxPlace))} // bounded
		if r.Bad || len(files) == 0 {
			r.Fail()
			break
		}
		at.File = files[file]
		out.Put[id] = at
	}
	for _, id := range binform.ReadTexts[resource.ID](r) {
		out.Gone[id] = true
	}
	for _, file := range r.Texts() {
		out.Moved[file] = true
	}
	if !r.Done() {
		return nil, fault.New(fault.Invalid, "read places", "the file does not hold places")
	}
	return out, nil
}

// StoredPlaces returns the files of places of a new version, all of them in one.
func StoredPlaces(p Places) []state.Blob {
	if len(p) == 0 || len(p) > MaxPlaces {
		return nil
	}
	return []state.Blob{FileOf(compress(PlacesText(p)))}
}

// EditedPlaces returns the files of places of a new version that an edit of the last version made,
// in order, and which of them are new. Usually the file of the last version stays, and a file with
// all edits since is written.
func EditedPlaces(
	ctx context.Context, files state.Files, last *state.Version, e *PlacesEdit,
) (hashes []string, blobs []state.Blob, err error) {
	c := NewPlacesCache(files)
	if len(last.Places) == 0 {
		blobs = StoredPlaces(e.Put)
	} else {
		parts, err := c.read(ctx, last.Places[1:])
		if err != nil {
			return nil, nil, err
		}
		for _, p := range parts {
			e = p.Then(e)
		}
		if e.size() <= maxPlacesEdit {
			if e.size() == 0 {
				return last.Places[:1], nil, nil
			}
			blobs = []state.Blob{FileOf(compress(placesText(e)))}
			return []string{last.Places[0], blobs[0].Hash}, blobs, nil
		}
		base, err := c.Get(ctx, &state.Version{Places: last.Places[:1]})
		if err != nil {
			return nil, nil, err
		}
		blobs = StoredPlaces(e.Apply(base))
	}
	for _, b := range blobs {
		hashes = append(hashes, b.Hash)
	}
	return hashes, blobs, nil
}

// PlacesCache reads files of places, and caches those read last. The files are immutable, so the
// cache cannot be outdated.
type PlacesCache struct {
	files  state.Files
	mu     sync.Mutex
	hashes []string
	places Places
}

// NewPlacesCache returns a cache of the places in files.
func NewPlacesCache(files state.Files) *PlacesCache { return &PlacesCache{files: files} }

// Get returns the places of a version, which the caller must not change. They are a help for
// people: if a file is missing or damaged, there are none.
func (c *PlacesCache) Get(ctx context.Context, v *state.Version) (Places, error) {
	if len(v.Places) == 0 {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Equal(c.hashes, v.Places) {
		return c.places, nil
	}
	parts, err := c.read(ctx, v.Places)
	if err != nil {
		return nil, err
	}
	var places Places
	for _, e := range parts {
		places = e.Apply(places)
	}
	c.hashes, c.places = v.Places, places
	return places, nil
}

// read returns the contents of files; none if one is missing or damaged.
func (c *PlacesCache) read(ctx context.Context, hashes []string) ([]*PlacesEdit, error) {
	if len(hashes) == 0 {
		return nil, nil
	}
	blobs, err := c.files.Get(ctx, hashes)
	if err != nil {
		if state.Unreadable(err) {
			err = nil
		}
		return nil, fault.Wrap(fault.Unknown, "read places", err)
	}
	out := make([]*PlacesEdit, len(blobs))
	for i, b := range blobs {
		text, err := decompress(b)
		if err == nil {
			out[i], err = parsePlaces(text)
		}
		if err != nil { // damaged
			return nil, nil
		}
	}
	return out, nil
}
