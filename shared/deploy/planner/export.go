package planner

import (
	"context"
	"fmt"
	"slices"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Export asks for a model to be stored as a version and, unless told otherwise, released.
//
// Large: it is what an export may be asked for, all of it optional but the model; whoever asks says
// little of it, by name.
type Export struct {
	Model *model.Model
	// Partial replaces only the resource sets that the model has, and merges the shared set.
	Partial bool
	// DeleteSets names sets that are removed with all they hold; only with Partial.
	DeleteSets []string
	// KeepShared leaves what is in force outside of the sets that are exported as it is: where the
	// model has a resource of no set that is there already, that does not count; only with Partial.
	KeepShared bool
	// Owner says that the sets belong to whoever asks, see deploy.Config.Owned; only with Partial.
	// They are merged into the version in force, also where a later one is stored.
	Owner bool
	// Target, unless it is empty, selects what the export is about: what matches in the model or in
	// the version in force, and what the model says that this requires. Everything else stays as it
	// is in force. It does not go together with Partial or NoRelease.
	Target state.Filter
	// Defer leaves what was to leave by Target and is still required by what stays to a later
	// export.
	Defer bool
	// NoRelease stores the version and does not release it.
	NoRelease bool
	// Check asks for everything that the export is about to be checked against reality, not only
	// what changed, or if CheckAgents names agents, for what is at these.
	Check       bool
	CheckAgents []string
	// RetryFailed also schedules what failed or was skipped, and Retry these resources where they
	// did.
	RetryFailed bool
	Retry       []resource.ID
	// Settings, when not nil, replace those of the environment.
	Settings *state.Settings
	// Since, when not nil, says that Model has only what has changed. ErrWhole: it needs all.
	Since *Since
	// Origin is kept with the version, if a new one is stored.
	Origin state.Origin
	// Expect, when not empty, is the State of a preview. Unless the export would do exactly what
	// that says, it is Refused and nothing is done.
	Expect string
	// Turn, when not empty, is what TakeTurn has noted for whoever exports. If somebody else has
	// taken the turn since, the export is a Conflict, and nothing is done.
	Turn string
	// Limits, when not nil, bounds what may leave: an export that goes beyond is Refused, with the
	// resources as problems, and nothing is done.
	Limits *Limits
	// LetGo says that whoever asks needs the resources of the model no more: they are let go of
	// once they are encoded, as there may be very many. An export that may be tried again with
	// other terms (Expect, Limits) keeps them all the same.
	LetGo bool
}

// Exported is what came of an export.
type Exported struct {
	Version       int
	Resources     int
	Changed       int // new or with another intent
	Unchanged     int
	Removed       int
	FilesUploaded int
	New           bool // a version was stored; false: equal to the last one
	// Began is when a server began it, if it stored the version: no action of that is older. Zero:
	// that is not known.
	Began time.Time
	// LeftBehind is how many of the removed stay as they are, and FirstLeft names a few of them.
	LeftBehind int
	FirstLeft  []resource.ID
	// Moved is how many things have another id now, and Moves names the first of them.
	Moved  int
	Moves  []Move
	Origin state.Origin
}

// Export validates, stores and releases a model. The same export again, also after a crash, gives
// the same version. A model with problems is refused with diag.Problems, which holds all of them,
// and nothing is stored.
//
// Uploaded files are stored first, without the lease, since they may take longer than that lasts;
// then, under it, the files of the version and its graph; last the version, by the commit that
// begins its release. So whoever sees a version can read all of it. A crash before that commit
// leaves files that nothing refers to: the same export finds them stored, and a collection removes
// those that nobody has come to refer to within its grace. After it, the release goes on with the
// next planner (see commitAll).
func (pl *Planner) Export(ctx context.Context, env string, x Export) (Exported, error) {
	var out Exported
	if x.Since != nil {
		return pl.exportSince(ctx, env, x)
	}
	if problems := pl.validateExport(x); len(problems) > 0 {
		return out, problems.Err()
	}
	uploaded, err := pl.upload(ctx, env, x.Model)
	if err != nil {
		return out, err
	}
	var gone []version.Entry // the resources that were let go of
	store := func(mending bool) error {
		return pl.planMending(ctx, env, mending, func(p *planning) (err error) {
			e := &exporting{planning: p}
			out, err = e.export(ctx, x)
			gone = e.gone
			return err
		})
	}
	mending, err := pl.mustMend(ctx, env)
	if err != nil {
		return out, err
	}
	if err = store(mending); state.Unreadable(err) && !mending {
		x.Model.Fingerprint = "" // values stand in it by now, where parameters stood
		if err = getBack(x.Model, gone); err == nil {
			err = store(true)
		}
	}
	out.FilesUploaded = uploaded
	return out, err
}

// TakeTurn notes whose turn it is to export for others. Whoever takes it and then reads what is to
// be exported knows that nobody exports what they have read before.
func (pl *Planner) TakeTurn(ctx context.Context, env, turn string) error {
	return pl.plan(ctx, env, func(p *planning) error {
		p.env.Turn = turn
		return p.commit(ctx, scheduleStays)
	})
}

func (pl *Config) validateExport(x Export) diag.Problems {
	var problems diag.Problems
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

// upload stores those files of a model that are missing, and returns how many these were. Files of
// the last version are taken to be stored; if they are not, storeVersion says so.
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
		return 0, nil
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
	return len(blobs), nil
}

func (pl *Config) putFiles(ctx context.Context, blobs []state.Blob) error {
	if len(blobs) == 0 {
		return nil
	}
	err := pl.Client.Retry(ctx, func() error { return pl.Files.Put(ctx, blobs) })
	return fault.Wrap(fault.Unknown, "store files", err)
}
