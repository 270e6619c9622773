package git

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git names objects by their SHA-1
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"southbound/handlers/internal/disk"
	"southbound/shared/provider"
)

// symlink is the mode of a symbolic link in a commit.
const symlink = "120000"

// entry is a file in a commit or in the index.
type entry struct{ mode, id string }

// snapshot is a commit with its files.
type snapshot struct {
	commit string
	files  map[string]entry
	env    []string // makes git read .gitattributes from the commit
}

// entries returns the files of a commit, including its submodules.
func (g *checkout) entries(commit string) (map[string]entry, error) {
	out, err := g.ask(g.path, "ls-tree", "-r", "-z", commit)
	files := map[string]entry{}
	for _, line := range fields(out) {
		about, name, _ := strings.Cut(line, "\t")
		if words := strings.Fields(about); len(words) == 3 {
			files[name] = entry{words[0], words[2]}
		}
	}
	return files, err
}

// indexed returns the entries of the index by name. A file with a conflict has several, without modes.
func (g *checkout) indexed() (map[string][]entry, error) {
	out, err := g.ask(g.path, "ls-files", "-s", "-z")
	files := map[string][]entry{}
	for _, line := range fields(out) {
		about, name, _ := strings.Cut(line, "\t")
		if words := strings.Fields(about); len(words) == 3 {
			e := entry{words[0], words[1]}
			if words[2] != "0" { // a merge has left a conflict
				e.mode = ""
			}
			files[name] = append(files[name], e)
		}
	}
	return files, err
}

// likeness is the result of comparing a file with its form in a commit.
type likeness int

const (
	other likeness = iota
	whole
	cut // the file is a prefix of the form
)

// compare compares a file with its form in a checkout of a commit. That is the blob after the
// filters and the line ends that .gitattributes of the commit define.
func (m *cutMove) compare(name string, t *snapshot) (likeness, error) {
	file, err := m.open(name)
	if err != nil || file == nil {
		return other, err
	}
	defer file.Close()
	if err := m.attributes(t); err != nil {
		return other, err
	}
	as := *m.g
	as.extra = append(as.extra[:len(as.extra):len(as.extra)], t.env...)
	c := comparison{file: file}
	if err := as.pipe(as.path, "", &c, "cat-file", "--filters", t.commit+":"+name); err != nil {
		return other, err
	}
	return c.likeness()
}

// attributes prepares an index of a commit and an empty working tree, so that git reads
// .gitattributes from the index.
func (m *cutMove) attributes(t *snapshot) error {
	if t.env != nil {
		return nil
	}
	dir, remove, err := m.g.temporary()
	if err != nil {
		return err
	}
	m.clean = append(m.clean, remove)
	empty := filepath.Join(dir, "tree")
	if err := os.Mkdir(empty, 0o755); err != nil {
		return provider.Errorf(provider.Retryable, "make a directory for git: %w", err)
	}
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(dir, "index")}
	as := *m.g
	as.extra = append(as.extra[:len(as.extra):len(as.extra)], env...)
	if _, err := as.ask(as.path, "read-tree", t.commit); err != nil {
		return err
	}
	t.env = append(env, "GIT_WORK_TREE="+empty)
	return nil
}

// open returns the content of a file, or the target of a symbolic link. It is nil if the path has
// neither.
func (m *cutMove) open(name string) (io.ReadCloser, error) {
	info, err := m.root.Lstat(name)
	var file io.ReadCloser
	switch {
	case err != nil:
	case info.Mode()&fs.ModeSymlink != 0:
		var target string
		target, err = m.root.Readlink(name)
		file = io.NopCloser(strings.NewReader(target))
	case info.Mode().IsRegular():
		file, err = m.root.Open(name)
	}
	if disk.Gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, provider.Errorf(provider.Retryable, "read %s: %w", shown(name), err)
	}
	return file, nil
}

// comparison is a writer that compares the written bytes with a file.
type comparison struct {
	file           io.Reader
	differs, ended bool
	err            error
}

// Write implements io.Writer.
func (c *comparison) Write(p []byte) (int, error) {
	if c.differs || c.ended || c.err != nil {
		return len(p), nil
	}
	have := make([]byte, len(p))
	n, err := io.ReadFull(c.file, have)
	if err != nil {
		c.ended = true
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			c.err = err
		}
	}
	c.differs = !bytes.Equal(have[:n], p[:n])
	return len(p), nil
}

func (c *comparison) likeness() (likeness, error) {
	switch {
	case c.err != nil:
		return other, provider.Errorf(provider.Retryable, "compare a file: %w", c.err)
	case c.differs:
		return other, nil
	case c.ended:
		return cut, nil
	}
	switch _, err := io.ReadFull(c.file, make([]byte, 1)); {
	case errors.Is(err, io.EOF):
		return whole, nil
	case err != nil:
		return other, provider.Errorf(provider.Retryable, "compare a file: %w", err)
	}
	return other, nil
}

// blobID returns the id of the blob with the content of a file, by the hash function of another id.
func blobID(file io.Reader, size int64, like string) (string, error) {
	var sum hash.Hash = sha1.New()
	if len(like) == 2*sha256.Size {
		sum = sha256.New()
	}
	fmt.Fprintf(sum, "blob %d\x00", size)
	if _, err := io.Copy(sum, file); err != nil {
		return "", provider.Errorf(provider.Retryable, "read a file: %w", err)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)), nil
}
