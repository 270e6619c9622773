package git

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"southbound/handlers/internal/disk"
	"southbound/shared/provider"
)

// Delete implements provider.Handler: the checkout is renamed first, and its files are removed
// after that.
func (h handler) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	w, err := wantedOf(req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	g, err := h.change(ctx, w)
	if err != nil {
		g = &change{checkout{client: client{wanted: w, ctx: ctx, before: h.before,
			config: h.config}}} // the user may no longer exist
	}
	defer g.close()
	exists, err := g.there()
	if err != nil || !exists {
		return provider.Result{}, err
	}
	was, err := g.fingerprint()
	if err != nil {
		return provider.Result{}, err
	}
	if err := g.removable(); err != nil {
		return provider.Result{}, err
	}
	place, err := g.place()
	if err != nil {
		return provider.Result{}, err
	}
	defer place.Close()
	return provider.Result{}, g.takeAway(place, was)
}

// takeAway removes the checkout, whose fingerprint was taken before it was examined. If the
// checkout were removed at its path, a file that a program has written since would be lost.
// Therefore takeAway renames the checkout first, and back if its fingerprint differs.
func (g *change) takeAway(place *disk.Folder, was fingerprint) error {
	base, aside, away := filepath.Base(g.path), filepath.Base(g.hidden()), filepath.Base(g.away())
	for _, f := range []func() error{
		func() error { return removeIn(place, g.hidden()) },
		func() error { return place.Rename(base, away) },
		func() error {
			gone := *g
			gone.path = g.away()
			is, err := gone.fingerprint()
			if err == nil && is != was {
				err = provider.Errorf(provider.Retryable,
					"files in it were written while it was looked at for work that would be lost")
			}
			if err != nil {
				err = errors.Join(err, g.putBack(place))
			}
			return err
		},
		func() error { return place.Rename(away, aside) }, // the next run may remove it, too
		func() error { return removeIn(place, g.hidden()) },
	} {
		if err := g.step("remove"); err != nil {
			return err
		}
		if err := f(); err != nil {
			return disk.Explain("remove "+shown(g.path), err)
		}
	}
	return nil
}

// fingerprint is a hash of the names, sizes, times and inodes of all files below a directory.
type fingerprint [sha256.Size]byte

// fingerprint returns the fingerprint of the checkout. With discard, none is needed.
func (g *change) fingerprint() (fingerprint, error) {
	if g.local == "discard" {
		return fingerprint{}, nil
	}
	sum := sha256.New()
	err := filepath.WalkDir(g.path, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintf(sum, "%s\x00%s\x00", strings.TrimPrefix(path, g.path), d.Type())
		if d.IsDir() {
			return nil
		}
		var st unix.Stat_t
		if err := unix.Lstat(path, &st); err != nil {
			return err
		}
		fmt.Fprintf(sum, "%d %d %v %v\x00", st.Ino, st.Size, st.Mtim, st.Ctim)
		return nil
	})
	if err != nil {
		return fingerprint{}, disk.Explain("look at the files of "+shown(g.path), err)
	}
	return fingerprint(sum.Sum(nil)), nil
}

// putBack returns a checkout to its path, from where it was examined before its removal.
func (w wanted) putBack(place *disk.Folder) error {
	var st unix.Stat_t
	base, away := filepath.Base(w.path), filepath.Base(w.away())
	if err := place.Stat(away, &st); err != nil {
		return disk.UnlessGone(err)
	}
	if err := place.Stat(base, &st); !disk.Gone(err) {
		if err != nil {
			return err
		}
		return provider.Errorf(provider.NeedsChange,
			"a purge that was cut off has left the checkout at %s, and there is something else at "+
				"%s; move one of them away", shown(w.away()), shown(w.path))
	}
	return place.Rename(away, base)
}
