package planner

import (
	"errors"
	"time"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
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

	sets []string // the sets of the model, sorted
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

// Since describes the previous model of an export: see docs/design/export.md.
type Since struct {
	// Fingerprint is the fingerprint of the previous model. Export.Model holds only the resources
	// that have changed. All of them were in the previous model with the same id, set, purged and
	// documented requires, and nothing else has changed.
	Fingerprint string
	// Files are the hashes of the files that the previous model referred to, sorted. Model.Files
	// has all files that the whole model refers to now.
	Files []string
}

// ErrWhole means that an edit was declined and has changed nothing: the whole model has to be
// exported, or the whole version merged.
var ErrWhole = errors.New("the whole model has to be exported")

// Limits bounds the resources that an export may remove. A negative number sets no bound.
type Limits struct {
	Delete int // how many resources it may delete
	Leave  int // how many it may leave behind, or delete because they left
	// Unstated means that no number was given, and that the model describes no resource.
	Unstated bool
}

// WithDefaultLimits returns an export with limits if it needs them. An export that describes no
// resource deletes none, unless limits, or a plan that was shown, permit it. It may be the result
// of a mistake, such as a template that rendered nothing.
func (x Export) WithDefaultLimits() Export {
	if x.Limits == nil && x.Expect == "" && x.Since == nil && !x.Partial && x.Model != nil &&
		len(x.Model.Resources) == 0 {
		x.Limits = &Limits{Delete: 0, Leave: -1, Unstated: true}
	}
	return x
}

// targets holds the resources that a targeted export selects; nil: everything. See
// docs/design/targets.md.
type targets struct {
	asked  map[resource.ID]bool // selected by the filter, in the model or in the version in force
	needed map[resource.ID]bool // their requirements in the model, direct or indirect
}

// shows reports whether a preview shows the effect on a resource. runs means that the resource
// would run although no check of it is requested.
func (t *targets) shows(id resource.ID, runs bool) bool {
	return t == nil || t.asked[id] || t.needed[id] && runs
}

// match reports whether an export asks for a row.
func (t *targets) match(r *state.Row) bool { return t == nil || t.asked[r.ID] || t.needed[r.ID] }
