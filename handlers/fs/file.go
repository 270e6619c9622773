package fs

import (
	"context"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"southbound/shared/diag"
	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// File declares fs::File: a regular file, replaced as a whole. What it reports is of the attributes
// that are asked for, and mode.
func File() provider.Definition {
	path := validPath(false)
	return provider.Definition{
		Type: schema.Type{
			Name: "fs::File",
			Description: "A regular file: its bytes, owner, group and mode. It is replaced as a whole and durably. A symbolic link at its path is " +
				"replaced, never followed. What is not said stays as it is.",
			Attributes: append([]schema.Attribute{
				pathAttribute(),
				{Name: "content", Type: "Optional[String]", Description: "the bytes: text, {file: path} or a secret; left out, any content is right, and what is made is empty"},
				{Name: "replace", Type: "Boolean", Default: true, Behaviour: schema.Parameter, Description: "whether content takes the place of other bytes; false: only a file that is made gets it, and one that is there keeps what it has"},
				modeAttribute("0644"),
				backupAttribute("replaces or removes"),
				validateAttribute(),
				{Name: "kind", Type: "Optional[String]", Behaviour: schema.ReadOnly, Description: `"symbolic link" when that is what is there instead`},
			}, ownerAttributes()...),
			Features:  []string{"batch", "noop", schema.FeatureFiles},
			Machine:   true,
			Timeout:   5 * time.Minute, // large files are hashed
			Validate:  func(a map[string]any) []diag.Problem { return slices.Concat(path(a), validBackup(a), validCheck(a)) },
			Relations: parentRelations,
			Thing:     whatIsAt,
			Space:     atPath,
		},
		Handler: file{},
	}
}

// defaultMode is what is made has when no mode is asked for.
const defaultMode = 0o644

// file is the handler of fs::File.
type file struct{ sys *system }

func (f file) system() *system { return f.sys }

// Read implements provider.Handler.
func (f file) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	return provider.ReadOne(ctx, f, req)
}

// ReadBatch implements provider.BatchReader.
func (f file) ReadBatch(ctx context.Context, items []provider.BatchRead) []provider.Reading {
	return readAll(ctx, f, items)
}

// symbolicLink is what kind says of one.
const symbolicLink = "symbolic link"

// observe implements observer.
func (file) observe(rd *reader, ctx *provider.Context, r provider.Resource, base string, want wanted) (provider.Observation, error) {
	if !ctx.DryRun() {
		if err := rd.dir.tidyBackup(base, suffixOf(r)); err != nil && !errors.Is(err, unix.EROFS) {
			return provider.Observation{}, err
		}
	}
	var st unix.Stat_t
	content := r.Attributes["content"]
	fd := -1
	var err error
	keeps := r.Attributes["replace"] == false
	if content == nil || keeps || r.Purged {
		err = rd.dir.stat(base, &st)
	} else {
		fd, err = rd.dir.open(base, &st)
	}
	if errors.Is(err, unix.EACCES) && rd.dir.stat(base, &st) == nil && rd.dir.locked(&st, want) {
		err = nil // its mode differs; what is in it is not known, and so replaced
	}
	switch {
	case errors.Is(err, unix.ELOOP), err == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK:
		return provider.Observation{Exists: true, Attributes: map[string]any{"kind": symbolicLink}}, nil
	case errors.Is(err, unix.ENXIO): // a socket, a device without a driver
	case err != nil:
		return provider.Observation{}, err
	}
	if fd >= 0 {
		defer unix.Close(fd)
	}
	if err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		return provider.Observation{}, provider.Errorf(provider.NeedsChange, "what is there is %s, no regular file; remove it, or describe it as what it is", kindOf(&st))
	}
	obs := provider.Observation{Exists: true, Attributes: make(map[string]any, 4)}
	rd.known.observe(obs.Attributes, r, want, &st, true)
	if keeps && content != nil {
		obs.Attributes["content"] = content // any is right
	}
	if fd >= 0 {
		obs.Attributes["content"], err = contentOf(ctx, openFile{fd, nil}, st.Size, content, rd.buf)
	}
	return obs, err
}

// kindOf says what a thing is.
func kindOf(st *unix.Stat_t) string {
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFREG:
		return "a regular file"
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFLNK:
		return "a symbolic link"
	case unix.S_IFIFO:
		return "a named pipe"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "a device"
	}
	return "a socket"
}

// Diff implements provider.Differ: a symbolic link differs whatever else is asked for.
func (file) Diff(_ *provider.Context, desired provider.Resource, observed provider.Observation) (map[string]plan.Diff, error) {
	out := differences(desired, observed, "content", "owner", "group", "mode")
	if k := observed.Attributes["kind"]; k != nil {
		if out == nil {
			out = map[string]plan.Diff{}
		}
		out["kind"] = plan.Diff{Current: k, Desired: "regular file"}
	}
	return out, nil
}

// differences compares attributes whose values are plain.
func differences(desired provider.Resource, observed provider.Observation, attributes ...string) map[string]plan.Diff {
	var out map[string]plan.Diff
	for _, name := range attributes {
		if want := desired.Attributes[name]; want != nil && want != observed.Attributes[name] {
			if out == nil {
				out = map[string]plan.Diff{}
			}
			out[name] = plan.Diff{Current: observed.Attributes[name], Desired: want}
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
	if t.Change == plan.Purged {
		return nil
	}
	if t.still = t.Change == plan.Updated && !t.differs("content") && !t.differs("kind"); t.still {
		if err := setInPlace(t); err != nil || t.still {
			return err
		}
	}
	var st unix.Stat_t
	replaces := false
	if t.Change == plan.Updated {
		err := t.dir.stat(t.base, &st)
		if unlessGone(err) != nil {
			return err
		}
		replaces = err == nil && st.Mode&unix.S_IFMT == unix.S_IFREG
	}
	c, err := checkOf(t.Resource.Attributes["validate"])
	if err != nil {
		return err
	}
	if t.file, t.named, err = t.dir.temporary(t.base, c != nil); err != nil {
		return err
	}
	if err := fill(t.ctx, t.file, t.Resource.Attributes["content"]); err != nil {
		return err
	}
	if replaces {
		if err = t.copyAttributes(); err == nil {
			err = t.keep(t.file, &st, t.want)
		}
	} else {
		full := t.want
		if full.mode < 0 {
			full.mode = defaultMode
		}
		err = full.set(t.file)
	}
	if err != nil {
		return err
	}
	return t.dir.valid(t.ctx, []check{c}, t.base)
}

// setInPlace changes owner, group and mode of what is there. The other names of a file that has
// several are none of our business, so such a file is to be replaced: still is false then. That
// takes bytes that are described. Those that are there are not copied: whoever may write in the
// directory can have given the name to a file that they may not read.
func setInPlace(t *task) error {
	var st unix.Stat_t
	fd, err := t.dir.open(t.base, &st)
	if errors.Is(err, unix.EACCES) && t.want.mode >= 0 {
		fd, err = t.dir.unlock(t.base, &st)
	}
	if err != nil {
		return err
	}
	t.file.fd = fd
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return provider.Errorf(provider.Retryable, "it has become %s", kindOf(&st))
	case st.Nlink < 2:
		return t.want.set(t.file)
	case t.Resource.Attributes["content"] == nil || t.Resource.Attributes["replace"] == false:
		return provider.Errorf(provider.NeedsChange, "the file has %d names (hard links), and the others are to stay as they are; describe its content, so that it "+
			"can be replaced, or remove the other names (find -samefile)", st.Nlink)
	}
	t.file.close()
	t.still = false
	return nil
}

// publish implements stepper.
func (file) publish(t *task) error {
	if t.still {
		return nil
	}
	if t.Change != plan.Created {
		if err := keepOld(t); err != nil {
			return err
		}
	}
	var err error
	switch {
	case t.Change == plan.Purged:
		return t.dir.remove(t.base)
	case t.named:
		err = t.dir.take(t.base)
	default:
		err = t.dir.place(t.file, t.base, t.Change == plan.Created)
	}
	if errors.Is(err, unix.EBUSY) && t.Change == plan.Updated {
		return writeInPlace(t)
	}
	return err
}

// writeInPlace changes a file that something is mounted on, as /etc/resolv.conf in a container,
// which cannot be replaced.
func writeInPlace(t *task) error {
	_ = t.dir.tidy(t.base)
	t.ctx.Warning("something is mounted on the file, so it cannot be replaced; it is written in place", "path", t.path)
	return t.dir.overwrite(t.base, func(f openFile) error {
		if err := fill(t.ctx, f, t.Resource.Attributes["content"]); err != nil {
			return err
		}
		return t.want.set(f)
	})
}
