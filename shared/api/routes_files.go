package api

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"southbound/shared/api/problem"
	"southbound/shared/api/server"
	"southbound/shared/api/wire"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

type uploadsAsked struct {
	Files []FileSize `json:"files" maxItems:"1000"`
}

type uploadsDone struct {
	Uploads []Upload `json:"uploads"`
}

// fileRoutes serves uploads.
func fileRoutes(r *server.Router, s *fileService) {
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/uploads", "askUploads",
		"Which of these files are missing, and how to store them",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Body uploadsAsked
		}) (*server.Out[uploadsDone], error) {
			ups, err := s.Uploads(ctx, i.Body.Files)
			return server.Answer(uploadsDone{wire.OrEmpty(ups)}, err)
		})
	if s.Sign == nil {
		putFileRoute(r, s)
	}
}

// putFile streams a file into the store. Its OpenAPI description is written by hand, since the
// library does not read the body.
func putFileRoute(r *server.Router, s *fileService) {
	op := &huma.Operation{Method: http.MethodPut, Path: "/v1/files/{hash}", OperationID: "putFile",
		Summary: "Store a file by its SHA-256",
		Parameters: []*huma.Param{{Name: "hash", In: "path", Required: true,
			Schema: &huma.Schema{Type: "string", Pattern: "^[0-9a-f]{64}$"}}},
		RequestBody: &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
			"application/octet-stream": {Schema: &huma.Schema{Type: "string", Format: "binary"}}}},
		Responses: map[string]*huma.Response{"204": {Description: "Stored"}}}
	r.API.OpenAPI().AddOperation(op)
	r.API.Adapter().Handle(op, func(c huma.Context) {
		if err := s.store(c); err != nil {
			problem.Send(c, problem.Of(err))
			return
		}
		c.SetStatus(http.StatusNoContent)
	})
}

func (s *fileService) store(c huma.Context) error {
	hash := c.Param("hash")
	if !wire.ValidHash(hash) {
		return fault.New(fault.Invalid, "store file", "%.80q is not a SHA-256", hash)
	}
	if n, err := strconv.ParseInt(c.Header("Content-Length"), 10, 64); err == nil && n > maxFile {
		return fault.New(fault.Invalid, "store file", "a file is at most %d bytes", int64(maxFile))
	}
	missing, err := s.Files.Missing(c.Context(), []string{hash})
	if err != nil {
		return fault.Wrap(fault.Unknown, "find file", err)
	}
	if len(missing) == 0 {
		return nil
	}
	body := &bounded{r: c.BodyReader(), left: maxFile}
	opened := false
	err = s.Files.Put(c.Context(),
		[]state.Blob{{Hash: hash, Open: func() (io.ReadCloser, error) {
			if opened {
				return nil, fault.New(fault.Unavailable, "store file",
					"the bytes were read and have to be sent again")
			}
			opened = true
			return io.NopCloser(body), nil
		}}})
	if err != nil && server.Malformed(body.failed) {
		return server.NotRead(body.failed)
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
