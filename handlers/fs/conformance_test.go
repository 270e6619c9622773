package fs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/handlers/internal/disk"

	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

// conform runs the suite on every kind of file system.
func conform(
	t *testing.T, with func(*disk.System) provider.Definition, newCase func(dir string,
		host *providertest.Host) providertest.Case,
) {
	t.Helper()
	for kind, fileSystem := range fileSystems() {
		t.Run(kind, func(t *testing.T) {
			s := &providertest.Stopper{}
			providertest.Run(t, providertest.Subject{Definition: with(stopped(s, fileSystem)),
				New: func(dir string, host *providertest.Host) (providertest.Case, error) {
					c := newCase(dir, host)
					c.World = func() (string, error) { return world(dir) }
					c.Vanish = func() error { return os.Remove(filepath.Join(dir, "a")) }
					if kind != "no hard links" {
						// which differs in backups alone; TestInterrupted has them
						c.Interrupt = s.Interrupt
					}
					return c, nil
				}})
		})
	}
}

// stopped returns a system of a kind that is stopped before one of its calls.
func stopped(s *providertest.Stopper, fileSystem func(string) error) *disk.System {
	return &disk.System{Before: func(call string) error {
		if err := s.Before(); err != nil {
			return err
		}
		return fileSystem(call)
	}}
}

func TestFileConformance(t *testing.T) { conform(t, withFile, fileCase) }

func fileCase(dir string, host *providertest.Host) providertest.Case {
	path := func(name string) string { return filepath.Join(dir, name) }
	small := host.AddFile([]byte("uploaded\n"))
	large := host.AddFile([]byte(strings.Repeat("0123456789abcdef", 10_000)))
	empty := host.AddFile(nil)
	c := providertest.Case{
		Attributes: map[string]any{"path": path("a"), "content": "first s3cr3t\n", "mode": "0640"},
		Updates: []map[string]any{
			{"content": "second s3cr3t\n"}, {"mode": "600"}, {"content": small},
			{"content": large, "mode": "0755"}, {"content": ""},
			{"content": empty, "mode": "0444"}, {"content": strings.Repeat("long text ", 15_000)},
		},
		Secrets: []string{"s3cr3t"}, Edges: []string{"content", "mode"},
	}
	if os.Geteuid() != 0 {
		c.Unfit = map[string]string{"mode": "what the owner may not read cannot be compared"}
	}
	for _, name := range []string{"b", "c", "d", "e", "with space", "ü", strings.Repeat("n", 255)} {
		c.Others = append(c.Others,
			map[string]any{"path": path(name), "content": "content of " + name})
	}
	c.Others = append(c.Others, map[string]any{"path": path("by-hash"), "content": large},
		map[string]any{"path": path("any"), "mode": "0600"})
	return c
}

func TestDirectoryConformance(t *testing.T) {
	conform(t, withDir, func(dir string, _ *providertest.Host) providertest.Case {
		path := func(name string) string { return filepath.Join(dir, name) }
		return providertest.Case{
			Attributes: map[string]any{"path": path("a"), "mode": "0750"},
			Updates: []map[string]any{{"mode": "1777"},
				{"mode": "0700", "owner": int64(os.Getuid())}},
			Others: []map[string]any{{"path": path("b")}, {"path": path("c"), "mode": "2755"},
				{"path": path("d"), "recurse_purge": true}},
		}
	})
}

func TestSymlinkConformance(t *testing.T) {
	conform(t, withLink, func(dir string, _ *providertest.Host) providertest.Case {
		path := func(name string) string { return filepath.Join(dir, name) }
		return providertest.Case{
			Attributes: map[string]any{"path": path("a"), "target": "nowhere"},
			Updates: []map[string]any{{"target": "../elsewhere"},
				{"target": strings.Repeat("d/", 1000)}, {"target": dir}},
			Others: []map[string]any{{"path": path("b"), "target": "a"},
				{"path": path("c"), "target": "/"}, {"path": path("d"), "target": "ü"}},
		}
	})
}
