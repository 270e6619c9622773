package planner

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Export is a request to store a model as a version and, by default, to release it.
//
// Large: it holds every option of an export. All but the model are optional; callers set few of
// them, by name.
type Export struct {
	Model *model.Model
	// Partial replaces only the resource sets that the model has, and merges the shared set.
	Partial bool
	// DeleteSets names sets to remove with all their resources; only with Partial.
	DeleteSets []string
	// KeepShared leaves resources in force outside of the exported sets unchanged. A resource of
	// the model that is in no set and is already in force is ignored; only with Partial.
	KeepShared bool
	// Owner means that the sets belong to the caller, see deploy.Config.Owned; only with Partial.
	// The sets are merged into the version in force, even if a later version is stored.
	Owner bool
	// Target, unless it is empty, selects the resources of the export: matching resources of the
	// model and of the version in force, and their requirements in the model. All other resources
	// stay as they are in force. It cannot be combined with Partial or NoRelease.
	Target state.Filter
	// Defer postpones a removal by Target to a later export if a resource that stays still requires
	// the removed resource.
	Defer bool
	// NoRelease stores the version and does not release it.
	NoRelease bool
	// Check requests that all resources of the export are compared with reality, not only the
	// changed ones. If CheckAgents names agents, only resources at these agents are compared.
	Check       bool
	CheckAgents []string
	// RetryFailed also schedules failed and skipped resources. Retry does so for these resources
	// only.
	RetryFailed bool
	Retry       []resource.ID
	// Settings, when not nil, replace those of the environment.
	Settings *state.Settings
	// Since, when not nil, means that Model has only the changed resources. The error ErrWhole
	// means that the export needs the whole model.
	Since *Since
	// Origin is stored with the version, if the export stores a new one.
	Origin state.Origin
	// Expect, when not empty, is the State of a preview. If the export would do anything other than
	// that preview shows, it is Refused and nothing is done.
	Expect string
	// Turn, when not empty, is the token that the caller recorded by LockExports. If another worker
	// has recorded its token since, the export is a Conflict, and nothing is done.
	Turn string
	// Limits, when not nil, bounds the number of resources that may leave. An export that exceeds
	// it is Refused, with the resources as problems, and nothing is done.
	Limits *Limits
}

// Exported is the result of an export.
type Exported struct {
	Version       int
	Resources     int
	Changed       int // new or with another intent
	Unchanged     int
	Removed       int
	FilesUploaded int
	New           bool // a version was stored; false: it equals the last one
	// Began is when a server began the export, if it stored the version: no action of the version
	// is older. Zero means that the time is unknown.
	Began time.Time
	// LeftBehind is the number of removed resources whose things stay as they are. FirstLeft names
	// a few of them.
	LeftBehind int
	FirstLeft  []resource.ID
	// Moved is the number of things that have another id now. Moves names the first of them.
	Moved  int
	Moves  []Move
	Origin state.Origin
}

// Export validates, stores and releases a model. If the same export is repeated, also after a
// crash, it results in the same version. A model with problems is refused with diag.Problems, which
// holds all of them, and nothing is stored.
//
// Uploaded files are stored first, without the lease, since an upload may take longer than the
// lease lasts. Under the lease, the files of the version and its graph are stored next. The version
// is stored last, by the commit that begins its release. So a process that sees a version can read
// all of it. A crash before that commit leaves unreferenced files. A repeated export finds them
// stored, and a collection removes files that are still unreferenced after its grace period. After
// a crash later on, the next planner continues the release (see commitAll).
func (pl *Planner) Export(ctx context.Context, env string, x Export) (Exported, error) {
	var out Exported
	pl = pl.in(ctx)
	if x.Since != nil {
		return pl.exportSince(ctx, env, x)
	}
	problems := pl.validateExport(x)
	if err := cmp.Or(pl.Checker.Err(), problems.Err()); err != nil {
		return out, err
	}
	if err := pl.checkSecrets(ctx, env, x, false); err != nil {
		return out, err
	}
	uploaded, err := pl.upload(ctx, env, x.Model)
	if err != nil {
		return out, err
	}
	repair, err := pl.needsRepair(ctx, env)
	if err != nil {
		return out, err
	}
	out, err = pl.export(ctx, env, x, repair)
	if state.Unreadable(err) && !repair {
		x.Model.Fingerprint = "" // its parameters have been replaced by values by now
		out, err = pl.export(ctx, env, x, true)
	}
	out.FilesUploaded = uploaded
	return out, err
}

// export does the part of an export that is serialised with other exports.
func (pl *Planner) export(
	ctx context.Context, env string, x Export, repair bool,
) (out Exported, err error) {
	err = pl.planUnderLease(ctx, env, repair, func(p *planning) (err error) {
		out, err = (&exporting{planning: p}).export(ctx, x)
		return err
	})
	return out, err
}

// LockExports records the token of the only worker that may export with a Turn from now on; see
// Export.Turn. A worker that takes the turn before it reads its tasks knows that no other worker
// exports an older reading of them afterwards.
func (pl *Planner) LockExports(ctx context.Context, env, turn string) error {
	return pl.plan(ctx, env, func(p *planning) error {
		p.env.Turn = turn
		return p.commit(ctx, scheduleStays)
	})
}

func (pl *Config) validateExport(x Export) diag.Problems {
	var problems diag.Problems
	pl.Checker.Keep(x.Model)
	switch {
	case !x.Target.Empty() && (x.Partial || x.NoRelease):
		problems.Add(
			diag.Problem{
				Message: "a filter does not go together with a partial export, or one that is " +
					"not released",
				Hint: "leave out one of the two",
			},
		)
	case x.Partial:
		if !x.Model.Valid {
			problems = pl.Checker.Validate(x.Model)
		}
		sets := map[string]bool{}
		for i := range x.Model.Resources {
			sets[x.Model.Resources[i].Set] = true
		}
		for _, s := range x.DeleteSets {
			if sets[s] {
				problems.Add(
					diag.Problem{
						Message: fmt.Sprintf("set %q is exported and deleted at once", s),
						Hint:    "leave out one of the two",
					},
				)
			}
		}
	case len(x.DeleteSets) > 0:
		problems.Add(
			diag.Problem{
				Message: "sets can only be deleted by a partial export",
				Hint:    "add --partial",
			},
		)
	case !x.Model.Valid:
		problems = pl.Checker.ValidateClosed(x.Model)
	}
	return problems
}

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
	known := map[string]bool{}
	for _, v := range vs {
		for _, h := range v.Files {
			known[h] = true
		}
	}
	hashes := make([]string, 0, len(m.Files))
	for h := range m.Files {
		if !known[h] {
			hashes = append(hashes, h)
		}
	}
	if len(hashes) == 0 {
		return pl.storeDeclarations(ctx, m)
	}
	slices.Sort(hashes)
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
	lost, err := pl.lostOf(ctx, slices.Collect(maps.Values(model.Declarations(m))))
	if err != nil {
		return 0, err
	}
	return len(lost), pl.putFiles(ctx, lost)
}

func (pl *Config) putFiles(ctx context.Context, blobs []state.Blob) error {
	if len(blobs) == 0 {
		return nil
	}
	err := pl.Client.Retry(ctx, func() error { return pl.Files.Put(ctx, blobs) })
	return fault.Wrap(fault.Unknown, "store files", err)
}
