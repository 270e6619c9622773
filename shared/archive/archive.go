// Package archive exports an archive that a pipeline has put into S3, for pipelines without the
// command line.
package archive

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"southbound/shared/api"
	"southbound/shared/archive/unpack"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/internal/declared"
	"southbound/shared/internal/source"
)

// Event is a plain invoke of the export function.
type Event struct {
	Environment string   `json:"environment"` // default: from the project file, else "default"
	Bucket      string   `json:"bucket"`      // default: the bucket of the stack
	Key         string   `json:"key"`
	Partial     bool     `json:"partial"`
	DeleteSets  []string `json:"delete_sets"`
	// Release: false stores the version and does not deploy it. Default: true.
	Release *bool `json:"release"`
	// AllowDelete, when not nil, is the maximum number of resources that the export may delete.
	AllowDelete *int `json:"allow_delete"`
}

// ReadEvent decodes an event. It returns Usage for an unknown member. Otherwise, a misspelled name
// would cause an export into another environment, or the release of a version that was only to be
// stored.
func ReadEvent(raw []byte) (Event, error) {
	var e Event
	var members map[string]json.RawMessage
	err := json.Unmarshal(raw, &members)
	if err == nil {
		err = json.Unmarshal(raw, &e)
	}
	if err != nil {
		return e, fault.Wrap(fault.Usage, "read event", err)
	}
	known := []string{"environment", "bucket", "key", "partial", "delete_sets", "release",
		"allow_delete"}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if !slices.Contains(known, name) {
			return e, fault.New(fault.Usage, "read event", "there is no member %q", name).
				WithHint("an event has %s", strings.Join(known, ", "))
		}
	}
	return e, nil
}

// Answer is the result of an export, in the form of the command line's --json, or the reason for
// its failure.
type Answer struct {
	*api.Report
	Error *api.Failure `json:"error,omitempty"`
}

// Exporter exports archives.
type Exporter struct {
	// Open opens an archive and returns its length, or 0 if the length is not known. If bucket is
	// "", Open uses the bucket of the stack. The errors are faults.
	Open    func(ctx context.Context, bucket, key string) (io.ReadCloser, int64, error)
	Service *api.Service
	// Dir is the folder in which archives are unpacked; empty: the folder for temporary files.
	Dir string
}

// noLimit is the hint for an archive that exceeds a limit.
const noLimit = "use `southbound export`: it has no such limit"

// limits leave free space in the 512 MB of file storage of a function.
var limits = unpack.Limits{Entries: 20000, Unpacked: 400 << 20, Name: 1024, Hint: noLimit}

// maxPacked is the maximum size of an archive in bytes.
const maxPacked = 256 << 20

// Export reads the archive that an event names, and exports it. Problems of the archive, its
// documents or the request are in the answer. The error is a fault that may be temporary, so that
// the caller can repeat the event: the same export yields the same version.
func (x *Exporter) Export(ctx context.Context, e Event) (Answer, error) {
	began := time.Now()
	// An invoke has no caller that the function knows.
	ctx = api.WithCaller(ctx, api.Caller{User: e.Bucket + "/" + e.Key, Via: api.ViaArchive})
	report, err := x.export(ctx, e)
	switch kind := fault.KindOf(err); {
	case err == nil:
		report.DurationMS = time.Since(began).Milliseconds()
		return Answer{Report: report}, nil
	case kind == fault.Unavailable, kind == fault.Busy, kind == fault.Timeout,
		kind == fault.Canceled:
		return Answer{}, err
	}
	failure := api.FailureOf(err)
	return Answer{Error: &failure}, nil
}

func (x *Exporter) export(ctx context.Context, e Event) (*api.Report, error) {
	if e.Key == "" {
		return nil, fault.New(fault.Usage, "export", "the event names no archive").
			WithHint(`send {"environment": "...", "bucket": "...", "key": "..."}`)
	}
	dir, err := os.MkdirTemp(x.Dir, "export-")
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "export", err)
	}
	defer os.RemoveAll(dir)
	model := filepath.Join(dir, "model")
	if err := x.fetch(ctx, e, dir, model); err != nil {
		return nil, err
	}
	project, err := source.FindProject(model)
	if err != nil {
		return nil, relative(err, model)
	}
	e.Environment = cmp.Or(e.Environment, project.Environment, "default")
	if !api.ValidEnvironment(e.Environment) {
		return nil, fault.New(fault.Usage, "export", "%.100q cannot name an environment",
			e.Environment).WithHint("use letters, digits, - and _, at most 100")
	}
	out, err := x.store(ctx, e, project.Settings, model)
	if err != nil {
		return nil, relative(err, model)
	}
	p, err := x.Service.Progress(ctx, e.Environment)
	if err != nil {
		return nil, err
	}
	return &api.Report{Environment: e.Environment, Version: out.Version,
		Origin: api.Origin(out.Origin), Resources: out.Resources, Changed: out.Changed,
		Unchanged: out.Unchanged, Removed: out.Removed, FilesUploaded: out.FilesUploaded,
		Counts:  p.ByStatus(),
		Changes: []api.Changed{}}, nil
}

// fetch unpacks the archive into a new folder.
func (x *Exporter) fetch(ctx context.Context, e Event, dir, model string) error {
	in, length, err := x.Open(ctx, e.Bucket, e.Key)
	if err != nil {
		return err
	}
	defer in.Close()
	if length > maxPacked {
		return tooLarge()
	}
	archive, err := os.Create(filepath.Join(dir, "archive"))
	if err != nil {
		return fault.Wrap(fault.Unavailable, "export", err)
	}
	defer archive.Close()
	size, err := io.Copy(archive, io.LimitReader(in, maxPacked+1))
	switch {
	case err != nil:
		return fault.Wrap(fault.Unavailable, "read archive", err)
	case size > maxPacked:
		return tooLarge()
	}
	if _, err := archive.Seek(0, io.SeekStart); err != nil {
		return fault.Wrap(fault.Unavailable, "export", err)
	}
	if err := os.Mkdir(model, 0o700); err != nil {
		return fault.Wrap(fault.Unavailable, "export", err)
	}
	return unpack.Archive(archive, size, model, limits)
}

func tooLarge() error {
	return fault.New(fault.Invalid, "read archive", "it is larger than %d MB", maxPacked>>20).
		WithHint(noLimit)
}

// store reads the documents in the same way as the command line reads a folder, and exports them.
func (x *Exporter) store(
	ctx context.Context, e Event, settings *state.Settings, dir string,
) (deploy.Exported, error) {
	engine := x.Service.Engine
	check := engine.ValidateClosed
	if e.Partial {
		check = engine.Validate
	}
	types := engine.Types
	lock, err := declared.ReadLock(dir, types)
	if err != nil {
		return deploy.Exported{}, err
	}
	if lock != nil {
		types = types.With(lock.Types()...)
	}
	m, _, err := source.Load(ctx, source.Options{Path: dir, Types: types,
		Agent: x.Service.Agent, Check: check, Elsewhere: true})
	if err != nil {
		return deploy.Exported{}, err
	}
	m.Fingerprint = "" // the fingerprint is about files of this machine
	export := deploy.Export{Model: m, Partial: e.Partial, DeleteSets: e.DeleteSets,
		NoRelease: e.Release != nil && !*e.Release, Settings: settings}
	if e.AllowDelete != nil {
		export.Limits = &deploy.Limits{Delete: *e.AllowDelete, Leave: -1}
	}
	return x.Service.Export(ctx, e.Environment, export, nil)
}

// relative replaces the paths of files by their paths in the archive.
func relative(err error, dir string) error {
	problems, more := diag.Of(err)
	if len(problems) == 0 {
		return err
	}
	name := func(at diag.Pos) diag.Pos {
		at.File = strings.TrimPrefix(strings.TrimPrefix(at.File, dir), "/")
		return at
	}
	out := slices.Clone(problems)
	for i := range out {
		out[i].Pos = name(out[i].Pos)
		out[i].Related = slices.Clone(out[i].Related)
		for j := range out[i].Related {
			out[i].Related[j].Pos = name(out[i].Related[j].Pos)
		}
	}
	return out.ErrAnd(more)
}
