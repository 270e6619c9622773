package git

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// startMove sets the refs of a move from HEAD to a commit.
func startMove(t *testing.T, path, to string) {
	t.Helper()
	run(t, path, "update-ref", movingFrom, "HEAD")
	run(t, path, "update-ref", movingTo, to)
}

// limited calls f while git may let no file grow larger than some blocks of 512 bytes, as on a full
// disk: a write of more ends in the middle, and the next one fails.
func limited(t *testing.T, blocks int, f func()) {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir, path := t.TempDir(), os.Getenv("PATH")
	script := fmt.Sprintf("#!/bin/sh\ntrap '' XFSZ\nulimit -f %d\nexec '%s' \"$@\"\n", blocks, git)
	if err := os.WriteFile(dir+"/git", []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+path)
	f()
	t.Setenv("PATH", path)
}

const (
	fewBlocks = 64
	largeSize = 128 << 10
)

// TestNotWritten fails a move in which git cannot write a whole file, though git reports success. The
// next move writes it, unless a person has changed it since.
func TestNotWritten(t *testing.T) {
	large := strings.Repeat("x\n", largeSize/2)
	crlf := strings.ReplaceAll(large, "\n", "\r\n")
	dos, tail := "* text eol=crlf\n", "* filter=tail\n"
	for name, tc := range map[string]struct{ attributes, becomes string }{
		"as it is":                  {"", large},
		"with the line ends of DOS": {dos, crlf},
		// the clean filter hides a tail that is cut off
		"with a tail": {tail, "head\n" + strings.Repeat("tail\n", largeSize/5)},
	} {
		for _, local := range []string{"refuse", "keep", "discard"} {
			for _, mine := range []string{"", "mine\n", large[:100] + "mine\n", large + "mine\n"} {
				if mine != "" && tc.attributes == dos {
					continue
				}
				t.Run(fmt.Sprintf("%s, %s, %d", name, local, len(mine)), func(t *testing.T) {
					g, source, path, attrs := withFiles(t)
					attrs["local"] = local
					run(t, path, "config", "filter.tail.clean", "head -n 1")
					run(t, path, "config", "filter.tail.smudge",
						"cat; yes tail | head -n "+fmt.Sprint(largeSize/5))
					text := large
					if tc.attributes == tail {
						text = "head\n"
					}
					write(t, source+"/.gitattributes", "large "+strings.TrimPrefix(tc.attributes, "*"))
					write(t, source+"/large", text)
					write(t, source+"/z", "theirs\n")
					run(t, source, "add", ".")
					run(t, source, "commit", "-qm", "a large file")
					limited(t, fewBlocks, func() {
						for range 2 {
							g.Fails(attrs, false, provider.Retryable, "large")
						}
					})
					g.would(attrs, diff.Purged, "")
					becomes := tc.becomes
					if mine != "" {
						write(t, path+"/large", mine)
						if local != "discard" {
							becomes = mine
						}
					}
					g.Must(attrs, diff.Updated)
					has(t, path+"/z", "theirs\n")
					if data, err := os.ReadFile(path + "/large"); err != nil || string(data) != becomes {
						t.Fatalf("%d bytes, %v; expected %d", len(data), err, len(becomes))
					}
				})
			}
		}
	}
}

// TestNotWrittenFirst fails a create, and the first checkout of a submodule, in which git cannot write
// a whole file. The next run writes it.
func TestNotWrittenFirst(t *testing.T) {
	large := strings.Repeat("x", largeSize)
	for _, there := range []bool{false, true} {
		for _, inner := range []bool{false, true} {
			g, source, path := newRig(t), origin(t), filepath.Join(t.TempDir(), "x")
			attrs := map[string]any{"path": path, "source": source, "revision": "main",
				"submodules": true}
			if there {
				g.Must(attrs, diff.Created)
			}
			at, change := source, diff.Created
			if inner {
				at = origin(t)
			}
			write(t, at+"/large", large)
			run(t, at, "add", ".")
			run(t, at, "commit", "-qm", "a large file")
			if inner {
				run(t, source, "submodule", "--quiet", "add", at, "sub")
				run(t, source, "commit", "-qm", "with a submodule")
			}
			limited(t, fewBlocks, func() {
				for range 2 {
					g.Fails(attrs, false, provider.Retryable, "large")
				}
			})
			if there {
				g.would(attrs, diff.Purged, "")
				change = diff.Updated
			} else if names, err := os.ReadDir(filepath.Dir(path)); err != nil || len(names) > 0 {
				t.Fatal(names, err)
			}
			g.Must(attrs, change)
			if inner {
				path += "/sub"
			}
			has(t, path+"/large", large)
			has(t, path+"/b/c", "two\n")
		}
	}
}

// TestNotWrittenSubmodule fails a move of a submodule in which git cannot write a whole file.
func TestNotWrittenSubmodule(t *testing.T) {
	g, source, path, attrs := withSubmodule(t)
	large := strings.Repeat("x", largeSize)
	inner := run(t, source+"/sub", "config", "remote.origin.url")
	write(t, inner+"/large", large)
	run(t, inner, "add", ".")
	run(t, inner, "commit", "-qm", "a large file")
	run(t, source, "submodule", "--quiet", "update", "--remote")
	run(t, source, "commit", "-qam", "a newer one")
	limited(t, fewBlocks, func() {
		for range 2 {
			g.Fails(attrs, false, provider.Retryable, "large")
		}
	})
	g.Must(attrs, diff.Updated)
	has(t, path+"/sub/large", large)
}

// TestLeftByMove lists states in which a move that was cut off, or a person after it, leaves a file.
// The next run makes the file as it has to be if no work of a person is in it.
func TestLeftByMove(t *testing.T) {
	file := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, p string) { write(t, filepath.Join(p, name), text) }
	}
	without := func(name string) func(*testing.T, string) {
		return func(t *testing.T, p string) {
			if err := os.RemoveAll(filepath.Join(p, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	both := func(f, h func(*testing.T, string)) func(*testing.T, string) {
		return func(t *testing.T, p string) { f(t, p); h(t, p) }
	}
	source, made, commits := threeCommits(t)
	for name, tc := range map[string]struct {
		do   func(t *testing.T, path string)
		mine bool
	}{
		"nothing":                      {func(*testing.T, string) {}, false},
		"written":                      {file("f", "new text\n"), false},
		"cut off":                      {file("f", "new t"), false},
		"empty":                        {file("f", ""), false},
		"missing":                      {without("f"), false},
		"the old one, cut off":         {file("f", "old"), false},
		"changed":                      {file("f", "mine\n"), true},
		"longer":                       {file("f", "new text\nmine\n"), true},
		"the new one, staged":          {both(file("f", "new text\n"), func(t *testing.T, p string) { run(t, p, "add", "f") }), false},
		"another one, staged":          {both(file("f", "mine\n"), both(func(t *testing.T, p string) { run(t, p, "add", "f") }, file("f", "new text\n"))), true},
		"made executable":              {func(t *testing.T, p string) { must(t, os.Chmod(p+"/f", 0o755)) }, true},
		"a link":                       {both(without("f"), func(t *testing.T, p string) { must(t, os.Symlink("mine", p+"/f")) }), true},
		"a new file":                   {file("n", "new t"), false},
		"a new file, changed":          {file("n", "mine\n"), true},
		"a new file, staged":           {both(file("n", "new text\n"), func(t *testing.T, p string) { run(t, p, "add", "n") }), false},
		"a removed file":               {without("o"), false},
		"a removed file, changed":      {file("o", "mine\n"), true},
		"a file that is a directory":   {both(without("d"), file("d/x", "new")), false},
		"in it, changed":               {both(without("d"), file("d/x", "mine\n")), true},
		"in it, a file of a person":    {both(without("d"), both(file("d/x", "new"), file("d/mine", "mine\n"))), true},
		"a directory that is a file":   {both(without("e"), file("e", "new")), false},
		"it, changed":                  {both(without("e"), file("e", "mine\n")), true},
		"a name like a pattern":        {file("[a-z]", "new t"), false},
		"a file that such a name fits": {both(file("[a-z]", "new t"), file("k", "mine\n")), true},
		"another file, missing":        {without("k"), true},
		"another file, cut off":        {file("k", "ke"), true},
	} {
		for _, local := range []string{"refuse", "keep", "discard"} {
			for i, next := range []string{"the same", "another", "the one before"} {
				if i > 0 && (tc.mine || local != "refuse") {
					continue
				}
				t.Run(name+", "+local+", "+next, func(t *testing.T) {
					g, path := newRig(t), filepath.Join(t.TempDir(), "x")
					must(t, os.CopyFS(path, os.DirFS(made)))
					attrs := map[string]any{"path": path, "source": source, "local": local,
						"revision": commits[(i+1)%3]}
					startMove(t, path, commits[1])
					tc.do(t, path)
					if tc.mine && local != "discard" {
						g.keepsMine(attrs)
						return
					}
					g.would(attrs, diff.Updated, "")
					if !tc.mine {
						g.would(attrs, diff.Purged, "")
					}
					g.Must(attrs, diff.Updated)
					if status := run(t, path, "status", "--porcelain"); status != "" && !strings.Contains(status, "?? d/mine") {
						t.Fatal(status)
					}
				})
			}
		}
	}
}

// threeCommits makes a remote with three commits, and a checkout of the first that has them all.
func threeCommits(t *testing.T) (source, path string, commits []string) {
	t.Helper()
	g, source, path := newRig(t), t.TempDir(), filepath.Join(t.TempDir(), "x")
	run(t, source, "init", "-q")
	for _, files := range []map[string]string{
		{"f": "old text\n", "o": "old text\n", "d": "old text\n", "e/x": "old text\n",
			"[a-z]": "old text\n", "k": "kept\n"},
		{"f": "new text\n", "n": "new text\n", "d/x": "new text\n", "e": "new text\n",
			"[a-z]": "new text\n", "k": "kept\n"},
		{"f": "last\n", "d": "last\n", "k": "kept\n"},
	} {
		run(t, source, "rm", "-rqf", "--ignore-unmatch", ".")
		for name, text := range files {
			write(t, filepath.Join(source, name), text)
		}
		run(t, source, "add", ".")
		run(t, source, "commit", "-qm", "1")
		commits = append(commits, run(t, source, "rev-parse", "HEAD"))
	}
	g.Must(map[string]any{"path": path, "source": source, "revision": commits[0]}, diff.Created)
	run(t, path, "fetch", "-q", "origin")
	return source, path, commits
}

// keepsMine applies attributes twice, and demands that the work of a person stays.
func (g *rig) keepsMine(attrs map[string]any) {
	g.T.Helper()
	path := attrs["path"].(string)
	before, err := tree(filepath.Dir(path))
	must(g.T, err)
	for range 2 {
		if _, err := g.Apply(attrs, false); err != nil && provider.ClassOf(err) != provider.NeedsChange {
			g.T.Fatal(err)
		}
		after, err := tree(filepath.Dir(path))
		must(g.T, err)
		for _, line := range strings.Split(before, "\n") {
			if strings.Contains(line, "mine") && !strings.Contains(after, line) {
				g.T.Fatalf("%s\nbecame\n%s", before, after)
			}
		}
		if run(g.T, path, "status", "--porcelain") == "" {
			g.T.Fatalf("%s\nbecame\n%s", before, after)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
