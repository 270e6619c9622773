package files

import (
	"context"
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

// Routes serves uploads.
func Routes(r *server.Router, s *Service) {
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
func putFileRoute(r *server.Router, s *Service) {
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

func (s *Service) store(c huma.Context) error {
	hash := c.Param("hash")
	if !wire.ValidHash(hash) {
		return fault.New(fault.Invalid, "store file", "%.80q is not a SHA-256", hash)
	}
	if n, err := strconv.ParseInt(c.Header("Content-Length"), 10, 64); err == nil && n > MaxSize {
		return fault.New(fault.Invalid, "store file", "a file is at most %d bytes", int64(MaxSize))
	}
	missing, err := s.Files.Missing(c.Context(), []string{hash})
	if err != nil {
		return fault.Wrap(fault.Unknown, "find file", err)
	}
	if len(missing) == 0 {
		return nil
	}
	body := &bounded{r: c.BodyReader(), left: MaxSize}
	opened := false
	err = s.Files.Put(c.Context(),
		[]state.Blob{{Hash: hash, Open: func() (io.ReadCloser, error) {
			if opened {
				return nil, fault.New(fault.Unavailable, "store file",
					"the bytes were read already; send them again")
			}
			opened = true
			return io.NopCloser(body), nil
		}}})
	if err != nil && server.Malformed(body.failed) {
		return server.NotRead(body.failed)
	}
	return fault.Wrap(fault.Unknown, "store file", err)
}

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
