package api

import (
	"context"
	"net/http"
	"time"

	"southbound/shared/api/server"
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
	Origin
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
		Origin(x.Origin), began, x.LeftBehind, x.FirstLeft, x.Moved, x.Moves}
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

type planAsked struct {
	Bundle
	Read  bool `json:"read,omitempty" doc:"also compare with the machines"`
	Whole bool `json:"whole,omitempty" doc:"whole values"`
}

type bundleIn struct {
	server.InEnvironment
	Body Bundle
}

// exportRoutes serves exports and releases.
func exportRoutes(r *server.Router, s *exportService) {
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/exports/lookup", "lookupExport",
		"Compare a fingerprint of inputs with the released version",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Body struct {
				Fingerprint string `json:"fingerprint" maxLength:"200"`
			}
		}) (*server.Out[KnownDone], error) {
			x, known, err := s.Known(ctx, i.Env, i.Body.Fingerprint)
			done := KnownDone{Known: known}
			if known {
				e := exportDone(x)
				done.Exported = &e
			}
			return server.Answer(done, err)
		})
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/exports", "export", "Store and release an uploaded export",
		func(ctx context.Context, i *bundleIn) (*server.Out[ExportDone], error) {
			x, err := s.Commit(ctx, i.Env, i.Body)
			return server.Answer(exportDone(x), err)
		}, server.LargeBody)
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/releases", "release",
		"Put a stored version in force, an earlier or a later one",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Body struct {
				Version int    `json:"version" minimum:"1" maximum:"2147483647"`
				Author  string `json:"author,omitempty" maxLength:"1000" doc:"author of the release"`
				Message string `json:"message,omitempty" maxLength:"10000" doc:"why"`
			}
		}) (*server.Out[ExportDone], error) {
			x, err := s.Release(ctx, i.Env, i.Body.Version,
				Origin{Author: i.Body.Author, Message: i.Body.Message})
			return server.Answer(exportDone(x), err)
		})
}
