package local

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"southbound/shared/fault"
)

// checkDir makes the data directory if it is missing. Its error says why the directory cannot be
// used.
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
	if _, err := os.Stat(filepath.Join(dir, dbName)); errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return dirError(dir, err)
		}
		for _, e := range entries {
			if !ourFile(e.Name()) {
				return fault.New(fault.Foreign, "open data directory",
					"%s holds %s, which is not ours, and no database", dir, e.Name()).
					WithHint("name an empty or a new directory with --data")
			}
		}
	}
	return nil
}

// ourFile reports whether a file of this name may be in a data directory that has no database yet,
// or has lost it.
func ourFile(name string) bool {
	return name == "files" || name == "holders" || name == "inputs" || name == "key" ||
		name == "api-token" || name == ".gitignore" || strings.HasPrefix(name, dbName)
}

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
