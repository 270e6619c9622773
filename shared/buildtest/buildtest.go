// Package buildtest builds programs of this module for tests, each once for all tests.
//
// Programs are cached in bin/built of the checkout, by their build flags, beside a checksum of their
// inputs: the sources and the output of `go env`. If the checksum is unchanged, the cached program
// is returned; otherwise go build decides which work is needed. So a returned program is never
// stale, and without changes neither the linker nor the go command runs.
package buildtest

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Southbound is the program that users have.
const Southbound = "southbound/cmd/southbound"

// ForLambda is the flag with which functions are built.
const ForLambda = "-tags=lambda.norpc"

// Program returns the path of a program in a directory of the test's own. It has the name of its
// package.
func Program(t testing.TB, pkg string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := Into(t.Context(), dir, flags, pkg); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, path.Base(pkg))
}

// Into puts programs into a directory, as they are shipped: without cgo. Each has the name of its
// package.
func Into(ctx context.Context, dir string, flags []string, packages ...string) error {
	root, err := checkout()
	if err != nil {
		return err
	}
	command := append([]string{"build", "-trimpath", "-buildvcs=false"}, flags...)
	made := sha256.Sum256([]byte(strings.Join(command, " ") + "\n" + os.Getenv("GOFLAGS")))
	kept := filepath.Join(root, "bin", "built", fmt.Sprintf("%x", made[:8]))
	if err := os.MkdirAll(kept, 0o755); err != nil {
		return fmt.Errorf("keep what is built: %w", err)
	}
	unlock, err := lock(filepath.Join(kept, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	b := builder{root, kept, command}
	if err := b.build(ctx, packages); err != nil {
		return err
	}
	for _, pkg := range packages {
		name := path.Base(pkg)
		if err := link(filepath.Join(kept, name), filepath.Join(dir, name)); err != nil {
			return fmt.Errorf("hand out %s: %w", pkg, err)
		}
	}
	return nil
}

// checkout returns the root of the module in whose directories this process runs.
func checkout() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the checkout: %w", err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		text, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil && strings.HasPrefix(string(text), "module southbound\n") {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("find the checkout: no directory above %s has southbound's go.mod; "+
				"run the test in its package", dir)
		}
	}
}

// lock waits until no other process builds there. The system releases the lock when the process
// ends.
func lock(file string) (func(), error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock what is built: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", file, err)
	}
	return func() { _ = f.Close() }, nil
}

// builder builds with some flags.
type builder struct {
	root, kept string
	command    []string
}

// build builds the packages whose programs are not of what there is now.
func (b builder) build(ctx context.Context, packages []string) error {
	now, err := b.sum(ctx)
	if err != nil {
		return err
	}
	var stale []string
	for _, pkg := range packages {
		of, err := os.ReadFile(b.sumOf(pkg))
		_, missing := os.Stat(filepath.Join(b.kept, path.Base(pkg)))
		if err != nil || missing != nil || now == "" || string(of) != now {
			stale = append(stale, pkg)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	for _, pkg := range stale { // of what a program is that is half written, nothing says
		if err := os.RemoveAll(b.sumOf(pkg)); err != nil {
			return fmt.Errorf("build %s: %w", pkg, err)
		}
	}
	args := append(append(append([]string{}, b.command...), "-o", b.kept+"/"), stale...)
	if _, err := b.ask(ctx, args...); err != nil {
		return err
	}
	if after, err := b.sum(ctx); err != nil || after != now || now == "" {
		return err // the sources changed during the build: the next call runs go build, too
	}
	for _, pkg := range stale {
		if err := os.WriteFile(b.sumOf(pkg), []byte(now), 0o644); err != nil {
			return fmt.Errorf("say what %s is made of: %w", pkg, err)
		}
	}
	return nil
}

func (b builder) sumOf(pkg string) string {
	return filepath.Join(b.kept, path.Base(pkg)+".sum")
}

// ask runs go as programs are shipped, and returns what it prints.
func (b builder) ask(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = b.root, append(os.Environ(), "CGO_ENABLED=0")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, said.String())
	}
	return string(out), nil
}

// sum is one of all that a program is made of. Other modules are what go.sum says; where they are
// directories, as in a workspace, there is none, and go build is asked each time.
func (b builder) sum(ctx context.Context) (string, error) {
	env, err := b.ask(ctx, "env")
	if err != nil {
		return "", err
	}
	mod, err := os.ReadFile(filepath.Join(b.root, "go.mod"))
	if err != nil {
		return "", fmt.Errorf("read the modules: %w", err)
	}
	if elsewhere(env, string(mod)) {
		return "", nil
	}
	h := sha256.New()
	for line := range strings.Lines(env) {
		if !strings.HasPrefix(line, "GOGCCFLAGS=") { // names a new directory each time
			_, _ = io.WriteString(h, line)
		}
	}
	if err := sources(h, b.root); err != nil {
		return "", fmt.Errorf("read the sources: %w", err)
	}
	return fmt.Sprintf("%x\n", h.Sum(nil)), nil
}

// elsewhere reports whether there is, or may be, a part of the program in another directory.
func elsewhere(env, mod string) bool {
	return !strings.Contains(env, "GOWORK=''\n") && !strings.Contains(env, "GOWORK='off'\n") ||
		strings.Contains(mod, "=> .") || strings.Contains(mod, "=> /")
}

// sources writes names and texts of all files of a checkout that could be part of a program.
func sources(h hash.Hash, root string) error {
	return filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		rel, _ := filepath.Rel(root, file)
		switch {
		case err != nil:
			return err
		case d.IsDir() && rel != "." && (strings.HasPrefix(d.Name(), ".") || rel == "bin"):
			return fs.SkipDir
		case !d.Type().IsRegular() || strings.HasSuffix(rel, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(file)
		if os.IsNotExist(err) {
			return nil // a test has made it, and removed it
		}
		_, _ = fmt.Fprintf(h, "%s %d\n", rel, len(text))
		_, _ = h.Write(text)
		return err
	})
}

// link hands out a file that is never written again: go build puts another one in its place. It is
// copied where it cannot be linked, as from one disk to another. No process is forked during the copy:
// it would inherit the open file, and the system starts no program that a process can write.
func link(from, to string) error {
	if err := os.Link(from, to); err == nil || os.IsExist(err) {
		return err
	}
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}
