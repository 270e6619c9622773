package exports

import (
	"time"

	"southbound/shared/api/versions"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// ExportDone is the result of an export.
type ExportDone struct {
	Version   int  `json:"version"`
	Resources int  `json:"resources"`
	Changed   int  `json:"changed"`
	Unchanged int  `json:"unchanged"`
	Removed   int  `json:"removed"`
	New       bool `json:"new" doc:"a version was stored; false: equal to the last one"`
	versions.Origin
	Began     *time.Time    `json:"began,omitempty" doc:"for a new version: a lower bound of the ids of its actions"`
	Left      int           `json:"left,omitempty" doc:"number of removed resources that are orphaned"`
	LeftFirst []resource.ID `json:"left_first,omitempty" doc:"some of these"`
	Moved     int           `json:"moved,omitempty" doc:"number of things with a new id"`
	Moves     []deploy.Move `json:"moves,omitempty" doc:"the first of these"`
}

// KnownDone reports whether inputs are the released version.
type KnownDone struct {
	Known    bool        `json:"known"`
	Exported *ExportDone `json:"exported,omitempty"`
}

func exportDone(x deploy.Exported) ExportDone {
	var began *time.Time
	if !x.Began.IsZero() {
		began = &x.Began
	}
	return ExportDone{x.Version, x.Resources, x.Changed, x.Unchanged, x.Removed, x.New,
		versions.Origin(x.Origin), began, x.LeftBehind, x.FirstLeft, x.Moved, x.Moves}
}

func (d ExportDone) exported() deploy.Exported {
	out := deploy.Exported{Version: d.Version, Resources: d.Resources, Changed: d.Changed,
		Unchanged: d.Unchanged, Removed: d.Removed, New: d.New,
		Origin: state.Origin(d.Origin), LeftBehind: d.Left, FirstLeft: d.LeftFirst,
		Moved: d.Moved, Moves: d.Moves}
	if d.Began != nil {
		out.Began = *d.Began
	}
	return out
}
