package jobs

import (
	"context"
	"io"

	"southbound/shared/api/environments"
	"southbound/shared/api/files"
	"southbound/shared/api/versions"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/diffview"
)

// maxTexts is how many files of a plan are fetched to show their texts.
const maxTexts = 50

// texts adds the differences of files as texts to a plan, if the server had only the old files. It
// never fails: files that cannot be read are shown by size and hash.
func (c Remote) texts(
	ctx context.Context,
	env string,
	m *model.Model,
	opts deploy.CompareOptions,
	planned []deploy.PlannedChange,
) {
	number, left := 0, maxTexts
	for i := range planned {
		for name, d := range planned[i].Changes {
			old, target, both := filesOf(d, m)
			if !both || left == 0 {
				continue
			}
			if number == 0 {
				p, err := environments.Remote{Conn: c.Conn}.Progress(ctx, env)
				if err != nil || p.Released == 0 {
					return
				}
				number = p.Released
			}
			left--
			now, err := versions.Remote{Conn: c.Conn}.VersionFile(ctx, env, number, old)
			desired, readable := textOf(target)
			if err == nil && readable && diffview.IsText(now) {
				d.Unified = run.UnifiedFiles(string(now), desired, opts.Whole)
				planned[i].Changes[name] = d
			}
		}
	}
}

// filesOf returns the hash of the current file, and the desired file of a model, if a difference is
// one of two files and both are small.
func filesOf(d diff.Diff, m *model.Model) (old string, target state.Blob, both bool) {
	size, old, is := diffview.File(d.Current)
	_, hash, other := diffview.File(d.Desired)
	target, here := m.Files[hash]
	return old, target, d.Unified == "" && is && other && here &&
		max(size, target.Size) <= run.MaxCompared
}

// textOf returns the text of a blob.
func textOf(b state.Blob) (string, bool) {
	src, err := files.Open(b)
	if err != nil {
		return "", false
	}
	defer func() { _ = src.Close() }()
	text, err := io.ReadAll(io.LimitReader(src, run.MaxCompared+1))
	return string(text), err == nil && int64(len(text)) == b.Size && diffview.IsText(text)
}
