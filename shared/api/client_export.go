package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"southbound/shared/api/chunk"
	"southbound/shared/api/client"
	"southbound/shared/api/problem"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
)

// Known implements Home.
func (c exportRemote) Known(
	ctx context.Context, env, fingerprint string,
) (deploy.Exported, bool, error) {
	var k KnownDone
	err := c.CallExport(ctx, http.MethodPost, wire.EnvironmentPath(env, "exports/lookup"),
		map[string]string{"fingerprint": fingerprint}, &k)
	if err != nil || !k.Known || k.Exported == nil {
		return deploy.Exported{}, false, err
	}
	return k.Exported.exported(), true, nil
}

// Export implements Home. The model has passed all checks that need no state.
func (c exportRemote) Export(
	ctx context.Context, env string, x deploy.Export, progress func(Sent),
) (deploy.Exported, error) {
	p, err := chunk.Pack(x.Model)
	if err != nil {
		return deploy.Exported{}, err
	}
	var done ExportDone
	files := 0
	err = commit(ctx, c.Conn, env, x.Model, p, true, progress, func(n int) error {
		files += n
		return c.CallExport(ctx, http.MethodPost, wire.EnvironmentPath(env, "exports"), bundleOf(x, p), &done)
	})
	out := done.exported()
	out.FilesUploaded = files
	return out, err
}

// Plan implements Home. It sends files only if the plan is compared with reality.
func (c comparisonRemote) Plan(
	ctx context.Context, env string, x deploy.Export, opts deploy.CompareOptions,
) (deploy.DryRun, error) {
	p, err := chunk.Pack(x.Model)
	if err != nil {
		return deploy.DryRun{}, err
	}
	var done ReadDone
	var left []string
	err = commit(ctx, c.Conn, env, x.Model, p, opts.Read, nil, func(int) error {
		asked := planAsked{bundleOf(x, p), opts.Read, opts.Whole}
		if opts.Read {
			job := jobAsked{Plan: &planRead{asked.Bundle, opts.Whole}}
			done, left, err = read(ctx, c.Conn, env, job)
			return err
		}
		return c.CallExport(ctx, http.MethodPost, wire.EnvironmentPath(env, "plans"), asked, &done)
	})
	if err != nil {
		return deploy.DryRun{Unread: left}, err
	}
	out, err := gatherFrom(ctx, c.Conn, env, done)
	if err == nil && !opts.Read {
		c.texts(ctx, env, x.Model, opts, out.Planned)
	}
	return out, err
}

func bundleOf(x deploy.Export, p chunk.Packed) Bundle {
	b := Bundle{Chunks: make([]string, len(p.Chunks)), Partial: x.Partial, DeleteSets: x.DeleteSets,
		NoRelease: x.NoRelease, Check: x.Check,
		Target: x.Target.Terms(), Defer: x.Defer, CheckAgents: x.CheckAgents,
		RetryFailed: x.RetryFailed, Settings: settingsOf(x.Settings),
		Fingerprint: x.Model.Fingerprint,
		Expect:      x.Expect}
	if x.Limits != nil {
		b.Limits = &Limits{x.Limits.Delete, x.Limits.Leave}
	}
	if o := Origin(x.Origin); o != (Origin{}) {
		b.Origin = &o
	}
	for i := range p.Chunks {
		b.Chunks[i] = p.Chunks[i].Hash
	}
	if p.Agents != nil {
		b.Agents = p.Agents.Hash
	}
	return b
}

// commit uploads missing files and calls do with the number of uploaded files of the model. If a
// stored file was removed before do has used it, commit runs again. Problems are returned with
// their positions in the documents.
func commit(
	ctx context.Context, c *client.Conn, env string, m *model.Model, p chunk.Packed, files bool, progress func(Sent),
	do func(uploaded int) error,
) error {
	sent := &model.Model{}
	if files {
		sent = m
	}
	blobs := blobsOf(sent, p)
	for again := false; ; again = true {
		u := &uploads{c: c, env: env, model: m, progress: progress}
		err := u.store(ctx, blobs)
		if err == nil {
			err = do(u.ofModel)
		}
		if !again && fault.Is(err, fault.NotFound) && ctx.Err() == nil {
			continue
		}
		return placed(err, m, p.Order)
	}
}

// placed adds the positions in documents to the problems of a server that does not know them.
func placed(err error, m *model.Model, order []int32) error {
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

// uploads sends missing files.
type uploads struct {
	c        *client.Conn
	env      string
	model    *model.Model
	progress func(Sent)
	mu       sync.Mutex
	sent     Sent
	ofModel  int
}

// store requests the list of missing files, in parts, and sends them.
func (u *uploads) store(ctx context.Context, blobs []state.Blob) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	byHash := make(map[string]state.Blob, len(blobs))
	var missing []Upload
	for part := range slices.Chunk(blobs, maxUploads) {
		asked := uploadsAsked{Files: make([]FileSize, len(part))}
		for i, b := range part {
			asked.Files[i] = FileSize{b.Hash, b.Size}
			byHash[b.Hash] = b
		}
		var done uploadsDone
		if err := u.c.CallExport(ctx, http.MethodPost, wire.EnvironmentPath(u.env, "uploads"), asked,
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
func (u *uploads) sendAll(
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
				err := u.c.Retry(ctx, func() error {
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

func (u *uploads) stored(b state.Blob) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.sent.Files++
	if _, is := u.model.Files[b.Hash]; is {
		u.ofModel++
	}
	if u.progress != nil {
		u.progress(u.sent)
	}
}

// moved sets the sent bytes of a file, part, to keep times their number plus n.
func (u *uploads) moved(part *int64, keep, n int64) {
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
	tell func(n int)
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.tell(n)
	return n, err // io.EOF must stay itself
}

// send makes the request that stores a file, and reports the number of bytes sent.
func (u *uploads) send(ctx context.Context, up Upload, b state.Blob, tell func(n int)) error {
	if b.Hash == "" || up.Method != http.MethodPut {
		return fault.New(fault.Foreign, "upload",
			"the server asks for %.80q, which is not of this export", up.Hash)
	}
	body, err := open(b)
	if err != nil {
		return fault.Wrap(fault.Invalid, "read file to upload", err)
	}
	defer func() { _ = body.Close() }()
	sender, address := u.c.Bare, up.URL
	if strings.HasPrefix(address, "/") {
		sender, address = u.c.Http, u.c.ExportBase.String()+address
	} else if _, err := client.ParseURL(strings.SplitN(address, "?", 2)[0]); err != nil {
		return fault.New(fault.Foreign, "upload",
			"the server sends this nowhere that can be sent to")
	}
	going := client.NewTransfer(ctx)
	defer going.End()
	req, err := http.NewRequestWithContext(going.Context, http.MethodPut, address,
		counted{io.NopCloser(body), func(n int) {
			going.Moved()
			tell(n)
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
		return u.c.Unreachable(ctx, req.URL, client.StallTimeout, going.Reach, going.Cause(err))
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
			Hint: "the file changed while it was read; export again"}
	}
	return err
}

func open(b state.Blob) (io.ReadCloser, error) {
	if b.Open != nil {
		return b.Open()
	}
	return io.NopCloser(bytes.NewReader(b.Data)), nil
}

// Release implements Home.
func (c exportRemote) Release(
	ctx context.Context, env string, number int, by Origin,
) (deploy.Exported, error) {
	var done ExportDone
	asked := map[string]any{"version": number}
	if by.Author != "" { // earlier servers reject the member
		asked["author"] = by.Author
	}
	if by.Message != "" {
		asked["message"] = by.Message
	}
	err := c.CallExport(ctx, http.MethodPost, wire.EnvironmentPath(env, "releases"), asked, &done)
	return done.exported(), err
}
