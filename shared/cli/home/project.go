package home

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/google/renameio/v2"

	"southbound/shared/internal/source"
	"southbound/shared/local"
)

// dataDir is the name of the default data directory.
const dataDir = ".southbound"

// applied is the record of the last apply or export, in a data directory.
type applied struct {
	Environment string `json:"environment"`
	// Path is the directory that was applied, or the file if no project file is beside it.
	Path string `json:"path"`
}

// lastApplied reads the record of a data directory; the result is empty if there is no record.
func lastApplied(data string) applied {
	var out applied
	b, err := os.ReadFile(filepath.Join(data, local.AppliedFile))
	if err != nil || json.Unmarshal(b, &out) != nil {
		return applied{}
	}
	return out
}

// Remember records in the data directory that path was applied to the environment. If the record is
// lost, commands have to name the environment.
func (l *Location) Remember(path string) {
	if l.Remote() {
		return
	}
	last := lastApplied(l.Data)
	now := applied{Environment: l.Env, Path: cmp.Or(l.root(path), last.Path)}
	if now == last {
		return
	}
	if b, err := json.Marshal(now); err == nil {
		_ = renameio.WriteFile(filepath.Join(l.Data, local.AppliedFile), b, 0o600, renameio.WithTempDir(l.Data))
	}
}

// root returns the project that path belongs to: its directory if that has a project file,
// otherwise path. For standard input, root returns "".
func (l *Location) root(path string) string {
	if path == "-" || path == "" {
		return ""
	}
	if IsFile(filepath.Join(l.Project.Dir, source.ProjectFile)) {
		path = l.Project.Dir
	}
	return Resolved(path)
}

// Resolved returns the absolute path without symbolic links.
func Resolved(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return path
}

// contains reports whether a path is root or below it.
func contains(root, path string) bool {
	if root == "" || path == "" {
		return false
	}
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// upward returns a directory and all its parents, the innermost first. The directory keeps the form
// in which it was given.
func upward(dir string) []string {
	out := []string{dir}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return out
	}
	for parent := filepath.Dir(abs); parent != abs; abs, parent = parent, filepath.Dir(parent) {
		out = append(out, parent)
	}
	return out
}

// IsFile reports whether path is a file, and no directory.
func IsFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// IsDir reports whether path is a directory.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// trusted reports whether a found file or directory may determine where a command works. It must
// belong to the user or to root, and not every user may write in its directory.
func trusted(path string) bool {
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	in, err := os.Stat(filepath.Dir(path))
	if err != nil || in.Mode().Perm()&0o002 != 0 {
		return false
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return false
	}
	me := []int{0, os.Geteuid()}
	if behind, err := strconv.Atoi(os.Getenv("SUDO_UID")); err == nil && os.Geteuid() == 0 {
		me = append(me, behind)
	}
	return slices.Contains(me, int(owner.Uid))
}

// search returns the first of dirs that has an acceptable entry. An entry in start itself is
// trusted in any case.
func search(start string, dirs []string, accept func(dir string) (entry string)) (string, bool) {
	for _, dir := range dirs {
		if entry := accept(dir); entry != "" && (dir == start || trusted(entry)) {
			return dir, true
		}
	}
	return "", false
}

// entryOf returns the project file of a directory, or its data directory; "" if it has neither.
func entryOf(dir string) string {
	if file := filepath.Join(dir, source.ProjectFile); IsFile(file) {
		return file
	}
	return dataIn(dir)
}

// dataIn returns the data directory of a directory; "" if it has none.
func dataIn(dir string) string {
	if data := filepath.Join(dir, dataDir); IsDir(data) {
		return data
	}
	return ""
}

// inside returns the directories in dir that have a project file or a data directory.
func inside(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range entries {
		sub := filepath.Join(dir, e.Name())
		if entry := entryOf(sub); e.IsDir() && entry != "" && trusted(entry) {
			out = append(out, sub)
		}
	}
	return out
}

// projectAround returns the project directory of a command without a path: the nearest directory,
// from start upward, with a project file or a data directory. If there is none, it is the only one
// in start.
func (l *Location) projectAround(start string) string {
	if dir, ok := search(start, upward(start), entryOf); ok {
		return dir
	}
	if Pick(l.Data, "SOUTHBOUND_DATA", "", "") != "" {
		return start
	}
	if l.others = inside(start); len(l.others) == 1 {
		return l.others[0]
	}
	return start
}

// dataOf finds the data directory of a command that works on path, if no flag, variable or project
// file names one; docs/cli.md has the rules. A path that was never applied to the data directory in
// use gets its own: applying it there would remove the other path's resources from the model.
func (l *Location) dataOf(path string) string {
	if IsDir(dataDir) {
		return dataDir
	}
	accept, fresh := dataIn, filepath.Join(l.Project.Dir, dataDir)
	if path != "" {
		root := l.root(path)
		fresh, accept = dataDir, func(dir string) string {
			data := dataIn(dir)
			if data != "" && (contains(lastApplied(data).Path, root) || Resolved(dir) == root) {
				return data
			}
			return ""
		}
	}
	for _, start := range []string{".", l.Project.Dir} {
		if dir, ok := search(start, upward(start), accept); ok {
			return filepath.Join(dir, dataDir)
		}
	}
	return fresh
}
