package server

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// program is a program of the machine that servers and tools require.
type program struct {
	name     string   // name of the executable
	packages []string // Debian packages that contain it
	hint     string
}

func (p program) there(context.Context) bool {
	_, err := exec.LookPath(p.name)
	return err == nil
}

var (
	java  = program{"java", []string{"default-jre-headless"}, "install Java 17 or newer"}
	maven = program{"mvn", []string{"maven"}, "install Maven 3 and Java 17 or newer"}
)

// provide makes sure that a program is installed. If it is missing, provide installs it, which
// requires root on Debian or Ubuntu. Otherwise the error names the packages to install.
func provide(ctx context.Context, p program) error {
	if p.there(ctx) {
		return nil
	}
	if err := aptGet(ctx, p.packages...); err != nil {
		return fmt.Errorf("%s is missing: %s (%w)", p.name, p.hint, err)
	}
	if !p.there(ctx) {
		return fmt.Errorf("%s is missing although %s is installed: %s", p.name,
			strings.Join(p.packages, ", "), p.hint)
	}
	return nil
}

// aptGet installs Debian packages.
func aptGet(ctx context.Context, packages ...string) error {
	if _, err := exec.LookPath("apt-get"); err != nil || os.Getuid() != 0 {
		return fmt.Errorf("it could not be installed: that takes root on Debian or Ubuntu")
	}
	// apt-get fails, and does not wait, if another apt-get is running
	unlock, err := lockFile(filepath.Join(os.TempDir(), "southbound-apt.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if err := run(ctx, "/", "apt-get", "update", "-qq"); err != nil {
		return err
	}
	return run(ctx, "/", "env",
		append([]string{"DEBIAN_FRONTEND=noninteractive", "apt-get",
			"-o", "DPkg::Lock::Timeout=600", "install", "-y", "-qq",
			"--no-install-recommends"}, packages...)...)
}

// Python returns a Python of a version: "3.13" is exactly that version, "3.11+" that version or a
// newer one. It looks at SOUTHBOUND_PYTHON, the path and pyenv, in this order. If it finds none, it
// installs the Debian package.
func Python(ctx context.Context, version string) (string, error) {
	if p := findPython(ctx, version); p != "" {
		return p, nil
	}
	exact, atLeast := strings.CutSuffix(version, "+")
	name := "python" + exact
	if atLeast {
		name = "python3"
	}
	if err := aptGet(ctx, name, name+"-venv"); err != nil {
		return "",
			fmt.Errorf("no Python %s: install it with its venv module, with pyenv for instance, "+
				"or name it in SOUTHBOUND_PYTHON (%w)", version, err)
	}
	if p := findPython(ctx, version); p != "" {
		return p, nil
	}
	return "",
		fmt.Errorf("no Python %s among the packages of this system: install it with its venv "+
			"module, or name it in SOUTHBOUND_PYTHON", version)
}

// FindPython is Python without an installation: if there is no such Python, it returns "".
func FindPython(ctx context.Context, version string) string {
	found := findPython(ctx, version)
	if found == "" {
		return ""
	}
	// The program may be a script that looks for a Python.
	out, err := exec.CommandContext(ctx, found, "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func findPython(ctx context.Context, version string) string {
	home, _ := os.UserHomeDir()
	candidates := []string{os.Getenv("SOUTHBOUND_PYTHON"),
		"python" + strings.TrimSuffix(version, "+"), "python3"}
	more, _ := filepath.Glob(filepath.Join(home, ".pyenv", "versions", "3.*", "bin", "python"))
	for _, c := range append(candidates, more...) {
		if c == "" {
			continue
		}
		out, err := exec.CommandContext(ctx, c, "-c",
			"import sys, venv, ensurepip; print('%d.%d' % sys.version_info[:2])").Output()
		if err == nil && fits(strings.TrimSpace(string(out)), version) {
			return c
		}
	}
	return ""
}

// fits reports whether version have satisfies want.
func fits(have, want string) bool {
	exact, atLeast := strings.CutSuffix(want, "+")
	return have == exact || (atLeast && slices.Compare(numbers(have), numbers(exact)) > 0)
}

func numbers(version string) []int {
	var out []int
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part) // 0 is less than any wanted version
		out = append(out, n)
	}
	return out
}

// Install installs Debian or Ubuntu packages, for a test that needs another server than those of
// this package. If it fails, the error states the reason.
func Install(ctx context.Context, packages ...string) error { return aptGet(ctx, packages...) }
