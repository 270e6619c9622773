package fs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

func TestFileConformance(t *testing.T) {
	for _, tc := range []struct {
		name   string // why
		change func(*provider.Definition)
	}{
		{"files without a name", func(*provider.Definition) {}},
		{"hidden names only, as on file systems that lack the others", func(d *provider.Definition) { d.Handler = file{sys: &system{before: noUnnamedFiles}} }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			def := File()
			tc.change(&def)
			providertest.Run(t, providertest.Subject{Definition: def, New: fileCase})
		})
	}
}

func fileCase(dir string, host *providertest.Host) (providertest.Case, error) {
	path := func(name string) string { return filepath.Join(dir, name) }
	small := host.AddFile([]byte("uploaded\n"))
	large := host.AddFile([]byte(strings.Repeat("0123456789abcdef", 20_000)))
	empty := host.AddFile(nil)
	c := providertest.Case{
		Attributes: map[string]any{"path": path("a"), "content": "first s3cr3t\n", "mode": "0640"},
		Updates: []map[string]any{
			{"content": "second s3cr3t\n"}, {"mode": "600"}, {"content": small}, {"content": large, "mode": "0755"}, {"content": ""},
			{"content": empty, "mode": "0444"}, {"content": strings.Repeat("long text ", 30_000)},
		},
		World:   func() (string, error) { return world(dir) },
		Vanish:  func() error { return os.Remove(path("a")) },
		Secrets: []string{"s3cr3t"},
	}
	for _, name := range []string{"b", "c", "d", "e", "with space", "ü", strings.Repeat("n", 255)} {
		c.Others = append(c.Others, map[string]any{"path": path(name), "content": "content of " + name})
	}
	c.Others = append(c.Others, map[string]any{"path": path("by-hash"), "content": large}, map[string]any{"path": path("any"), "mode": "0600"})
	return c, nil
}

func TestDirectoryConformance(t *testing.T) {
	providertest.Run(t, providertest.Subject{Definition: Directory(), New: func(dir string, _ *providertest.Host) (providertest.Case, error) {
		path := func(name string) string { return filepath.Join(dir, name) }
		return providertest.Case{
			Attributes: map[string]any{"path": path("a"), "mode": "0750"},
			Updates:    []map[string]any{{"mode": "1777"}, {"mode": "0700"}},
			Others:     []map[string]any{{"path": path("b")}, {"path": path("c"), "mode": "2755"}, {"path": path("d"), "recurse_purge": true}},
			World:      func() (string, error) { return world(dir) },
			Vanish:     func() error { return os.Remove(path("a")) },
		}, nil
	}})
}

func TestSymlinkConformance(t *testing.T) {
	providertest.Run(t, providertest.Subject{Definition: Symlink(), New: func(dir string, _ *providertest.Host) (providertest.Case, error) {
		path := func(name string) string { return filepath.Join(dir, name) }
		return providertest.Case{
			Attributes: map[string]any{"path": path("a"), "target": "nowhere"},
			Updates:    []map[string]any{{"target": "../elsewhere"}, {"target": strings.Repeat("d/", 1000)}, {"target": dir}},
			Others:     []map[string]any{{"path": path("b"), "target": "a"}, {"path": path("c"), "target": "/"}, {"path": path("d"), "target": "ü"}},
			World:      func() (string, error) { return world(dir) },
			Vanish:     func() error { return os.Remove(path("a")) },
		}, nil
	}})
}
