package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"southbound/shared/provider"
)

// work is the work of people in a working tree.
type work struct {
	changed  []string // tracked files, except those in left
	unmerged []string // the changed files that a merge has left in conflict
	other    []string // untracked and ignored ones; a directory with a repository ends with /
	ours     bool     // a move was cut off, or git could not write all files
	fresh    bool     // nothing was checked out yet
	left     []string // files in the state in which that move has left them
}

// work returns the work of people. Changes that the index hides (git update-index
// --assume-unchanged and --skip-worktree) count as changes.
func (g *checkout) work() (work, error) {
	var w work
	if err := g.ownTree(); err != nil {
		return w, err
	}
	m, err := g.cutMove()
	if err != nil {
		return w, err
	}
	if m != nil {
		defer m.close()
		w.ours, w.fresh = true, m.fresh
	}
	hidden, err := g.hiddenFiles()
	if err != nil {
		return w, err
	}
	out, err := g.status(hidden)
	if err != nil {
		return w, err
	}
	staged, err := g.stagedLinks()
	if err != nil {
		return w, err
	}
	for _, line := range append(fields(out), staged...) {
		if len(line) < 4 {
			continue
		}
		code, name := line[:2], line[3:]
		left := false
		if m != nil {
			if left, err = m.isLeft(name); err != nil {
				return w, err
			}
		}
		switch {
		case left:
			w.left = append(w.left, name)
		case code == "??" || code == "!!":
			w.other = append(w.other, name)
		default:
			w.changed = append(w.changed, name)
			if strings.Contains(code, "U") || code == "AA" || code == "DD" {
				w.unmerged = append(w.unmerged, name)
			}
		}
	}
	return w, w.addLeft(m)
}

// addLeft adds files to those of a move that git status does not show: a filter may hide that a
// file is truncated.
func (w *work) addLeft(m *cutMove) error {
	if m == nil {
		return nil
	}
	names, err := m.g.dirty(m)
	if err != nil {
		return err
	}
	for _, name := range names {
		left, err := m.isLeft(name)
		if err != nil {
			return err
		}
		if left {
			w.left = append(w.left, name)
		}
	}
	slices.Sort(w.left)
	w.left = slices.Compact(w.left)
	return nil
}

// ownTree rejects a repository whose setting core.worktree names a directory other than that of the
// checkout. Git looks for changes in the former, and a purge removes the latter.
func (g *checkout) ownTree() error {
	const hint = "unset core.worktree and core.bare in it"
	out, err := g.ask(g.path, "rev-parse", "--show-toplevel")
	var f *failure
	switch {
	case errors.As(err, &f):
		return provider.Errorf(provider.NeedsChange,
			"the repository at %s has no working tree for git; %s: %w", shown(g.path), hint, f)
	case err != nil:
		return err
	}
	top := strings.TrimSuffix(out, "\n")
	there, err := os.Stat(top)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return provider.Errorf(provider.Retryable, "read %s: %w", shown(top), err)
	}
	here, err := os.Stat(g.path)
	if err != nil {
		return provider.Errorf(provider.Retryable, "read %s: %w", shown(g.path), err)
	}
	if !os.SameFile(here, there) {
		return provider.Errorf(provider.NeedsChange,
			"the repository at %s has its working tree at %s, by its setting core.worktree; %s",
			shown(g.path), shown(top), hint)
	}
	return nil
}

// fields splits git's output of -z.
func fields(out string) []string {
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 })
}

// maxNamed is how many files an error names.
const maxNamed = 5

// named lists some names for people.
func named(names []string) string {
	first := make([]string, min(len(names), maxNamed))
	for i := range first {
		first[i] = shown(names[i])
	}
	out := strings.Join(first, ", ")
	if n := len(names) - maxNamed; n > 0 {
		out += fmt.Sprintf(" and %d more", n)
	}
	return out
}

// shown returns a name for people. A name with line ends, other control characters or bytes that are
// not UTF-8 is quoted.
func shown(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, notPrinted) {
		return name
	}
	return strconv.Quote(name)
}

func notPrinted(r rune) bool { return !unicode.IsPrint(r) }

func list(names []string) []any {
	out := make([]any, 0, len(names))
	for _, name := range names {
		out = append(out, shown(name))
	}
	return out
}
