package fs

import (
	"os"
	"testing"

	"southbound/handlers/internal/disk"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// TestMovedMeanwhile moves the directory away while something is made in it: that is not done then,
// and the next run does it.
func TestMovedMeanwhile(t *testing.T) {
	for _, tc := range []struct {
		why   string
		with  func(*disk.System) provider.Definition
		attrs map[string]any
		at    string // the call before which it is moved
		empty bool   // another directory takes its place
		says  string
	}{
		{"a file", withFile, map[string]any{"content": "x"}, "fsync", true,
			"another process replaced the directory"},
		{"a file, with nothing left", withFile, map[string]any{"content": "x"}, "fsync", false,
			"describe that, too"},
		{"a directory", withDir, nil, "fsync", true, "another process replaced the directory"},
		{"a link", withLink, map[string]any{"target": "x"}, "symlink", true,
			"another process replaced the directory"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			moved := false
			g := newRig(t, tc.with(nil))
			g.def = tc.with(&disk.System{Before: func(call string) error {
				if moved || call != tc.at {
					return nil
				}
				moved = true
				g.do(os.Rename(g.path("d"), g.path("away")))
				if tc.empty {
					g.do(os.Mkdir(g.path("d"), 0o700))
				}
				return nil
			}})
			g.do(os.Mkdir(g.path("d"), 0o700))
			attrs := map[string]any{"path": g.path("d/a")}
			for k, v := range tc.attrs {
				attrs[k] = v
			}
			r := g.resource(attrs)
			g.fails(r, provider.Retryable, tc.says)
			if !tc.empty {
				g.do(os.Mkdir(g.path("d"), 0o700))
			}
			g.must(r, diff.Created)
		})
	}
}
