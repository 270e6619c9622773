package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"southbound/shared/fault"
)

// checkDir creates the data directory if it is missing. It returns the reason if the directory
// cannot be used.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return dirError(dir, err)
		}
		return nil
	case err != nil:
		return dirError(dir, err)
	case !info.IsDir():
		return fault.New(fault.Foreign, "open data directory", "%s is not a directory", dir).
			WithHint("name another one with --data")
	}
	if err := ownDir(dir, info); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, dbName)); errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return dirError(dir, err)
		}
		used := slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
			return e.Name() == holdersDir
		})
		for _, e := range entries {
			if !ourFile(e.Name()) && !(used && oftenUsed(e.Name())) {
				return fault.New(fault.Foreign, "open data directory",
					"%s holds %s, which is not ours, and no database", dir, e.Name()).
					WithHint("name an empty or a new directory with --data")
			}
		}
	}
	return nil
}

// ownDir rejects a data directory that another user owns or can write to, since that user could
// decide what is deployed.
func ownDir(dir string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
	case int(st.Uid) != os.Geteuid():
		return fault.New(fault.Denied, "open data directory", "%s belongs to user %d, who decides "+
			"the resources that are deployed from it", dir, st.Uid).
			WithHint("run as that user, or name another directory with --data")
	case info.Mode().Perm()&0o022 != 0:
		return fault.New(fault.Denied, "open data directory", "others may write in %s (%#o), and so "+
			"decide the resources that are deployed from it", dir, info.Mode().Perm()).
			WithHint("chmod go-rwx %s", dir)
	}
	return nil
}

// AppliedFile is the name of the file in a data directory that records the environment of the last
// apply. Commands maintain it; Home does not use it.
const AppliedFile = "applied"

// ourFile reports whether a file of this name may be in a data directory whose database does not
// exist yet or was lost.
func ourFile(name string) bool {
	return name == "files" || name == holdersDir || name == "inputs" || name == "key" ||
		name == "api-token" || name == "api-token-read-only" || name == ".gitignore" || name == AppliedFile || name == reserveName ||
		strings.HasPrefix(name, dbName)
}

// oftenUsed reports whether a name in a data directory is also common in directories of other
// programs. Such entries are created only after the first command in the directory.
func oftenUsed(name string) bool { return name == modelsDir || name == "project" }

func dirError(dir string, err error) error {
	kind := fault.Unavailable
	switch {
	case errors.Is(err, fs.ErrPermission):
		kind = fault.Denied
	case noSpace(err):
		kind = fault.Full
	case readOnly(err):
		kind = fault.Denied
	}
	return &fault.Error{Kind: kind, Op: "open data directory " + dir, Err: err,
		Hint: "it must be a directory that this user can write; --data names another"}
}

func noSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
func readOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
