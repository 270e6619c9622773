//go:build servers

package pkg

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"southbound/localstack/server"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

// prepare adds dnf and rpm to the programs that there are, unless the machine has them.
func prepare() error {
	for _, program := range []string{"dnf", "rpm", "rpmbuild", "createrepo_c"} {
		if _, err := exec.LookPath(program); err == nil {
			continue
		}
		bin, err := server.Unpack(context.Background(), "dnf", "rpm", "createrepo-c")
		if err != nil {
			return fmt.Errorf("dnf is missing: %w", err)
		}
		return os.Setenv("PATH", os.Getenv("PATH")+":"+bin)
	}
	return nil
}

// rpms is a repository of RPM packages.
type rpms struct{ dir string }

// add makes packages "name [epoch:]version-release [what it needs]" and lists all that there are.
func (r rpms) add(t *testing.T, packages ...string) {
	t.Helper()
	work := t.TempDir()
	for _, p := range packages {
		name, rest, _ := strings.Cut(p, " ")
		evr, needs, _ := strings.Cut(rest, " ")
		epoch, vr, is := strings.Cut(evr, ":")
		if !is {
			epoch, vr = "", evr
		}
		version, release, _ := strings.Cut(vr, "-")
		spec := fmt.Sprintf("Name: %s\nVersion: %s\nRelease: %s\nSummary: a test\nLicense: MIT\n"+
			"BuildArch: noarch\nAutoReqProv: no\n", name, version, release)
		if epoch != "" {
			spec += "Epoch: " + epoch + "\n"
		}
		switch {
		case strings.Contains(needs, ": "):
			spec += needs + "\n"
		case needs != "":
			spec += "Requires: " + needs + "\n"
		}
		spec += "%description\na test\n%install\nmkdir -p %{buildroot}/usr/share/" + name +
			"\necho " + version + " > %{buildroot}/usr/share/" + name +
			"/version\n%files\n/usr/share/" + name + "\n"
		write(t, filepath.Join(work, "x.spec"), spec)
		command(t, work, "rpmbuild", "-bb", "--quiet", "--define", "_topdir "+work, "--define",
			"_rpmdir "+r.dir, "--define", "__os_install_post %{nil}",
			"--define", "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.rpm",
			"--define", "_dbpath "+filepath.Join(work, "db"), "x.spec")
	}
	command(t, r.dir, "createrepo_c", "-q", "--update", r.dir)
}

// root makes a root directory that knows of the repository.
func (r rpms) root(t *testing.T, dir string) string {
	t.Helper()
	write(t, filepath.Join(dir, "etc/yum.repos.d/sb.repo"),
		"[sb]\nname=sb\nbaseurl=file://"+r.dir+"\ngpgcheck=0\n")
	return dir
}

// TestDnfConformance works with the real dnf and rpm in root directories of its own.
func TestDnfConformance(t *testing.T) {
	t.Parallel()
	repo := rpms{t.TempDir()}
	repo.add(t, "sb-a 1.0-1", "sb-a 2:0.9-1")
	providertest.Run(t, providertest.Subject{Definition: Package(),
		New: func(dir string, host *providertest.Host) (providertest.Case, error) {
			root := repo.root(t, filepath.Join(dir, "root"))
			ctx := host.Context(t.Context(), provider.Options{ID: "pkg::Package[a,name=x]"})
			return providertest.Case{
				Attributes: map[string]any{"name": "sb-a", "root": root, "provider": "dnf",
					"version": "1.0-1"},
				Updates:  []map[string]any{{"version": "0.9"}},
				Unlisted: "the machine",
				World: func() (string, error) {
					have, err := (dnf{}).installed(ctx, place{root: root})
					return fmt.Sprint(have), err
				},
				Vanish: func() error {
					command(t, "/", "rpm", "--root", root, "-e",
						"sb-a") // several times as fast as dnf
					return nil
				},
			}, nil
		}})
}

// TestDnf goes through the life of packages.
func TestDnf(t *testing.T) {
	t.Parallel()
	repo := rpms{t.TempDir()}
	repo.add(t, "sb-lib 1:1.0-2", "sb-app 1.0-1 sb-lib", "sb-web 1.0-1 Provides: sb-server",
		"sb-foe 1.0-1 Conflicts: sb-app")
	root := repo.root(t, t.TempDir())
	of := func(name string, more ...any) map[string]any {
		return with(map[string]any{"name": name, "root": root, "provider": "dnf"}, more...)
	}
	goes(t, "nothing is in a root that is yet to be", diff.NoChange, of("sb-app", "root", root+"2"),
		true)
	goes(t, "one and what it needs", diff.Created, of("sb-app"), false)
	for _, version := range []string{"1:1.0-2", "1.0-2", "1.0", "1:1.0"} {
		goes(t, "what it needs is there as "+version, diff.NoChange,
			of("sb-lib", "version", version), false)
	}
	goes(t, "with its architecture", diff.NoChange, of("sb-app.noarch"), false)
	refused(t, "what another needs", provider.NeedsChange, "is needed by", of("sb-lib"), true)
	goes(t, "it is still there", diff.NoChange, of("sb-app"), false)
	repo.add(t, "sb-app 1.1-1 sb-lib")
	goes(t, "a version that came since", diff.Updated, of("sb-app", "version", "1.1"), false)
	goes(t, "the newest", diff.NoChange, of("sb-app", "version", "latest"), false)
	goes(t, "a lower version", diff.Updated, of("sb-app", "version", "1.0-1"), false)
	goes(t, "the newest again", diff.Updated, of("sb-app", "version", "latest"), false)
	command(t, "/", "rpm", "--root", root, "-e", "sb-app")
	goes(t, "what was removed behind our back", diff.Created, of("sb-app", "version", "1.0"), false)
	if _, _, err := run(t, of("sb-foe"), false); err == nil ||
		!strings.Contains(err.Error(), "conflicts with") {
		t.Errorf("what another stands in the way of: %v", err)
	}
	if _, _, err := run(t, of("sb-server"), false); provider.ClassOf(err) != provider.NeedsChange ||
		!strings.Contains(err.Error(), "there is still no package sb-server") {
		t.Errorf("a name that others provide: %v", err)
	}
	if _, _, err := run(t, of("sb-app", "version", "9"),
		false); provider.ClassOf(err) != provider.Retryable ||
		!strings.Contains(err.Error(), "nable to find a match: sb-app-9") {
		t.Errorf("no such version: %v", err)
	}
	goes(t, "purged", diff.Purged, of("sb-app"), true)
	goes(t, "what it needed stays", diff.NoChange, of("sb-lib"), false)
	goes(t, "from a file", diff.Created,
		of("sb-app", "source", filepath.Join(repo.dir, "sb-app-1.0-1.rpm"), "version", "1.0"),
		false)
	if got, err := (dnf{}).chosen(providertest.NewHost(nil).Context(t.Context(),
		provider.Options{}), place{root: root}); err != nil ||
		strings.Join(got, " ") != "sb-app sb-web" {
		t.Errorf("asked for by somebody: %v, %v", got, err)
	}
}
