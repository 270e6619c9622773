// Package files serves uploads of files, and uploads the files of an export that a server lacks.
package files

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"southbound/shared/api/chunk"
	"southbound/shared/api/client"
	"southbound/shared/api/problem"
	"southbound/shared/api/wire"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
)

// Commit uploads missing files and calls do with the number of uploaded files of the model. Without
// files, it uploads only the declarations of types, without which no model can be checked. If a
// stored file was removed before do has used it, commit runs again. Problems are returned with
// their positions in the documents.
func Commit(
	ctx context.Context, c *client.Conn, env string, m *model.Model, p chunk.Packed, files bool, progress func(Sent),
	do func(uploaded int) error,
) error {
	sent := m
	if !files {
		sent = &model.Model{Files: model.Declarations(m)}
	}
	blobs := BlobsOf(sent, p)
	for retried := false; ; retried = true {
		u := &Uploader{C: c, Env: env, Model: m, progress: progress}
		err := u.Store(ctx, blobs)
		if err == nil {
			err = do(u.OfModel)
		}
		if !retried && fault.Is(err, fault.NotFound) && ctx.Err() == nil {
			continue
		}
		return AddPlaces(err, m, p.Order)
	}
}

// AddPlaces adds the positions in documents to the problems of a server that does not know them.
func AddPlaces(err error, m *model.Model, order []int32) error {
	var r client.ServerError
	if !errors.As(err, &r) || len(r.Problems) == 0 {
		return err
	}
	return r.Failure.AsError(func(at problem.Place) diag.Pos {
		if at.Agent != "" {
			return m.AtAgent(at.Agent)
		}
		if at.Index < 0 || at.Index >= len(order) {
			return diag.Pos{}
		}
		return m.At(int(order[at.Index]), at.Attribute)
	})
}

// Uploader sends missing files.
type Uploader struct {
	C        *client.Conn
	Env      string
	Model    *model.Model
	progress func(Sent)
	mu       sync.Mutex
	sent     Sent
	OfModel  int
}

// Store requests the list of missing files, in parts, and sends them.
func (u *Uploader) Store(ctx context.Context, blobs []state.Blob) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	byHash := make(map[string]state.Blob, len(blobs))
	var missing []Upload
	for part := range slices.Chunk(blobs, maxUploads) {
		request := uploadsAsked{Files: make([]FileSize, len(part))}
		for i, b := range part {
			request.Files[i] = FileSize{b.Hash, b.Size}
			byHash[b.Hash] = b
		}
		var done uploadsDone
		if err := u.C.CallExport(ctx, http.MethodPost,
			wire.EnvironmentPath(u.Env, "uploads"), request,
			&done); err != nil {
			return err
		}
		missing = append(missing, done.Uploads...)
		if len(missing) >= maxUploads || len(part) < maxUploads {
			// Files are sent before the signatures of their addresses expire.
			if err := u.sendAll(ctx, cancel, missing, byHash); err != nil {
				return err
			}
			missing = missing[:0]
		}
	}
	return u.sendAll(ctx, cancel, missing, byHash)
}

// sendAll sends files, several concurrently; the first error cancels the others.
func (u *Uploader) sendAll(
	ctx context.Context, cancel context.CancelCauseFunc, list []Upload, blobs map[string]state.Blob,
) error {
	u.sent.OfFiles += len(list)
	for _, up := range list {
		u.sent.OfBytes += blobs[up.Hash].Size
	}
	var wg sync.WaitGroup
	next := make(chan Upload)
	errs := make(chan error, client.Uploaders)
	for range min(client.Uploaders, len(list)) {
		wg.Go(func() {
			for up := range next {
				b, part := blobs[up.Hash], int64(0)
				err := u.C.Retry(ctx, func() error {
					u.moved(&part, 0, 0) // a failed attempt's bytes do not count
					return u.send(ctx, up, b, func(n int) { u.moved(&part, 1, int64(n)) })
				})
				if err != nil {
					errs <- err
					cancel(err)
					return
				}
				u.moved(&part, 0, b.Size)
				u.stored(b)
			}
		})
	}
	for _, up := range list {
		select {
		case next <- up:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(next)
	wg.Wait()
	close(errs)
	if err := <-errs; err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fault.Wrap(fault.KindOf(context.Cause(ctx)), "", context.Cause(ctx))
	}
	return nil
}

func (u *Uploader) stored(b state.Blob) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent.Files++
	if _, is := u.Model.Files[b.Hash]; is {
		u.OfModel++
	}
	if u.progress != nil {
		u.progress(u.sent)
	}
}

// moved sets the sent bytes of a file, part, to keep times their number plus n.
func (u *Uploader) moved(part *int64, keep, n int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent.Bytes -= *part
	*part = keep**part + n
	u.sent.Bytes += *part
	if u.progress != nil && n != 0 {
		u.progress(u.sent)
	}
}

// counted reports the number of bytes that are read.
type counted struct {
	io.ReadCloser
	report func(n int)
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.report(n)
	return n, err // io.EOF must stay itself
}

// send makes the request that stores a file, and reports the number of bytes sent.
func (u *Uploader) send(ctx context.Context, up Upload, b state.Blob, report func(n int)) error {
	if b.Hash == "" || up.Method != http.MethodPut {
		return fault.New(fault.Foreign, "upload",
			"the server requests %.80q, which is not part of this export", up.Hash)
	}
	body, err := Open(b)
	if err != nil {
		return fault.Wrap(fault.Invalid, "read file to upload", err)
	}
	defer func() { _ = body.Close() }()
	sender, address := u.C.Bare, up.URL
	if strings.HasPrefix(address, "/") {
		sender, address = u.C.Http, u.C.ExportBase.String()+address
	} else if _, err := client.ParseURL(strings.SplitN(address, "?", 2)[0]); err != nil {
		return fault.New(fault.Foreign, "upload",
			"the server returned an invalid upload address")
	}
	going := client.NewTransfer(ctx)
	defer going.End()
	req, err := http.NewRequestWithContext(going.Context, http.MethodPut, address,
		counted{io.NopCloser(body), func(n int) {
			going.Moved()
			report(n)
		}})
	if err != nil {
		return fault.Wrap(fault.Foreign, "upload", err)
	}
	if req.ContentLength = b.Size; b.Size == 0 {
		req.Body = http.NoBody
	}
	for name, value := range up.Header {
		if !strings.EqualFold(name, "Content-Length") {
			req.Header.Set(name, value)
		}
	}
	resp, err := sender.Do(req)
	if err != nil {
		return u.C.Unreachable(ctx, req.URL, client.StallTimeout, going.Reach, going.Cause(err))
	}
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode/100 == 2 || resp.StatusCode == http.StatusPreconditionFailed {
		// the latter: another client has stored the file
		return nil
	}
	return uploadFailed(req.URL, resp, text)
}

// uploadFailed returns the error of an upload. The query of a presigned address is a credential and
// is omitted. Of a store's answer, the error has only the code.
func uploadFailed(to *url.URL, resp *http.Response, text []byte) error {
	err := client.AnswerError(to.Host, resp, text)
	_, code, _ := bytes.Cut(text, []byte("<Code>"))
	if code, _, ok := bytes.Cut(code, []byte("</Code>")); ok && len(code) < 100 {
		err = &fault.Error{Kind: fault.KindOf(err), Op: "upload: " + string(code), Err: err,
			Hint: "run the same command again: sent files are kept"}
	}
	if resp.StatusCode == http.StatusConflict && !errors.As(err, new(client.ServerError)) {
		// S3: two clients were storing the file concurrently
		return &fault.Error{Kind: fault.Unavailable, Op: "upload", Err: err}
	}
	if resp.StatusCode == http.StatusBadRequest && bytes.Contains(text, []byte("Digest")) {
		return &fault.Error{Kind: fault.Invalid, Op: "upload", Err: err,
			Hint: "export again; the file changed while it was read"}
	}
	return err
}

func Open(b state.Blob) (io.ReadCloser, error) {
	if b.Open != nil {
		return b.Open()
	}
	return io.NopCloser(bytes.NewReader(b.Data)), nil
}

// BlobsOf returns all files of an export, sorted by hash.
func BlobsOf(m *model.Model, p chunk.Packed) []state.Blob {
	blobs := slices.Clone(p.Chunks)
	if p.Agents != nil {
		blobs = append(blobs, *p.Agents)
	}
	if p.Places != nil {
		blobs = append(blobs, *p.Places)
	}
	blobs = slices.AppendSeq(blobs, maps.Values(m.Files))
	slices.SortFunc(blobs, func(a, b state.Blob) int { return cmp.Compare(a.Hash, b.Hash) })
	return slices.CompactFunc(blobs, func(a, b state.Blob) bool { return a.Hash == b.Hash })
}
