package planner

import (
	"context"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// Files: those of a model, and those that the engine makes itself.

// upload stores the missing files of a model, and returns how many were missing. Files of the last
// version are assumed to be stored; if one is not, storeVersion returns an error.
func (pl *Config) upload(ctx context.Context, env string, m *model.Model) (int, error) {
	if len(m.Files) == 0 {
		return 0, nil
	}
	stored, err := pl.State.Env(ctx, env)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "read environment", err)
	}
	vs, err := pl.State.Versions(ctx, env, stored.Last)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "read version", err)
	}
	hashes := slices.Sorted(maps.Keys(m.Files))
	for _, v := range vs {
		hashes = slices.DeleteFunc(hashes, func(h string) bool {
			_, stored := slices.BinarySearch(v.Files, h)
			return stored
		})
	}
	if len(hashes) == 0 {
		return pl.storeDeclarations(ctx, m)
	}
	missing, err := pl.Files.Missing(ctx, hashes)
	if err != nil {
		return 0, fault.Wrap(fault.Unknown, "find files", err)
	}
	blobs := make([]state.Blob, len(missing))
	for i, h := range missing {
		blobs[i] = m.Files[h]
	}
	if err := pl.putFiles(ctx, blobs); err != nil {
		return 0, err
	}
	again, err := pl.storeDeclarations(ctx, m)
	return len(blobs) + again, err
}

// storeDeclarations stores the declarations that come with a model and are lost, and returns how many
// were: without them no resource of their types can run.
func (pl *Config) storeDeclarations(ctx context.Context, m *model.Model) (int, error) {
	return pl.restoreFiles(ctx, slices.Collect(maps.Values(model.Declarations(m))))
}

// restoreFiles stores the files among blobs that are missing, or stored with other bytes. It returns
// their number.
func (pl *Config) restoreFiles(ctx context.Context, blobs []state.Blob) (int, error) {
	var lost []state.Blob
	for i := range blobs {
		_, err := pl.Files.Get(ctx, []string{blobs[i].Hash})
		if state.Unreadable(err) {
			lost = append(lost, blobs[i])
		} else if err != nil {
			return 0, fault.Wrap(fault.Unknown, "find files", err)
		}
	}
	return len(lost), pl.putFiles(ctx, lost)
}

// putFiles stores files.
func (pl *Config) putFiles(ctx context.Context, blobs []state.Blob) error {
	if len(blobs) == 0 {
		return nil
	}
	err := pl.Client.Retry(ctx, func() error { return pl.Files.Put(ctx, blobs) })
	return fault.Wrap(fault.Unknown, "store files", err)
}

// LostDeclarations reports whether a version has any of these files and it is not stored, or, where
// files can be damaged, is stored with other bytes.
func (pl *Config) LostDeclarations(
	ctx context.Context, v *state.Version, hashes []string,
) (bool, error) {
	var of []string
	for _, h := range hashes {
		if slices.Contains(v.Files, h) {
			of = append(of, h)
		}
	}
	if len(of) == 0 {
		return false, nil
	}
	if files, checks := pl.Files.(state.Verifier); checks {
		return state.Unreadable(files.Verify(ctx, of)), nil
	}
	missing, err := pl.Files.Missing(ctx, of)
	return len(missing) > 0, fault.Wrap(fault.Unknown, "find files", err)
}
