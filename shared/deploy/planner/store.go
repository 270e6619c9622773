package planner

import (
	"context"
	"slices"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// The files of a new version.

// storeVersion stores the files of a new version. The commit that schedules its changes also writes
// the version itself; see Planner.Export for the reason.
func (p *exporting) storeVersion(ctx context.Context, next next) error {
	v, last, blobs := next.version, next.last, next.blobs
	if x := next.contents; x != nil && next.fresh && relates(&p.pl.Config) != "" {
		var more []state.Blob
		v.Contents, more = x.Stored(relates(&p.pl.Config), last.Contents)
		blobs = slices.Concat(blobs, more)
	}
	if next.fresh {
		places, err := p.storePlaces(ctx, &next, &v)
		if err != nil {
			return err
		}
		blobs = slices.Concat(blobs, places)
	}
	if p.repair {
		if _, err := p.pl.restoreFiles(ctx, blobs); err != nil {
			return err
		}
	}
	if !next.fresh {
		return nil
	}
	// Files of the last version are stored, since nothing removes them.
	var ask []string
	for _, h := range v.Files {
		if _, found := slices.BinarySearch(last.Files, h); !found {
			ask = append(ask, h)
		}
	}
	if len(ask) > 0 {
		missing, err := p.pl.Files.Missing(ctx, ask)
		if err != nil {
			return fault.Wrap(fault.Unknown, "find files", err)
		}
		if len(missing) > 0 {
			return fault.New(fault.NotFound, "store version", "file %s is not stored any more",
				missing[0]).WithHint("export again")
		}
	}
	// Most other blobs are new, and storing an existing blob costs no more than looking it up.
	put := slices.DeleteFunc(slices.Clone(blobs),
		func(b state.Blob) bool { return slices.Contains(last.Chunks, b.Hash) })
	if err := p.pl.putFiles(ctx, put); err != nil {
		return err
	}
	p.store.version = &v
	return nil
}

// storePlaces sets the places of a new version, and returns their new files.
func (p *exporting) storePlaces(
	ctx context.Context, next *next, v *state.Version,
) ([]state.Blob, error) {
	v.Places = nil
	if v.Resources > version.MaxPlaces {
		return nil, nil
	}
	var blobs []state.Blob
	if next.delta != nil { // an edit of the last version
		var err error
		v.Places, blobs, err = version.EditedPlaces(ctx, p.pl.Files, &next.last, p.placesEdit(next.delta))
		return blobs, err
	}
	base, err := p.placesOfBase(ctx, next)
	if err != nil {
		return nil, err
	}
	ids := make(map[resource.ID]bool, len(next.entries))
	for i := range next.entries {
		ids[next.entries[i].ID] = true
	}
	edit := version.PlacesEdit{Put: p.places}
	blobs = version.StoredPlaces(edit.Apply(base).Within(
		func(id resource.ID) bool { return ids[id] }))
	for _, b := range blobs {
		v.Places = append(v.Places, b.Hash)
	}
	return blobs, nil
}

// placesEdit returns the change of places that a bounded edit makes. If the export has only the
// changes since the last one, other resources in the same files may have moved.
func (p *exporting) placesEdit(d *delta) *version.PlacesEdit {
	put := map[resource.ID]bool{}
	for _, r := range d.put {
		put[r.ID] = true
	}
	e := &version.PlacesEdit{Gone: map[resource.ID]bool{}, Moved: map[string]bool{},
		Put: p.places.Within(func(id resource.ID) bool { return put[id] })}
	for id := range d.before {
		e.Gone[id] = true
	}
	for i := range d.after {
		delete(e.Gone, d.after[i].ID)
	}
	if p.since {
		for _, at := range e.Put {
			e.Moved[at.File] = true
		}
	}
	return e
}

// placesOfBase returns the places of the version that an export edits; none for an export of
// everything.
func (p *exporting) placesOfBase(ctx context.Context, next *next) (version.Places, error) {
	base := next.last
	switch number := next.version.Base; number {
	case 0:
		return nil, nil
	case base.Number:
	default:
		var err error
		if base, err = p.pl.Client.Version(ctx, p.was, number); err != nil {
			return nil, err
		}
	}
	return version.NewPlacesCache(p.pl.Files).Get(ctx, &base)
}
