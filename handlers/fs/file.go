package fs

import (
	"context"
	"errors"
	"slices"
	"time"

	"southbound/handlers/internal/textfile"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// File declares fs::File: a regular file, replaced as a whole. It reports the attributes that the
// resource sets, and mode.
func File() provider.Definition {
	path := validPath(false)
	return provider.Definition{
		Type: schema.Type{
			Name: "fs::File",
			Description: "A regular file: its bytes, owner, group and mode. It is replaced atomically and " +
				"durably. A symbolic link at its path is replaced, never followed. Attributes that are " +
				"not set are left unchanged.",
			Attributes: append([]schema.Attribute{
				pathAttribute(),
				{Name: "content", Type: "Optional[String]",
					Description: "the bytes: text, {file: path} or a secret; absent: any content is accepted, " +
						"and a new one is empty"},
				{Name: "replace", Type: "Boolean", Default: true, Behaviour: schema.Parameter,
					Description: "whether content replaces other bytes; false: only a new file gets it, and an " +
						"existing file keeps its bytes"},
				modeAttribute("0644, or 0600 if its content is a secret"),
				backupAttribute("replaces or removes"),
				validateAttribute(),
				{Name: "kind", Type: "Optional[String]", Behaviour: schema.ReadOnly,
					Description: `"symbolic link" if the path is one`},
			}, ownerAttributes()...),
			Features: []string{"batch", "noop", schema.FeatureFiles},
			Machine:  true,
			Timeout:  5 * time.Minute, // large files are hashed
			Validate: func(a map[string]any) []diag.Problem {
				return slices.Concat(path(a), validBackup(a), validCheck(a))
			},
			Relations: ownedRelations(),
			Thing:     thingAt,
			Keeps:     keepsFile,
			Space:     atPath,
			Whole:     wholeFile,
		},
		Handler: file{},
	}
}

// wholeFile reports whether the content of a file is described.
func wholeFile(attrs map[string]any) (is bool, instead string) {
	return attrs["content"] != nil && attrs["replace"] != false,
		"describe it in content, or set replace: false: content is then only its " +
			"initial content"
}

// file is the handler of fs::File.
type file struct{ sys *disk.System }

func (f file) system() *disk.System { return f.sys }

// Read implements provider.Handler.
func (f file) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	return provider.ReadOne(ctx, f, req)
}

// ReadBatch implements provider.BatchReader.
func (f file) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	return readAll(ctx, f, items)
}

// symbolicLink is the kind of a symbolic link in messages.
const symbolicLink = "symbolic link"

// observe implements observer.
func (file) observe(
	rd *reader, ctx *provider.Context, r provider.Resource, base string, want disk.Perm,
) (provider.Observation, error) {
	if !ctx.DryRun() {
		if err := rd.dir.TidyBackup(base, suffixOf(r)); err != nil && !errors.Is(err, unix.EROFS) {
			return provider.Observation{}, err
		}
	}
	var st unix.Stat_t
	content := r.Attributes["content"]
	fd := -1
	var err error
	keeps := r.Attributes["replace"] == false
	if content == nil || keeps || r.Purged {
		err = rd.dir.Stat(base, &st)
	} else {
		fd, err = rd.dir.Open(base, &st)
	}
	if errors.Is(err, unix.EACCES) && rd.dir.Stat(base, &st) == nil && rd.dir.Locked(&st, want) {
		err = nil // its mode differs; its content is unknown, and therefore replaced
	}
	switch {
	case errors.Is(err, unix.ELOOP), err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return provider.Observation{Exists: true, Attributes: map[string]any{"kind": symbolicLink},
			Mark: markOf(&st)}, nil
	case errors.Is(err, unix.ENXIO): // a socket, a device without a driver
	case err != nil:
		return provider.Observation{}, err
	}
	if fd >= 0 {
		defer unix.Close(fd)
	}
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return provider.Observation{}, provider.Errorf(provider.NeedsChange,
			"the path holds %s, not a regular file; remove it, or describe it by another type",
			disk.KindOf(&st))
	}
	obs := provider.Observation{Exists: true, Attributes: make(map[string]any, 4)}
	rd.known.observe(obs.Attributes, r, want, &st, true)
	if keeps && content != nil {
		obs.Attributes["content"] = content // any content is accepted
	}
	if fd >= 0 {
		obs.Attributes["content"], err = contentOf(ctx, disk.File{FD: fd, Sys: nil}, st.Size,
			content, rd.buf)
	}
	have := obs.Attributes["content"]
	if ctx.DryRun() && (r.Purged || fd >= 0 && have != content && !identifiesBytes(ctx, have)) {
		obs.Mark = markOf(&st)
	}
	return obs, err
}

// Diff implements provider.Differ: a symbolic link always differs.
func (file) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	out := differences(desired, observed, "content", "owner", "group", "mode")
	if k := observed.Attributes["kind"]; k != nil {
		if out == nil {
			out = map[string]diff.Diff{}
		}
		out["kind"] = diff.Diff{Current: k, Desired: "regular file"}
	}
	return out, nil
}

// differences compares attributes whose values are plain.
func differences(
	desired provider.Resource, observed provider.Observation, attributes ...string,
) map[string]diff.Diff {
	var out map[string]diff.Diff
	for _, name := range attributes {
		if want := desired.Attributes[name]; want != nil && want != observed.Attributes[name] {
			if out == nil {
				out = map[string]diff.Diff{}
			}
			out[name] = diff.Diff{Current: observed.Attributes[name], Desired: want}
		}
	}
	return out
}

// Create implements provider.Handler.
func (f file) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return provider.CreateOne(ctx, f, req)
}

// Update implements provider.Handler.
func (f file) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	return provider.UpdateOne(ctx, f, req)
}

// Delete implements provider.Handler.
func (f file) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	return provider.DeleteOne(ctx, f, req)
}

// ApplyBatch implements provider.BatchApplier.
func (f file) ApplyBatch(ctx context.Context, items []provider.BatchChange) []provider.Applied {
	return carryOut(ctx, f, items)
}

// prepare implements stepper.
func (f file) prepare(t *task) error {
	if t.Change == diff.Purged {
		return nil
	}
	if t.still = t.Change == diff.Updated && !t.differs("content") && !t.differs("kind"); t.still {
		if err := setInPlace(t); err != nil || t.still {
			return err
		}
	}
	var st unix.Stat_t
	replaces := false
	if t.Change == diff.Updated {
		err := t.Dir.Stat(t.Base, &st)
		if disk.UnlessGone(err) != nil {
			return err
		}
		replaces = err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
	}
	c, err := textfile.CheckOf(t.Resource.Attributes["validate"])
	if err != nil {
		return err
	}
	if t.file, t.named, err = t.Dir.Temporary(t.Base, c != nil); err != nil {
		return err
	}
	owner := t.want.UID
	if replaces && owner < 0 {
		owner = int(st.Uid)
	}
	if err := t.Dir.Disinherit(t.file, owner); err != nil {
		return err
	}
	if err := fill(t.Ctx, t.file, t.Resource.Attributes["content"]); err != nil {
		return err
	}
	if replaces {
		if err = t.CopyAttributes(t.file, t.want); err == nil {
			err = t.Keep(t.file, &st, t.want)
		}
	} else {
		full := t.want
		if full.Mode < 0 {
			full.Mode = textfile.ModeFor(t.Ctx)
		}
		err = full.Set(t.file)
	}
	if err != nil {
		return err
	}
	return textfile.Valid(t.Ctx, t.Dir, []textfile.Check{c}, t.Base)
}

// setInPlace changes owner, group and mode of the existing file. A file with several names is
// replaced instead, since its other names are not managed here: still is false then. That requires
// a described content. The existing bytes are not copied. A user who may write in the directory can
// have linked the name to a file that they may not read.
func setInPlace(t *task) error {
	var st unix.Stat_t
	fd, err := t.Dir.Open(t.Base, &st)
	if errors.Is(err, unix.EACCES) && t.want.Mode >= 0 {
		fd, err = t.Dir.Unlock(t.Base, &st)
	}
	if err != nil {
		return err
	}
	t.file.FD = fd
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return provider.Errorf(provider.Retryable, "it has become %s", disk.KindOf(&st))
	case st.Nlink < 2 && t.want.Takes(&st):
		if err := disk.DropAccessLists(t.file); err != nil {
			return err
		}
		return t.want.Set(t.file)
	case st.Nlink < 2:
		return t.want.Set(t.file)
	case t.Resource.Attributes["content"] == nil || t.Resource.Attributes["replace"] == false:
		return provider.Errorf(provider.NeedsChange,
			"the file has %d names (hard links), and a change would reach all of them; "+
				"describe its content, so that it can be replaced, or remove the other names "+
				"(find -samefile)", st.Nlink)
	}
	t.file.Close()
	t.still = false
	return nil
}

// publish implements stepper.
func (file) publish(t *task) error {
	if t.still {
		return nil
	}
	if t.Change != diff.Created {
		if err := t.KeepOld(); err != nil {
			return err
		}
	}
	var err error
	switch {
	case t.Change == diff.Purged:
		return t.Dir.Remove(t.Base)
	case t.named:
		err = t.Dir.Take(t.Base)
	default:
		err = t.Dir.Place(t.file, t.Base, t.Change == diff.Created)
	}
	if errors.Is(err, unix.EBUSY) && t.Change == diff.Updated {
		return writeInPlace(t)
	}
	return err
}

// writeInPlace changes a file that is a mount point, such as /etc/resolv.conf in a container, and
// therefore cannot be replaced.
func writeInPlace(t *task) error {
	_ = t.Dir.Tidy(t.Base)
	t.Ctx.Warning("something is mounted on the file, so it cannot be replaced; it is written "+
		"in place", "path", t.Path)
	return t.Dir.Overwrite(t.Base, func(f disk.File) error {
		if err := fill(t.Ctx, f, t.Resource.Attributes["content"]); err != nil {
			return err
		}
		return t.want.Set(f)
	})
}
