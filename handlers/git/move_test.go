package git

import (
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// TestStaysInTheWay lists what a move meets in the working tree, and what becomes of that.
func TestStaysInTheWay(t *testing.T) {
	for name, tc := range map[string]struct {
		there, theirs string // a file that is here, and one that the next commit has
		refused       bool
	}{
		"elsewhere":                       {"mine", "theirs", false},
		"an ignored file elsewhere":       {"x.log", "theirs", false},
		"a file":                          {"new", "new", true},
		"an ignored file":                 {"x.log", "x.log", true},
		"in a directory that is a file":   {"new/x", "new", true},
		"ignored, under what is a file":   {"ign/x", "ign", true},
		"a file that is a directory":      {"new", "new/x", true},
		"ignored, where a directory is":   {"ign", "ign/x", true},
		"beside it in a directory":        {"new/x", "new/y", false},
		"ignored, beside it":              {"ign/x", "ign/y", false},
		"a repository":                    {"in/.git/HEAD", "in", true},
		"a repository with the directory": {"in/.git/HEAD", "in/x", true},
	} {
		locals := []string{"refuse", "keep", "discard"}
		if !tc.refused {
			locals = locals[:1]
		}
		for _, local := range locals {
			t.Run(name+", "+local, func(t *testing.T) {
				g, source, path := newRig(t), t.TempDir(), filepath.Join(t.TempDir(), "x")
				run(t, source, "init", "-q")
				write(t, source+"/.gitignore", "*.log\nign\n")
				run(t, source, "add", ".")
				run(t, source, "commit", "-qm", "1")
				attrs := map[string]any{"path": path, "source": source, "revision": "main", "local": local}
				g.Must(attrs, diff.Created)
				if strings.Contains(tc.there, ".git") {
					run(t, path, "init", "-q", filepath.Dir(filepath.Dir(tc.there)))
				} else {
					write(t, filepath.Join(path, tc.there), "mine\n")
				}
				write(t, filepath.Join(source, tc.theirs), "theirs\n")
				run(t, source, "add", "-f", tc.theirs)
				run(t, source, "commit", "-qm", "2")
				if tc.refused && local != "discard" {
					g.would(attrs, diff.Updated, "would be overwritten")
					g.Fails(attrs, false, provider.NeedsChange, "would be overwritten")
				} else {
					g.would(attrs, diff.Updated, "")
					g.Must(attrs, diff.Updated)
					has(t, filepath.Join(path, tc.theirs), "theirs\n")
				}
				if !strings.Contains(tc.there, ".git") && (!tc.refused || local != "discard") {
					has(t, filepath.Join(path, tc.there), "mine\n")
				}
			})
		}
	}
}

// TestCutOffMove leaves what git leaves when it is killed in a move: the next run takes the move up
// again. A file that a person has changed stays, unless local is discard.
func TestCutOffMove(t *testing.T) {
	for _, tc := range []struct{ from, to, partly, mine, becomes string }{
		{"v1", "v2", "b/c", "a", "two\n"},
		{"v2", "dev", "a", "b/c", "dev\n"},
		{"dev", "v1", "a", "b/c", "one\n"},
	} {
		for _, local := range []string{"refuse", "keep", "discard"} {
			g, source, path := newRig(t), origin(t), filepath.Join(t.TempDir(), "x")
			attrs := map[string]any{"path": path, "source": source, "revision": tc.from, "local": local}
			g.Must(attrs, diff.Created)
			startMove(t, path, run(t, source, "rev-parse", tc.to+"^{commit}"))
			write(t, filepath.Join(path, tc.partly), tc.becomes[:1])
			attrs["revision"] = tc.to
			if tc.from != "dev" { // else the move takes it away
				write(t, filepath.Join(path, tc.mine), "mine\n")
			}
			if local == "refuse" && tc.from != "dev" {
				g.Fails(attrs, false, provider.NeedsChange, "not committed: "+tc.mine)
				has(t, filepath.Join(path, tc.mine), "mine\n")
				continue
			}
			g.Must(attrs, diff.Updated)
			has(t, filepath.Join(path, tc.partly), tc.becomes)
			if local == "keep" && tc.from != "dev" {
				has(t, filepath.Join(path, tc.mine), "mine\n")
			}
		}
	}
}

// TestWorkOfSubmodules refuses to move a submodule, and to purge with it, as for the checkout itself.
func TestWorkOfSubmodules(t *testing.T) {
	for name, tc := range map[string]struct {
		do    func(t *testing.T, sub string)
		moves bool
	}{
		"nothing":   {func(*testing.T, string) {}, true},
		"a change":  {func(t *testing.T, sub string) { write(t, sub+"/a", "mine") }, false},
		"a file":    {func(t *testing.T, sub string) { write(t, sub+"/mine", "mine") }, true},
		"in a file": {func(t *testing.T, sub string) { write(t, sub+"/new", "mine") }, false},
		"a commit": {func(t *testing.T, sub string) {
			run(t, sub, "commit", "-q", "--allow-empty", "-m", "mine")
		}, false},
		"a branch": {func(t *testing.T, sub string) {
			run(t, sub, "checkout", "-qb", "mine")
			run(t, sub, "commit", "-q", "--allow-empty", "-m", "mine")
		}, true},
		"a stash": {func(t *testing.T, sub string) {
			write(t, sub+"/a", "mine")
			run(t, sub, "stash")
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			g, source, inner, path := newRig(t), origin(t), origin(t), filepath.Join(t.TempDir(), "x")
			run(t, source, "submodule", "--quiet", "add", inner, "sub")
			run(t, source, "commit", "-qm", "with a submodule")
			attrs := map[string]any{"path": path, "source": source, "revision": "main", "submodules": true}
			g.Must(attrs, diff.Created)
			tc.do(t, path+"/sub")
			if name == "nothing" {
				g.would(attrs, diff.Purged, "")
			} else {
				g.would(attrs, diff.Purged, "nowhere else")
				g.Fails(attrs, true, provider.NeedsChange, "nowhere else")
			}
			write(t, inner+"/a", "theirs\n")
			write(t, inner+"/new", "theirs\n")
			run(t, inner, "add", ".")
			run(t, inner, "commit", "-qm", "theirs")
			run(t, source, "submodule", "--quiet", "update", "--remote")
			run(t, source, "commit", "-qam", "a newer one")
			if !tc.moves {
				g.would(attrs, diff.Updated, "submodule sub")
				g.Fails(attrs, false, provider.NeedsChange, "submodule sub")
				return
			}
			g.would(attrs, diff.Updated, "")
			g.Must(attrs, diff.Updated)
			has(t, path+"/sub/new", "theirs\n")
		})
	}
}
