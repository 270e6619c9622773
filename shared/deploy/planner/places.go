package planner

import (
	"context"

	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/resource"
)

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
