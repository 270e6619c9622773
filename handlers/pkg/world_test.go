package pkg

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain runs the tests as root, which package managers insist on being: as that of a namespace,
// for who is not.
func TestMain(m *testing.M) {
	if os.Getuid() != 0 && os.Getenv("PKGTEST_INSIDE") == "" {
		cmd := exec.CommandContext(context.Background(), "unshare",
			append([]string{"--user", "--map-root-user", "--mount"}, os.Args...)...)
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "PKGTEST_INSIDE=yes"), os.Stdout,
			os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Fprintln(os.Stderr, "as root of a namespace:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code, err := 1, prepare()
	if err == nil {
		code, err = withApt(m.Run)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(code)
}

// withApt calls run while apt has settings of the tests in place of those of this machine, which
// may have it run programs before and after it installs packages.
func withApt(run func() int) (code int, err error) {
	f, err := os.CreateTemp("", "apt")
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	// A disk that is waited for makes dpkg ten times slower, and says nothing here. Lists that are
	// not compressed would be links to those of a repository that is a directory, and never be old.
	_, err = f.WriteString(`Dir::Etc::parts "/dev/null/none";
Dir::Etc::main "/dev/null";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Acquire::GzipIndexes "true";
DPkg::Options:: "--force-unsafe-io";
`)
	if err := errors.Join(err, f.Close(), os.Setenv("APT_CONFIG", f.Name())); err != nil {
		return 1, err
	}
	return run(), nil
}

// command runs a program in a directory.
func command(t *testing.T, dir string, argv ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", argv, err, out)
	}
	return string(out)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { // packages are for all to read
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil { // packages are for all to read
		t.Fatal(err)
	}
}

// repository is a local repository of Debian packages, and of which a root directory knows.
type repository struct{ dir string }

// newRepository makes a repository with packages "name version [what it needs, a field, Conffile,
// or Fails]".
func newRepository(t *testing.T, packages ...string) *repository {
	t.Helper()
	r := &repository{dir: t.TempDir()}
	r.add(t, packages...)
	return r
}

// add makes packages and lists all that there are.
func (r *repository) add(t *testing.T, packages ...string) {
	t.Helper()
	for _, p := range packages {
		name, rest, _ := strings.Cut(p, " ")
		version, needs, _ := strings.Cut(rest, " ")
		dir := filepath.Join(t.TempDir(), name)
		control := fmt.Sprintf(
			"Package: %s\nVersion: %s\nArchitecture: all\nMaintainer: T <t@example.com>\n"+
				"Description: a test\n", name, version)
		switch {
		case needs == "Conffile":
			write(t, filepath.Join(dir, "DEBIAN", "conffiles"), "/etc/"+name+"\n")
			write(t, filepath.Join(dir, "etc", name), "")
		case needs == "Fails": // while it is set up
			write(t, filepath.Join(dir, "DEBIAN", "postinst"), "#!/no-such-shell\n")
			command(t, "/", "chmod", "755", filepath.Join(dir, "DEBIAN", "postinst"))
		case strings.Contains(needs, ": "):
			control += needs + "\n"
		case needs != "":
			control += "Depends: " + needs + "\n"
		}
		write(t, filepath.Join(dir, "DEBIAN", "control"), control)
		write(t, filepath.Join(dir, "usr", "share", name, "version"), version)
		command(t, r.dir, "dpkg-deb", "--build", "--root-owner-group", "-Znone", dir,
			r.deb(name, version))
	}
	debs, err := filepath.Glob(filepath.Join(r.dir, "*.deb"))
	if err != nil {
		t.Fatal(err)
	}
	list := ""
	for _, deb := range debs {
		raw, err := os.ReadFile(deb)
		if err != nil {
			t.Fatal(err)
		}
		list += command(t, r.dir, "dpkg-deb", "--field", deb) +
			fmt.Sprintf("Filename: ./%s\nSize: %d\nSHA256: %x\n\n", filepath.Base(deb), len(raw),
				sha256.Sum256(raw))
	}
	write(t, filepath.Join(r.dir, "Packages"), list)
}

func (r *repository) deb(name, version string) string {
	return filepath.Join(r.dir, name+"_"+version+"_all.deb")
}

// root makes a root directory in which nothing is installed and the lists of the repository are
// known.
func (r *repository) root(t *testing.T, dir string) string {
	t.Helper()
	for _, d := range []string{"var/lib/apt/lists/partial", "var/cache/apt/archives/partial",
		"etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/trusted.gpg.d", "var/log/apt",
		"var/lib/dpkg/info", "var/lib/dpkg/updates"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "var/lib/dpkg/status"), "")
	write(t, filepath.Join(dir, "etc/apt/sources.list"), "deb [trusted=yes] file:"+r.dir+" ./\n")
	write(t, filepath.Join(dir, "etc/apt/apt.conf.d/test"), "APT::Sandbox::User \"root\";\n")
	return dir
}
