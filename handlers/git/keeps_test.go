package git

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// withFiles makes a remote and a checkout of it.
func withFiles(t *testing.T) (g *rig, source, path string, attrs map[string]any) {
	t.Helper()
	g, source, path = newRig(t), origin(t), filepath.Join(t.TempDir(), "x")
	attrs = map[string]any{"path": path, "source": source, "revision": "main"}
	g.Must(attrs, diff.Created)
	return g, source, path, attrs
}

// withSubmodule makes a remote with a submodule, and a checkout of both.
func withSubmodule(t *testing.T) (g *rig, source, path string, attrs map[string]any) {
	t.Helper()
	g, source, path = newRig(t), origin(t), filepath.Join(t.TempDir(), "x")
	run(t, source, "submodule", "--quiet", "add", origin(t), "sub")
	run(t, source, "commit", "-qm", "with a submodule")
	attrs = map[string]any{"path": path, "source": source, "revision": "main", "submodules": true}
	g.Must(attrs, diff.Created)
	return g, source, path, attrs
}

// TestOnlyHere lists what only a checkout has: a purge is refused for each, its plan says so, and
// discard removes it.
func TestOnlyHere(t *testing.T) {
	elsewhere := func(t *testing.T, dir string) {
		other := t.TempDir()
		write(t, other+"/a", "one\n")
		write(t, other+"/b/c", "two\n")
		write(t, dir+"/mine", "mine\n")
		run(t, dir, "config", "core.worktree", other)
	}
	for name, tc := range map[string]struct {
		do    func(t *testing.T, path string)
		names string
	}{
		"a changed file":   {func(t *testing.T, p string) { write(t, p+"/a", "mine\n") }, "else: a;"},
		"an untracked one": {func(t *testing.T, p string) { write(t, p+"/n", "mine\n") }, "else: n;"},
		"an ignored one": {func(t *testing.T, p string) {
			write(t, p+"/.git/info/exclude", "*.log\n")
			write(t, p+"/k.log", "mine\n")
		}, "else: k.log;"},
		"a name with a line end": {func(t *testing.T, p string) { write(t, p+"/n\nm\x1b", "") },
			`else: "n\nm\x1b";`},
		"a name that is not UTF-8": {func(t *testing.T, p string) { write(t, p+"/n\xe9", "") },
			`else: "n\xe9";`},
		"a staged file": {func(t *testing.T, p string) {
			write(t, p+"/n", "mine\n")
			run(t, p, "add", "n")
		}, "else: n"},
		"an object that was staged": {func(t *testing.T, p string) {
			write(t, p+"/n", "mine\n")
			run(t, p, "add", "n")
			run(t, p, "rm", "-qf", "n")
		}, "objects that no commit"},
		"a commit":   {func(t *testing.T, p string) { commitMine(t, p) }, "refs/heads/main"},
		"a lost one": {func(t *testing.T, p string) { commitMine(t, p); run(t, p, "reset", "-q", "--hard", "v2") }, "commit "},
		"a stash":    {func(t *testing.T, p string) { write(t, p+"/a", "mine\n"); run(t, p, "stash", "-q") }, "refs/stash"},
		"a note":     {func(t *testing.T, p string) { run(t, p, "notes", "add", "-m", "mine") }, "refs/notes"},
		"a tag of its own": {func(t *testing.T, p string) { run(t, p, "tag", "mine", "v1") },
			"tag mine"},
		"an annotated tag": {func(t *testing.T, p string) { run(t, p, "tag", "-am", "mine", "mine") },
			"tag mine"},
		"a moved tag": {func(t *testing.T, p string) { run(t, p, "tag", "-f", "v1", "v2^{}") },
			"tag v1"},
		"another working tree": {func(t *testing.T, p string) {
			run(t, p, "worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "w"))
		}, "the repository of the working tree"},
		"a file that is assumed to be unchanged": {func(t *testing.T, p string) {
			run(t, p, "update-index", "--assume-unchanged", "a")
			write(t, p+"/a", "mine\n")
		}, "else: a;"},
		"a file that git skips": {func(t *testing.T, p string) {
			run(t, p, "update-index", "--skip-worktree", "a")
			write(t, p+"/a", "mine\n")
		}, "else: a;"},
		"a repository": {func(t *testing.T, p string) { run(t, p, "init", "-q", "in") }, "in/"},
		"a submodule's staged commit": {func(t *testing.T, p string) {
			run(t, p+"/sub", "checkout", "-q", "v1")
			run(t, p, "add", "sub")
		}, "else: sub;"},
		"a removed submodule": {func(t *testing.T, p string) { run(t, p, "rm", "-q", "--cached", "sub") },
			"sub"},
		"a file in a submodule": {func(t *testing.T, p string) { write(t, p+"/sub/n", "mine\n") },
			"else: sub/n;"},
		"a tag of a submodule": {func(t *testing.T, p string) { run(t, p+"/sub", "tag", "mine") },
			"tag mine of .git/modules/sub"},
		"where core.worktree leads away":              {elsewhere, "core.worktree"},
		"where core.worktree of a submodule does":     {func(t *testing.T, p string) { elsewhere(t, p+"/sub") }, "core.worktree"},
		"where core.worktree leads to a file":         {func(t *testing.T, p string) { run(t, p, "config", "core.worktree", p+"/a") }, "core.worktree"},
		"where core.worktree leads to nothing":        {func(t *testing.T, p string) { run(t, p, "config", "core.worktree", "/none") }, "core.worktree"},
		"where core.bare takes the working tree away": {func(t *testing.T, p string) { run(t, p, "config", "core.bare", "true") }, "core.bare"},
	} {
		t.Run(name, func(t *testing.T) {
			g, _, path, attrs := withSubmodule(t)
			g.would(attrs, diff.Purged, "")
			tc.do(t, path)
			g.would(attrs, diff.Purged, tc.names)
			g.Fails(attrs, true, provider.NeedsChange, tc.names)
			if _, err := os.Lstat(path + "/a"); err != nil {
				t.Fatal(err)
			}
			attrs["local"] = "discard"
			g.would(attrs, diff.Purged, "")
			if did, err := g.Apply(attrs, true); err != nil || did != diff.Purged {
				t.Fatal(did, err)
			}
			if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) > 0 {
				t.Fatalf("left %v, %v", names, err)
			}
		})
	}
}

func commitMine(t *testing.T, dir string) {
	t.Helper()
	run(t, dir, "commit", "-q", "--allow-empty", "-m", "mine")
}

// TestMovedTree refuses to move files of a repository whose working tree is elsewhere, also with
// discard.
func TestMovedTree(t *testing.T) {
	for _, local := range []string{"refuse", "keep", "discard"} {
		g, source, path, attrs := withSubmodule(t)
		other := t.TempDir()
		write(t, other+"/a", "mine\n")
		run(t, path, "config", "core.worktree", other)
		write(t, source+"/a", "theirs\n")
		run(t, source, "commit", "-qam", "theirs")
		attrs["local"] = local
		g.Fails(attrs, false, provider.NeedsChange, "by its setting core.worktree")
		has(t, other+"/a", "mine\n")
		has(t, path+"/a", "one\n")
	}
}

// TestDiscardsHidden replaces files whose changes the index hides, where local is discard.
func TestDiscardsHidden(t *testing.T) {
	for _, flag := range []string{"--assume-unchanged", "--skip-worktree"} {
		for _, moves := range []bool{false, true} {
			g, source, path, attrs := withFiles(t)
			run(t, path, "update-index", flag, "a")
			write(t, path+"/a", "mine\n")
			text := "one\n"
			if moves {
				text = "theirs\n"
				write(t, source+"/a", text)
				run(t, source, "commit", "-qam", "theirs")
				for _, local := range []string{"refuse", "keep"} {
					attrs["local"] = local
					g.would(attrs, diff.Updated, ": a; commit")
					g.Fails(attrs, false, provider.NeedsChange, ": a; commit")
					has(t, path+"/a", "mine\n")
				}
			}
			attrs["local"] = "discard"
			g.would(attrs, diff.Updated, "")
			g.Must(attrs, diff.Updated)
			has(t, path+"/a", text)
		}
	}
}

// TestKeepsChanges moves under changes that the other commit does not concern, and refuses in the
// plan and at once where it does.
func TestKeepsChanges(t *testing.T) {
	mine := func(name string) func(*testing.T, string) {
		return func(t *testing.T, p string) { write(t, filepath.Join(p, name), "mine\n") }
	}
	staged := func(name string) func(*testing.T, string) {
		return func(t *testing.T, p string) { mine(name)(t, p); run(t, p, "add", name) }
	}
	theirs := func(name string) func(*testing.T, string) {
		return func(t *testing.T, s string) {
			write(t, filepath.Join(s, name), "theirs\n")
			run(t, s, "add", "-A")
		}
	}
	for name, tc := range map[string]struct {
		mine, theirs func(t *testing.T, dir string)
		why          string
	}{
		"another file":             {mine("a"), theirs("b/c"), ""},
		"the same file":            {mine("a"), theirs("a"), "overwritten: a;"},
		"the same, staged":         {staged("a"), theirs("a"), "overwritten: a;"},
		"a new one, staged":        {staged("n"), theirs("n"), "overwritten: n;"},
		"another new one":          {staged("n"), theirs("m"), ""},
		"a new file, a directory":  {staged("n"), theirs("n/m"), "overwritten: n;"},
		"a new directory, a file":  {staged("n/m"), theirs("n"), "overwritten: n/m;"},
		"a deleted one":            {mine("a"), func(t *testing.T, s string) { run(t, s, "rm", "-q", "a") }, "overwritten: a;"},
		"a deleted one, that here": {func(t *testing.T, p string) { run(t, p, "rm", "-q", "a") }, theirs("a"), "overwritten: a;"},
		"deleted here, and another": {func(t *testing.T, p string) { run(t, p, "rm", "-q", "a") },
			theirs("b/c"), ""},
		"a conflict": {conflict, theirs("b/c"), "a merge has left conflicts in a;"},
		"a submodule's commit": {func(t *testing.T, p string) {
			run(t, p+"/sub", "checkout", "-q", "v1")
			run(t, p, "add", "sub")
		}, func(t *testing.T, s string) {
			run(t, s+"/sub", "checkout", "-q", "origin/dev")
			run(t, s, "add", "sub")
		}, "overwritten: sub;"},
	} {
		t.Run(name, func(t *testing.T) {
			remote := withFiles
			if strings.Contains(name, "submodule") {
				remote = withSubmodule
			}
			g, source, path, attrs := remote(t)
			attrs["local"], attrs["submodules"] = "keep", false
			tc.mine(t, path)
			before := run(t, path, "status", "--porcelain")
			tc.theirs(t, source)
			run(t, source, "commit", "-qm", "theirs")
			g.would(attrs, diff.Updated, tc.why)
			if tc.why == "" {
				g.Must(attrs, diff.Updated)
			} else {
				g.Fails(attrs, false, provider.NeedsChange, tc.why)
			}
			if after := run(t, path, "status", "--porcelain"); after != before {
				t.Fatalf("%s\nbecame\n%s", before, after)
			}
		})
	}
}

// conflict makes the index as a merge leaves it that has found two contents of the file a.
func conflict(t *testing.T, dir string) {
	t.Helper()
	id := run(t, dir, "rev-parse", "HEAD:a")
	cmd := exec.Command("git", "-C", dir, "update-index", "--index-info")
	cmd.Stdin = strings.NewReader(fmt.Sprintf(
		"0 %[2]s\ta\n100644 %[1]s 1\ta\n100644 %[1]s 2\ta\n100644 %[1]s 3\ta\n", id,
		strings.Repeat("0", len(id))))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatal(err, string(out))
	}
}

// TestLongestName checks out to a directory whose name is as long as names can be, moves and purges
// it, with names in it that are as long.
func TestLongestName(t *testing.T) {
	for _, name := range []string{strings.Repeat("n", 255), strings.Repeat("é", 127) + "n"} {
		g, source, path := newRig(t), origin(t), filepath.Join(t.TempDir(), name)
		write(t, filepath.Join(source, name), "one\n")
		run(t, source, "add", ".")
		run(t, source, "commit", "-qm", "a long name")
		attrs := map[string]any{"path": path, "source": source, "revision": "main"}
		g.Must(attrs, diff.Created)
		write(t, filepath.Join(source, name), "two\n")
		run(t, source, "commit", "-qam", "2")
		g.Must(attrs, diff.Updated)
		has(t, filepath.Join(path, name), "two\n")
		write(t, filepath.Join(path, strings.Repeat("m", 255)), "mine\n")
		g.Fails(attrs, true, provider.NeedsChange, strings.Repeat("m", 255))
		attrs["local"] = "discard"
		if did, err := g.Apply(attrs, true); err != nil || did != diff.Purged {
			t.Fatal(did, err)
		}
		bare := filepath.Join(t.TempDir(), name)
		g.Must(map[string]any{"path": bare, "source": source, "bare": true}, diff.Created)
	}
}

// TestWrittenWhileMoved has a person write a file before each step of a move: the file stays, also
// after the next run, or it was written before git had anything there.
func TestWrittenWhileMoved(t *testing.T) {
	for _, name := range []string{"a", "new"} {
		for at := 1; ; at++ {
			g, source, path, attrs := withFiles(t)
			attrs["local"] = "keep"
			write(t, source+"/"+name, "theirs\n")
			run(t, source, "add", name)
			run(t, source, "commit", "-qm", "theirs")
			steps := 0
			g.strike(func(string) {
				if steps++; steps == at {
					write(t, path+"/"+name, "mine\n")
				}
			})
			_, first := g.Apply(attrs, false)
			_, second := g.Apply(attrs, false)
			if steps < at {
				break
			}
			has(t, path+"/"+name, "mine\n")
			if first != nil && provider.ClassOf(second) != provider.NeedsChange {
				t.Fatalf("step %d: %v, then %v", at, first, second)
			}
		}
	}
}

// TestWrittenWhilePurged has a program that has the checkout open write in it before each step of a
// purge. As long as the checkout is at its path, nothing is lost: the purge fails, and the checkout
// is there. A crash after that does not change this.
func TestWrittenWhilePurged(t *testing.T) {
	crash := errors.New("crash")
	for _, crashes := range []bool{false, true} {
		for at, last := 1, false; !last; at++ {
			g, _, path, attrs := withFiles(t)
			open, err := os.OpenRoot(path)
			if err != nil {
				t.Fatal(err)
			}
			defer open.Close()
			steps, there := 0, false
			g.h.before = func([]string) error {
				if steps++; steps == at {
					_, err := os.Lstat(path)
					there = err == nil
					if err := open.WriteFile("b/mine", []byte("mine\n"), 0o644); there && err != nil {
						t.Error(err)
					}
				}
				if crashes && steps > at {
					return crash
				}
				return nil
			}
			g.Handler = g.h
			_, err = g.Apply(attrs, true)
			last = steps < at
			g.h.before = nil
			g.Handler = g.h
			if !there {
				continue
			}
			if err == nil {
				t.Fatalf("step %d: the purge did not fail", at)
			}
			g.Fails(attrs, true, provider.NeedsChange, "nowhere else: b/mine")
			has(t, path+"/b/mine", "mine\n")
		}
	}
}

// TestReturnsWhatWasNotPurged keeps both a checkout that a purge has moved away and something that
// came to its path since.
func TestReturnsWhatWasNotPurged(t *testing.T) {
	g, _, path, attrs := withFiles(t)
	away := wanted{path: path}.away()
	if err := os.Rename(path, away); err != nil {
		t.Fatal(err)
	}
	write(t, path+"/mine", "mine\n")
	g.Fails(attrs, false, provider.NeedsChange, "move one of them away")
	has(t, path+"/mine", "mine\n")
	has(t, away+"/a", "one\n")
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
	g.Must(attrs, diff.NoChange)
	has(t, path+"/a", "one\n")
}
