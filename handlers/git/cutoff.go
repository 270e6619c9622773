package git

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/handlers/internal/disk"
	"southbound/shared/provider"
)

// Refs that exist while files are moved from one commit to another. If a later run finds them, the
// move was interrupted, or git could not write all files. A remote need not have these commits, so
// these refs are not below ours.
const (
	moves      = "refs/southbound-moves/"
	movingTo   = moves + "to"
	movingFrom = moves + "from" // the commit that was checked out before; missing if there was none
	movingAll  = moves + "all"  // the move writes all files, also unchanged ones
)

// cutMove is an unfinished move.
type cutMove struct {
	g      *checkout
	fresh  bool // there is no index: nothing was checked out yet
	all    bool
	to     *snapshot
	from   *snapshot
	trees  []*snapshot // to and from, as far as known, and HEAD
	index  map[string][]entry
	modes  bool // whether the file system keeps modes of files
	root   *os.Root
	clean  []func()
	states map[string]bool // results of isLeft
}

// cutMove returns the unfinished move, nil if there is none. The caller closes it.
func (g *checkout) cutMove() (*cutMove, error) {
	at, err := g.refs(moves)
	if err != nil {
		return nil, err
	}
	head, _, err := g.head()
	if err != nil {
		return nil, err
	}
	m := &cutMove{g: g, all: at["all"] != "" || at["from"] == "", states: map[string]bool{}}
	if at["to"] == "" {
		if m.fresh, err = g.isFresh(head); err != nil || !m.fresh {
			return nil, err
		}
	}
	trees := map[string]*snapshot{}
	for _, commit := range []string{at["to"], at["from"], head} {
		if commit == "" || trees[commit] != nil {
			continue
		}
		files, err := g.entries(commit)
		if err != nil {
			return nil, err
		}
		trees[commit] = &snapshot{commit: commit, files: files}
		m.trees = append(m.trees, trees[commit])
	}
	m.to, m.from = trees[at["to"]], trees[at["from"]]
	if m.index, err = g.indexed(); err != nil {
		return nil, err
	}
	mode, err := g.ask(g.path, "config", "--type=bool", "--default=true", "--get", "core.fileMode")
	if err != nil {
		return nil, err
	}
	m.modes = strings.TrimSpace(mode) == "true"
	if m.root, err = os.OpenRoot(g.path); err != nil {
		return nil, provider.Errorf(provider.Retryable, "open %s: %w", shown(g.path), err)
	}
	return m, nil
}

func (m *cutMove) close() {
	m.root.Close()
	for _, f := range m.clean {
		f()
	}
}

// isFresh reports whether a repository has a commit that was never checked out. Git writes the
// index after the files.
func (g *checkout) isFresh(head string) (bool, error) {
	if head == "" {
		return false, nil
	}
	index, err := g.indexPath()
	if err != nil {
		return false, err
	}
	if _, err = os.Lstat(index); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, provider.Errorf(provider.Retryable, "read %s: %w", shown(index), err)
	}
	return err != nil, nil
}

// concerns reports whether the move writes or removes a file.
func (m *cutMove) concerns(name string) bool {
	if m.all {
		return slices.ContainsFunc(m.trees, func(t *snapshot) bool { return t.files[name].id != "" })
	}
	return m.from.files[name] != m.to.files[name]
}

// isLeft reports whether the move may have left a file in its current state, so that it has no work
// of a person. The file is then missing, equal to its form in one of the commits, or a prefix of
// that.
func (m *cutMove) isLeft(name string) (bool, error) {
	if is, known := m.states[name]; known {
		return is, nil
	}
	is, err := m.examine(name)
	if err == nil {
		m.states[name] = is
	}
	return is, err
}

func (m *cutMove) examine(name string) (bool, error) {
	if !m.concerns(name) || !m.isStaged(name) {
		return false, nil
	}
	if above, err := m.above(name); err != nil || above != "" {
		if err != nil {
			return false, err
		}
		return m.isLeft(above)
	}
	info, err := m.root.Lstat(name)
	switch {
	case disk.Gone(err):
		return true, nil
	case err != nil:
		return false, provider.Errorf(provider.Retryable, "read %s: %w", shown(name), err)
	case info.IsDir(): // the files in it are examined separately
		return true, nil
	}
	var fitting []*snapshot
	for _, t := range m.trees {
		if e, is := t.files[name]; is && m.fits(e, info.Mode()) {
			fitting = append(fitting, t)
		}
	}
	return m.hasContentOf(name, info, fitting)
}

// isStaged reports whether the index has only contents of a file that are in a commit of the move.
func (m *cutMove) isStaged(name string) bool {
	for _, e := range m.index[name] {
		if !slices.ContainsFunc(m.trees, func(t *snapshot) bool { return t.files[name] == e }) {
			return false
		}
	}
	return true
}

// above returns the first file or symbolic link at the path of a parent directory of a name.
func (m *cutMove) above(name string) (string, error) {
	for i, c := range name {
		if c != '/' {
			continue
		}
		info, err := m.root.Lstat(name[:i])
		if disk.Gone(err) {
			return "", nil
		}
		if err != nil {
			return "", provider.Errorf(provider.Retryable, "read %s: %w", shown(name[:i]), err)
		}
		if !info.IsDir() {
			return name[:i], nil
		}
	}
	return "", nil
}

// fits reports whether a file has the kind and the executable bit of its entry in a commit.
func (m *cutMove) fits(e entry, mode fs.FileMode) bool {
	switch {
	case mode&fs.ModeSymlink != 0:
		return e.mode == symlink
	case !mode.IsRegular() || e.mode == symlink || e.mode == gitlink:
		return false
	}
	return !m.modes || (e.mode == "100755") == (mode&0o100 != 0)
}

// hasContentOf reports whether a file equals its form in one of the commits, or is a prefix of
// that.
func (m *cutMove) hasContentOf(name string, info fs.FileInfo, trees []*snapshot) (bool, error) {
	if len(trees) == 0 || info.Size() == 0 {
		return len(trees) > 0, nil
	}
	file, err := m.open(name)
	if err != nil || file == nil {
		return file == nil, err
	}
	id, err := blobID(file, info.Size(), trees[0].commit)
	file.Close()
	if err != nil {
		return false, err
	}
	for _, t := range trees { // for most files this needs no run of git
		if t.files[name].id == id {
			return true, nil
		}
	}
	for _, t := range trees {
		if is, err := m.compare(name, t); err != nil || is != other {
			return err == nil, err
		}
	}
	return false, nil
}

// begin sets the refs of a move, before the move changes files.
func (g *change) begin(to target, how manner) error {
	from, _, err := g.head()
	if err != nil {
		return err
	}
	at, err := g.refs(moves)
	if err != nil {
		return err
	}
	want := refs{"to": to.commit}
	if from != "" {
		want["from"] = from
	}
	if how.goesOn {
		want["from"], want["all"] = at["from"], at["all"]
	}
	if how.all {
		want["all"] = to.commit
	}
	return g.setMoves(at, want)
}

// end removes the refs of a move.
func (g *change) end() error {
	at, err := g.refs(moves)
	if err != nil {
		return err
	}
	return g.setMoves(at, nil)
}

// setMoves changes the refs of a move in one transaction.
func (g *change) setMoves(at, want refs) error {
	var lines strings.Builder
	for _, name := range []string{"to", "from", "all"} {
		switch {
		case at[name] == want[name]:
		case want[name] == "":
			lines.WriteString("delete " + moves + name + "\n")
		default:
			lines.WriteString("update " + moves + name + " " + want[name] + "\n")
		}
	}
	if lines.Len() == 0 {
		return nil
	}
	if err := g.step("update-ref"); err != nil {
		return err
	}
	_, err := g.feed(g.path, lines.String(), "update-ref", "--stdin")
	return err
}

// wrote returns an error if git has not written or removed a file although it reports success, as
// it does on a full disk. A file with other content was written by a person since.
func (g *change) wrote() error {
	m, err := g.cutMove()
	if err != nil || m == nil {
		return err
	}
	defer m.close()
	names, err := g.dirty(m)
	if err != nil {
		return err
	}
	var missing []string
	for _, name := range names {
		ok, err := m.isDone(name)
		if err != nil {
			return err
		}
		if !ok {
			missing = append(missing, name)
		}
	}
	if missing == nil {
		return nil
	}
	return provider.Errorf(provider.Retryable,
		"git could not write or remove all files: %s; look for a full disk, a quota or missing "+
			"rights. The next run repairs these files", named(missing))
}

// dirty returns the files whose times or sizes differ from the index. Git compares no content for
// that, so a truncated file is among them even if its filter hides this. The result includes the
// existing files that the move had to remove.
func (g *checkout) dirty(m *cutMove) ([]string, error) {
	hidden, err := g.hiddenFiles()
	if err != nil {
		return nil, err
	}
	bared, remove, err := g.bared(hidden)
	if err != nil {
		return nil, err
	}
	defer remove()
	out, err := bared.ask(g.path, "diff-files", "-z", "--name-only", "--no-renames",
		"--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	names := slices.DeleteFunc(fields(out), func(name string) bool { return !m.concerns(name) })
	if m.from == nil || m.to == nil {
		return names, nil
	}
	for _, name := range slices.Sorted(maps.Keys(m.from.files)) {
		if _, stays := m.to.files[name]; stays || len(m.index[name]) > 0 {
			continue
		}
		above, err := m.above(name)
		if err != nil {
			return nil, err
		}
		info, err := m.root.Lstat(name)
		if above == "" && err == nil && !info.IsDir() {
			names = append(names, name)
		}
	}
	return names, nil
}

// isDone reports whether a file has its state in the commit, or a state that a person has given it
// since.
func (m *cutMove) isDone(name string) (bool, error) {
	if _, stays := m.to.files[name]; stays {
		is, err := m.compare(name, m.to)
		if err != nil || is == whole {
			return err == nil, err
		}
		if m.g.local == "discard" {
			return false, nil
		}
	}
	left, err := m.isLeft(name)
	return !left, err
}

// takeBack restores the files of HEAD that an interrupted move has left. It does not change files
// that a person has changed.
func (g *change) takeBack(left []string) error {
	head, _, err := g.head()
	if err != nil {
		return err
	}
	old := map[string]entry{}
	if head != "" {
		if old, err = g.entries(head); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(g.path)
	if err != nil {
		return provider.Errorf(provider.Retryable, "open %s: %w", shown(g.path), err)
	}
	defer root.Close()
	var back, gone []string
	for _, name := range left {
		if _, is := old[name]; is {
			back = append(back, name)
		} else {
			gone = append(gone, name)
		}
	}
	if err := g.dropLeft(root, gone); err != nil || len(back) == 0 {
		return err
	}
	for _, name := range back {
		if info, err := root.Lstat(name); err != nil || !info.IsDir() || old[name].mode == gitlink {
			continue
		}
		if err := root.Remove(name); err != nil {
			return provider.Errorf(provider.NeedsChange,
				"files in %s are in the way of the file of that name; move them away, or set local "+
					"to discard: %w", shown(name), err)
		}
	}
	if err := g.step("checkout"); err != nil {
		return err
	}
	as := *g
	as.extra = append(as.extra[:len(as.extra):len(as.extra)], "GIT_LITERAL_PATHSPECS=1")
	_, err = as.feed(g.path, strings.Join(back, "\x00")+"\x00", "checkout", "-q", "--force", "HEAD",
		"--pathspec-from-file=-", "--pathspec-file-nul")
	return err
}

// dropOld removes files that a move has left and that a commit does not have.
func (g *change) dropOld(to target, left []string) error {
	files, err := g.entries(to.commit)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(g.path)
	if err != nil {
		return provider.Errorf(provider.Retryable, "open %s: %w", shown(g.path), err)
	}
	defer root.Close()
	return g.dropLeft(root, slices.DeleteFunc(slices.Clone(left), func(name string) bool {
		_, is := files[name]
		return is
	}))
}

// dropLeft removes files from the working tree and the index.
func (g *change) dropLeft(root *os.Root, names []string) error {
	if len(names) == 0 {
		return nil
	}
	if err := g.step("update-index"); err != nil {
		return err
	}
	for _, name := range names {
		info, err := root.Lstat(name)
		if err == nil && !info.IsDir() {
			err = root.Remove(name)
		}
		if disk.UnlessGone(err) != nil {
			return provider.Errorf(provider.Retryable, "take a move back that was cut off: %w", err)
		}
		for dir := filepath.Dir(name); dir != "." && root.Remove(dir) == nil; {
			dir = filepath.Dir(dir)
		}
	}
	_, err := g.feed(g.path, strings.Join(names, "\x00")+"\x00", "update-index", "--force-remove",
		"-z", "--stdin")
	return err
}
