package locked

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/internal/declared"
	"southbound/shared/internal/flock"
)

// folder has the files of declarations, in the directory of the lock file. It belongs into version
// control, as the lock file does.
const folder = declared.LockFile + ".d"

// fileOf returns the file of declarations of an entry. Its name has the digest, so the file that a
// written lock file names never changes.
func fileOf(e *declared.Provider) string {
	digest := strings.TrimPrefix(e.Digest, "sha256:")
	return path.Join(folder, fmt.Sprintf("%s-%s-%s", e.Name, e.Version, digest[:min(len(digest), 12)]))
}

// format returns the text of a lock file. Strings are in JSON's form, which is YAML, too.
func format(entries []declared.Provider) ([]byte, error) {
	var out bytes.Buffer
	var failed error
	quote := func(v any) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		failed = errors.Join(failed, e.Encode(v))
		return strings.TrimSpace(b.String())
	}
	out.WriteString("# `southbound provider` writes this file. Commit it, with " + folder + ".\n" +
		"southbound_lock: 1\nproviders:\n")
	for _, e := range entries {
		fmt.Fprintf(&out, "  - name: %s\n    bridge: %s\n    address: %s\n    version: %s\n", quote(e.Name),
			quote(e.Bridge), quote(e.Address), quote(e.Version))
		if e.Constraint != "" {
			fmt.Fprintf(&out, "    constraint: %s\n", quote(e.Constraint))
		}
		if len(e.Hashes) > 0 {
			out.WriteString("    hashes:\n")
		}
		for _, h := range e.Hashes {
			fmt.Fprintf(&out, "      - %s\n", quote(h))
		}
		fmt.Fprintf(&out, "    declarations: {file: %s, digest: %s}\n", quote(e.File), quote(e.Digest))
	}
	return out.Bytes(), failed
}

// stagingPrefix begins the names of the folders in which lock files are written.
const stagingPrefix = ".southbound-lock-"

// lock waits until no other process changes the lock file, and removes what a killed one has left. The
// caller calls unlock.
func (p *Project) lock(ctx context.Context) (unlock func(), err error) {
	f, err := os.Open(p.Dir)
	if err != nil {
		return nil, writing(err)
	}
	if err := flock.Lock(ctx, f, func() {}); err != nil {
		_ = f.Close()
		return nil, err
	}
	left, _ := fs.Glob(os.DirFS(p.Dir), stagingPrefix+"*") // the pattern is valid
	for _, name := range left {
		_ = os.RemoveAll(filepath.Join(p.Dir, name))
	}
	return func() { _ = f.Close() }, nil
}

// write replaces the lock file, with new files of declarations by their names. It checks the whole
// result in a folder of its own first. A crash leaves the former lock file or the new one, each with
// its declarations. It returns whether the lock file has changed.
func (p *Project) write(entries []declared.Provider, texts map[string][]byte) (bool, error) {
	former, err := p.Entries()
	if err != nil {
		return false, err
	}
	slices.SortFunc(entries, func(a, b declared.Provider) int { return strings.Compare(a.Name, b.Name) })
	if len(entries) == 0 {
		err := os.Remove(filepath.Join(p.Dir, declared.LockFile))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, writing(err)
		}
		p.sweep(former, nil)
		return len(former) > 0, nil
	}
	lock, err := format(entries)
	if err != nil {
		return false, fault.Wrap(fault.Internal, "write the lock file", err)
	}
	if before, err := os.ReadFile(filepath.Join(p.Dir, declared.LockFile)); err == nil &&
		bytes.Equal(before, lock) {
		if _, err := declared.ReadLock(p.Dir, p.Program); err == nil {
			return false, nil
		}
	}
	staging, err := p.stage(entries, texts, lock)
	if staging != "" {
		defer os.RemoveAll(staging)
	}
	if err != nil {
		return false, err
	}
	if err := p.install(staging, texts); err != nil {
		return false, err
	}
	p.sweep(former, entries)
	return true, nil
}

func writing(err error) error { return fault.Wrap(fault.Unavailable, "write the lock file", err) }

// stage writes the lock file and all files of declarations into a new folder, and checks them there. It
// returns the folder also with an error, "" if there is none.
func (p *Project) stage(
	entries []declared.Provider, texts map[string][]byte, lock []byte,
) (string, error) {
	staging, err := os.MkdirTemp(p.Dir, stagingPrefix)
	if err != nil {
		return "", writing(err)
	}
	for i := range entries {
		to := filepath.Join(staging, filepath.FromSlash(entries[i].File))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil { // all users of a project need access
			return staging, writing(err)
		}
		if text, is := texts[entries[i].File]; is {
			err = create(to, text)
		} else {
			err = p.copyIn(entries[i].File, to)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // ReadLock reports that it is missing
			return staging, writing(err)
		}
	}
	if err := create(filepath.Join(staging, declared.LockFile), lock); err != nil {
		return staging, writing(err)
	}
	_, err = declared.ReadLock(staging, p.Program)
	return staging, relocated(err, staging, p.Dir)
}

// create writes a file, and makes it durable.
func create(name string, text []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644) // see stage
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	return errors.Join(err, f.Sync(), f.Close())
}

// copyIn copies a file of declarations. A file outside of the directory is refused, through links as
// well.
func (p *Project) copyIn(name, to string) error {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	f, err := root.Open(filepath.FromSlash(name))
	if err != nil {
		return err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, declared.MaxBytes+1))
	if err != nil {
		return err
	}
	return create(to, text)
}

// install moves the new files of declarations, and then the lock file, into the directory.
func (p *Project) install(staging string, texts map[string][]byte) error {
	if err := os.MkdirAll(filepath.Join(p.Dir, folder), 0o755); err != nil { // see stage
		return writing(err)
	}
	for name := range texts {
		name = filepath.FromSlash(name)
		if err := os.Rename(filepath.Join(staging, name), filepath.Join(p.Dir, name)); err != nil {
			return writing(err)
		}
	}
	return writing(os.Rename(filepath.Join(staging, declared.LockFile),
		filepath.Join(p.Dir, declared.LockFile)))
}

// sweep removes files of declarations that only the former lock file named. Files outside of the folder
// were written by other programs, and stay.
func (p *Project) sweep(former, entries []declared.Provider) {
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return // the lock file is complete without the removal
	}
	defer root.Close()
	for _, e := range former {
		used := slices.ContainsFunc(entries, func(n declared.Provider) bool { return n.File == e.File })
		if !used && path.Dir(e.File) == folder {
			_ = root.Remove(filepath.FromSlash(e.File))
		}
	}
	_ = root.Remove(folder) // if it is empty
}
