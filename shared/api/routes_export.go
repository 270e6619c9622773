package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
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

type uploadsAsked struct {
	Files []FileSize `json:"files" maxItems:"1000"`
}

type uploadsDone struct {
	Uploads []Upload `json:"uploads"`
}

type planAsked struct {
	Bundle
	Read  bool `json:"read,omitempty" doc:"also compare with the machines"`
	Whole bool `json:"whole,omitempty" doc:"whole values"`
}

type bundleIn struct {
	InEnvironment
	Body Bundle
}

func large(op *huma.Operation) { op.MaxBodyBytes = maxBundle }

const inEnv = "/v1/environments/{env}"

func (r *routes) exports() {
	serve(r, http.MethodPost, inEnv+"/exports/lookup", "lookupExport",
		"Compare a fingerprint of inputs with the released version",
		func(ctx context.Context, i *struct {
			InEnvironment
			Body struct {
				Fingerprint string `json:"fingerprint" maxLength:"200"`
			}
		}) (*out[KnownDone], error) {
			x, known, err := r.s.Known(ctx, i.Env, i.Body.Fingerprint)
			done := KnownDone{Known: known}
			if known {
				e := exportDone(x)
				done.Exported = &e
			}
			return answer(done, err)
		})
	serve(r, http.MethodPost, inEnv+"/uploads", "askUploads",
		"Which of these files are missing, and how to store them",
		func(ctx context.Context, i *struct {
			InEnvironment
			Body uploadsAsked
		}) (*out[uploadsDone], error) {
			ups, err := r.s.Uploads(ctx, i.Body.Files)
			return answer(uploadsDone{orEmpty(ups)}, err)
		})
	serve(r, http.MethodPost, inEnv+"/exports", "export", "Store and release an uploaded export",
		func(ctx context.Context, i *bundleIn) (*out[ExportDone], error) {
			x, err := r.s.Commit(ctx, i.Env, i.Body)
			return answer(exportDone(x), err)
		}, large)
	serve(r, http.MethodPost, inEnv+"/plans", "plan",
		"Preview an uploaded export", func(ctx context.Context, i *struct {
			InEnvironment
			Body planAsked
		}) (*out[ReadDone], error) {
			if !i.Body.Read {
				return answer(r.s.planned(ctx, i.Env, i.Body))
			}
			return answer(r.s.jobs.read(ctx, ReadJob{Environment: i.Env, Bundle: &i.Body.Bundle,
				Whole: i.Body.Whole}))
		}, large)
	serve(r, http.MethodGet, inEnv+"/results/{hash}", "result",
		"A part of the answer to a plan or a dry run", func(ctx context.Context, i *struct {
			InEnvironment
			Hash string `path:"hash" pattern:"^[0-9a-f]{64}$" patternDescription:"a SHA-256: 64 hexadecimal digits in lower case"`
		}) (*rawOut, error) {
			b, err := r.s.Result(ctx, i.Hash)
			if err != nil {
				return nil, problemOf(err)
			}
			return &rawOut{"application/json", `"` + i.Hash + `"`,
				"private, immutable, max-age=86400", b}, nil
		})
	if r.s.Sign == nil {
		r.putFile()
	}
}

type rawOut struct {
	ContentType  string `header:"Content-Type"`
	ETag         string `header:"ETag"`
	CacheControl string `header:"Cache-Control"`
	Body         []byte
}

// putFile streams a file into the store. Its OpenAPI description is written by hand, since the
// library does not read the body.
func (r *routes) putFile() {
	op := &huma.Operation{Method: http.MethodPut, Path: "/v1/files/{hash}", OperationID: "putFile",
		Summary: "Store a file by its SHA-256",
		Parameters: []*huma.Param{{Name: "hash", In: "path", Required: true,
			Schema: &huma.Schema{Type: "string", Pattern: "^[0-9a-f]{64}$"}}},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/octet-stream": {Schema: &huma.Schema{Type: "string", Format: "binary"}}}},
		Responses: map[string]*huma.Response{"204": {Description: "Stored"}}}
	r.api.OpenAPI().AddOperation(op)
	r.api.Adapter().Handle(op, func(c huma.Context) {
		if err := r.store(c); err != nil {
			send(c, problemOf(err))
			return
		}
		c.SetStatus(http.StatusNoContent)
	})
}

func (r *routes) store(c huma.Context) error {
	hash := c.Param("hash")
	if !validHash(hash) {
		return fault.New(fault.Invalid, "store file", "%.80q is not a SHA-256", hash)
	}
	if n, err := strconv.ParseInt(c.Header("Content-Length"), 10, 64); err == nil && n > maxFile {
		return fault.New(fault.Invalid, "store file", "a file is at most %d bytes", int64(maxFile))
	}
	missing, err := r.s.Engine.Files.Missing(c.Context(), []string{hash})
	if err != nil {
		return fault.Wrap(fault.Unknown, "find file", err)
	}
	if len(missing) == 0 {
		return nil
	}
	body := &bounded{r: c.BodyReader(), left: maxFile}
	opened := false
	err = r.s.Engine.Files.Put(c.Context(),
		[]state.Blob{{Hash: hash, Open: func() (io.ReadCloser, error) {
			if opened {
				return nil, fault.New(fault.Unavailable, "store file",
					"the bytes were read and have to be sent again")
			}
			opened = true
			return io.NopCloser(body), nil
		}}})
	if err != nil && malformed(body.failed) {
		return notRead(body.failed)
	}
	return fault.Wrap(fault.Unknown, "store file", err)
}

// bounded is a body with a limited length.
type bounded struct {
	r      io.Reader
	left   int64
	failed error // the error that ended reading
}

var errTooLong = errors.New("the body is longer than a file may be")

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n, errTooLong
	}
	if err != nil && err != io.EOF { // of Read itself
		b.failed = err
	}
	return n, err // io.EOF must stay itself
}
