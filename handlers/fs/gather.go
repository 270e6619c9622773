package fs

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"southbound/handlers/internal/disk"

	"golang.org/x/sys/unix"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// Attributes of fs::Directory that gather fills in.
const (
	managedNames   = "managed_names"
	managedBackups = "managed_backups"
)

// wholeOfIt is the managed name for a directory whose whole content another resource manages.
const wholeOfIt = "."

// gather gives a directory that removes its entries the paths that other resources manage below it.
func gather(attrs map[string]any, kept []schema.Kept) map[string]any {
	dir := schema.CleanPath(attrs["path"])
	var names, backups []string
	for _, k := range kept {
		switch path, below := belowOf(dir, k.Path); {
		case !below, path == wholeOfIt && !k.Tree:
		case k.Numbered:
			backups = append(backups, path)
		default:
			names = append(names, path)
		}
	}
	out := maps.Clone(attrs)
	set(out, managedNames, names)
	set(out, managedBackups, backups)
	return out
}

// belowOf returns a path relative to a directory; false if the path is not below it.
func belowOf(dir, path string) (string, bool) {
	switch {
	case dir == "":
		return "", false
	case dir == path:
		return wholeOfIt, true
	case dir == "/":
		return strings.CutPrefix(path, "/")
	}
	return strings.CutPrefix(path, dir+"/")
}

func set(attrs map[string]any, name string, names []string) {
	delete(attrs, name)
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	names = slices.Compact(names)
	list := make([]any, len(names))
	for i, s := range names {
		list[i] = s
	}
	attrs[name] = list
}

// validGathered rejects attributes that gather fills in.
func validGathered(attrs map[string]any) []diag.Problem {
	var out []diag.Problem
	for _, name := range []string{managedNames, managedBackups} {
		if attrs[name] != nil {
			out = append(out, diag.Problem{Attribute: name, Message: "this attribute is filled in",
				Hint: "put the names into keep"})
		}
	}
	return out
}

// keeper determines which paths below a directory recurse_purge keeps.
type keeper struct {
	exact   map[string]bool // including everything below them
	backups map[string]bool // also with a number after them
	above   map[string]bool // directories that contain one of these
}

func keeperOf(r provider.Resource) *keeper {
	k := &keeper{map[string]bool{}, map[string]bool{}, map[string]bool{}}
	for attribute, into := range map[string]map[string]bool{"keep": k.exact,
		managedNames: k.exact, managedBackups: k.backups} {
		list, _ := r.Attributes[attribute].([]any)
		for _, v := range list {
			path, _ := v.(string)
			into[path] = true
			for attribute != "keep" {
				at := strings.LastIndexByte(path, '/')
				if at < 0 {
					break
				}
				path = path[:at]
				k.above[path] = true
			}
		}
	}
	return k
}

// keeps reports whether a path is kept, with everything below it.
func (k *keeper) keeps(path string) bool {
	if k.exact[wholeOfIt] || k.exact[path] || k.backups[path] {
		return true
	}
	i := strings.LastIndexByte(path, '.')
	return i > 0 && k.backups[path[:i]] && i+1 < len(path) &&
		strings.Trim(path[i+1:], "0123456789") == ""
}

// each calls f for each thing to remove below a directory: with the open parent directory, its name
// there, and its path. each does not enter links or other file systems.
func (k *keeper) each(dir int, prefix string, f func(dir int, name, path string) error) error {
	list, err := openList(dir)
	if err != nil {
		return err
	}
	defer list.Close()
	names, err := list.Readdirnames(-1)
	if err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		path := prefix + name
		switch {
		case k.keeps(path):
		case k.above[path]:
			err = k.below(dir, name, path, f)
		default:
			err = f(dir, name, path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// below is each for the entries of a directory that keeps some of them.
func (k *keeper) below(
	dir int, name, path string, f func(dir int, name, path string) error,
) error {
	fd, err := disk.OpenAt(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	switch {
	case disk.Gone(err), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil // its managed entries are elsewhere
	case err != nil:
		return err
	}
	defer unix.Close(fd)
	var in, it unix.Stat_t
	if err := unix.Fstat(dir, &in); err != nil {
		return err
	}
	if err := unix.Fstat(fd, &it); err != nil || in.Dev != it.Dev {
		return err
	}
	return k.each(fd, path+"/", f)
}
