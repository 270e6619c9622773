package acct

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"southbound/handlers/internal/disk"
	"southbound/handlers/internal/textfile"
	"southbound/shared/provider"
)

// day formats a day of /etc/shadow.
func day(n int64) string { return time.Unix(n*24*60*60, 0).UTC().Format(time.DateOnly) }

// makeHome makes a missing home directory, as useradd does.
func (h user) makeHome(ctx *provider.Context, r provider.Resource, a *account) error {
	home := h.host.path(a.home)
	if _, err := os.Lstat(home); !yes(r, "manage_home") || a.home == "" || err == nil {
		return nil
	}
	uid, gid, err := a.ids()
	if err != nil {
		return err
	}
	if err := h.host.newHome(home, uid, gid); err != nil {
		return provider.Errorf(provider.Retryable, "make the home directory %s: %w", a.home, err)
	}
	ctx.Info("made the home directory, which was missing", "path", a.home)
	return nil
}

// system returns a System that calls before ahead of each change.
func (h host) system() *disk.System {
	if h.before == nil {
		return nil
	}
	return &disk.System{Before: func(call string) error { return h.before([]string{call}) }}
}

// newHome makes a home directory under a hidden name, and renames it after all of it belongs to the
// user. All names are relative to open directories. Otherwise a user who may write in the parent
// directory could insert a file of the superuser, which newHome would then give to the new user.
func (h host) newHome(home string, uid, gid int) (err error) {
	dir, base, err := disk.Place(home)
	if err != nil {
		return err
	}
	d, err := disk.OpenFolder(h.system(), dir)
	if err != nil {
		return disk.Explain("reach "+dir, err)
	}
	defer d.Close()
	place, err := disk.OpenRoot(d)
	if err != nil {
		return err
	}
	defer place.Close()
	aside := disk.Leftover(base)
	if err := place.RemoveAll(aside); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = place.RemoveAll(aside)
		}
	}()
	made, err := newDir(d, aside)
	if err != nil {
		return err
	}
	defer made.Close()
	root, err := disk.OpenRoot(&disk.Folder{Path: disk.Join(dir, aside), FD: made.FD})
	if err != nil {
		return err
	}
	defer root.Close()
	if err := fill(root, h.path("/etc/skel")); err != nil {
		return err
	}
	if err := inward(root.FS(), func(name string) error {
		return d.Sys.Do("fchown", func() error { return root.Lchown(name, uid, gid) })
	}); err != nil {
		return err
	}
	return d.Take(base)
}

// newDir makes a directory that only the superuser may enter, and opens it. The caller closes it.
func newDir(d *disk.Folder, name string) (disk.File, error) {
	if err := d.MakeDir(name); err != nil {
		return disk.File{FD: -1}, err
	}
	made, err := d.OpenDir(name)
	if err == nil {
		err = made.Empty()
	}
	if err != nil {
		made.Close()
	}
	return made, err
}

// fill copies the skeleton of new home directories, if there is one.
func fill(root *os.Root, skel string) error {
	from := os.DirFS(skel)
	if _, err := os.Stat(skel); err != nil {
		return nil
	}
	return fs.WalkDir(from, ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := e.Info()
		switch {
		case err != nil:
			return err
		case info.IsDir():
			return root.Mkdir(name, 0o777)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := fs.ReadLink(from, name)
			return errors.Join(err, root.Symlink(target, name))
		case info.Mode().IsRegular():
			return copyFile(root, from, name, 0o666|info.Mode().Perm())
		}
		return provider.Errorf(provider.NeedsChange, "%s in %s is neither a file nor a directory",
			name, skel)
	})
}

func copyFile(root *os.Root, from fs.FS, name string, mode fs.FileMode) error {
	in, err := from.Open(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// inward calls f for each entry below a directory, and for the directory itself at the end. While
// the directory is closed to the user, the user cannot replace the next entry by a link.
func inward(dir fs.FS, f func(name string) error) error {
	var names []string
	err := fs.WalkDir(dir, ".", func(name string, _ fs.DirEntry, err error) error {
		names = append(names, name)
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range slices.Backward(names) {
		if err := f(name); err != nil {
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

func (k keys) file() string { return filepath.Join(k.home, sshDir, "authorized_keys") }

// block holds the managed keys in a file that also has other keys.
func (keys) block() textfile.Block {
	return textfile.Block{Begin: "# BEGIN keys of the model", End: "# END keys of the model"}
}

func (k keys) editor() textfile.Editor {
	return textfile.Editor{Sys: k.host.system()}
}

// read returns the existing keys, in the form in which they are compared.
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

// write writes the desired keys. The home directory belongs to the user, who may have put any entry
// there: links that lead to files of other users are not followed.
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

// sshDir is the directory in which ssh looks for a user's files.
const sshDir = ".ssh"

// directory makes .ssh if it is missing. It changes the owner through an open descriptor, before it
// renames the directory: the user may replace entries of the home directory.
func (k keys) directory(uid, gid int) error {
	d, err := disk.OpenFolder(k.host.system(), k.home)
	if err != nil && !disk.Gone(err) {
		return disk.Explain("reach "+k.home, err)
	}
	if err != nil {
		return provider.Errorf(provider.Retryable,
			"the keys need the home directory: %w; set manage_home, or describe it", err)
	}
	defer d.Close()
	var st unix.Stat_t
	if err := d.Stat(sshDir, &st); !disk.Gone(err) {
		return disk.Explain("look for .ssh", err)
	}
	if err := d.Tidy(sshDir); err != nil {
		return disk.Explain("make .ssh", err)
	}
	made, err := newDir(d, disk.Leftover(sshDir))
	if err != nil {
		return disk.Explain("make .ssh", err)
	}
	defer made.Close()
	if err := (disk.Perm{UID: uid, GID: gid, Mode: -1}).Set(made); err != nil {
		return disk.Explain("give .ssh to its user", err)
	}
	return disk.Explain("make .ssh", d.Take(sshDir))
}
