package acct

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/handlers/internal/textfile"
	"southbound/shared/provider"
)

// day writes what stands in /etc/shadow for a day.
func day(n int64) string { return time.Unix(n*24*60*60, 0).UTC().Format(time.DateOnly) }

// makeHome makes a home directory that is missing, as useradd does.
func (h user) makeHome(ctx *provider.Context, r provider.Resource, a *account) error {
	home := h.host.path(a.home)
	if _, err := os.Lstat(home); !yes(r, "manage_home") || a.home == "" || err == nil {
		return nil
	}
	uid, gid, err := a.ids()
	if err != nil {
		return err
	}
	if h.host.before != nil {
		if err := h.host.before([]string{"mkdir"}); err != nil {
			return err
		}
	}
	// It belongs to the user in the end only, so that nobody can put anything in the way.
	aside := filepath.Join(filepath.Dir(home), "."+path.Base(home)+".southbound-home")
	err = errors.Join(os.RemoveAll(aside), os.Mkdir(aside, 0o700))
	if skel := h.host.path("/etc/skel"); err == nil {
		if _, missing := os.Stat(skel); missing == nil {
			err = os.CopyFS(aside, os.DirFS(skel))
		}
	}
	if err == nil {
		err = inward(aside, func(p string) error { return os.Lchown(p, uid, gid) })
	}
	if err == nil {
		err = os.Rename(aside, home)
	}
	if err != nil {
		_ = os.RemoveAll(aside)
		return provider.Errorf(provider.Retryable, "make the home directory %s: %w", a.home, err)
	}
	ctx.Info("made the home directory, which was missing", "path", a.home)
	return nil
}

// inward calls f for all that is in a directory, and for the directory itself at the end: as long
// as that is closed to the user, nobody puts a link in the place of what f is called for next.
func inward(dir string, f func(path string) error) error {
	var paths []string
	err := filepath.WalkDir(dir, func(p string, _ fs.DirEntry, err error) error {
		paths = append(paths, p)
		return err
	})
	if err != nil {
		return err
	}
	for _, p := range slices.Backward(paths) {
		if err := f(p); err != nil {
			return err
		}
	}
	return nil
}

func (a *account) ids() (uid, gid int, err error) {
	uid, err = strconv.Atoi(a.uid)
	if err == nil {
		gid, err = strconv.Atoi(a.gid)
	}
	if err != nil {
		return 0, 0, provider.Errorf(provider.Terminal,
			"the ids of the user in /etc/passwd are not numbers: %w", err)
	}
	return uid, gid, nil
}

// keys are the keys of a user.
type keys struct {
	host  host
	home  string
	owner *account
	want  []string
	exact bool
}

func (h user) keys(r provider.Resource, a *account) keys {
	return keys{host: h.host, home: h.host.path(a.home), owner: a,
		want: list(r.Attributes["authorized_keys"]), exact: yes(r, "exact_keys")}
}

func (k keys) file() string { return filepath.Join(k.home, ".ssh", "authorized_keys") }

// block is where keys stand that are not all.
func (keys) block() textfile.Block {
	return textfile.Block{Begin: "# BEGIN keys of the model", End: "# END keys of the model"}
}

func (k keys) editor() textfile.Editor {
	if k.host.before == nil {
		return textfile.Editor{}
	}
	return textfile.NewEditor(func(call string) error { return k.host.before([]string{call}) })
}

// read returns the keys that are there, as they are compared.
func (k keys) read(ctx *provider.Context) ([]any, error) {
	t, err := textfile.Editor{}.Read(ctx, k.file())
	if err != nil {
		return nil, err
	}
	have, err := k.have(textfile.LinesOf(t.Bytes))
	return values(have), err
}

func (k keys) have(ls *textfile.Lines) ([]string, error) {
	if !k.exact {
		have, _, err := k.block().Lines(ls)
		return have, err
	}
	var have []string
	for i := range ls.Len() {
		if s := ls.At(i); strings.TrimSpace(s) != "" && !strings.HasPrefix(strings.TrimSpace(s),
			"#") {
			have = append(have, s)
		}
	}
	return have, nil
}

// write makes the keys as they are wanted. The home directory belongs to the user, who may have put
// anything there: links that lead to what is not the user's are not followed.
func (k keys) write(ctx *provider.Context) error {
	for _, s := range k.want {
		if strings.ContainsAny(s, "\r\n") || strings.HasPrefix(s, "#") {
			return provider.Errorf(provider.NeedsChange, "a key is one line")
		}
	}
	uid, gid, err := k.owner.ids()
	if err != nil {
		return err
	}
	if have, err := k.read(ctx); err != nil || slices.Equal(values(k.want), have) {
		return err
	}
	if err := k.directory(uid, gid); err != nil {
		return err
	}
	return k.editor().Edit(ctx, k.file(), textfile.Manner{UID: uid, GID: gid, Mode: 0o600},
		func(t textfile.Text) (textfile.Text, error) {
			if k.exact {
				after := strings.Join(append(slices.Clone(k.want), ""), "\n")
				return textfile.Text{Exists: t.Exists || after != "", Bytes: after}, nil
			}
			ls := textfile.LinesOf(t.Bytes)
			if len(k.want) == 0 {
				err := k.block().Drop(ls)
				return textfile.Text{Exists: t.Exists, Bytes: ls.Text()}, err
			}
			err := k.block().Put(ls, ls.Len(), k.want...)
			return textfile.Text{Exists: true, Bytes: ls.Text()}, err
		})
}

// directory makes .ssh when it is missing.
func (k keys) directory(uid, gid int) error {
	root, err := os.OpenRoot(k.home)
	if err != nil {
		return provider.Errorf(provider.Retryable,
			"the keys need the home directory: %w; set manage_home, or describe it", err)
	}
	defer root.Close()
	if _, err := root.Lstat(".ssh"); err == nil {
		return nil
	}
	if k.host.before != nil {
		if err := k.host.before([]string{"mkdir"}); err != nil {
			return err
		}
	}
	if err := root.Mkdir(".ssh", 0o700); err != nil {
		return provider.Errorf(provider.Retryable, "make .ssh: %w", err)
	}
	if err := root.Lchown(".ssh", uid, gid); err != nil {
		return provider.Errorf(provider.Retryable, "give .ssh to its user: %w", err)
	}
	return nil
}
