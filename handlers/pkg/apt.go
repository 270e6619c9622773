package pkg

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"southbound/handlers/internal/tool"
	"southbound/shared/provider"
)

// apt is apt-get with dpkg.
type apt struct{}

// settings are the variables for apt and dpkg.
func (apt) settings() []string { return tool.Settings("APT_", "DEBIAN_", "DEBCONF_", "DPKG_") }

// quiet prevents questions of apt and dpkg.
func (a apt) quiet() []string {
	return append(a.settings(), "DEBIAN_FRONTEND=noninteractive", "DEBIAN_PRIORITY=critical",
		"APT_LISTCHANGES_FRONTEND=none", "NEEDRESTART_MODE=l", "UCF_FORCE_CONFFOLD=1")
}

// flags are the arguments that make apt work in a root directory.
func (apt) flags(p place) []string {
	out := []string{"-q", "-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Use-Pty=0", "-o",
		"APT::Cmd::Pattern-Only=true", "-o", "Dpkg::Options::=--force-confdef", "-o",
		"Dpkg::Options::=--force-confold"}
	if p.root != "" {
		out = append(out, "-o", "Dir="+p.root, "-o",
			"Dir::State::status="+filepath.Join(p.root, "var/lib/dpkg/status"), "-o",
			"Dpkg::Options::=--root="+p.root,
			"-o", "APT::Sandbox::User=root")
	}
	return out
}

// safe rejects a root in which code of another user would run.
func (apt) safe(p place) error {
	return p.system("etc/apt", "etc/apt/*", "etc/apt/*.d/*", "etc/dpkg", "etc/dpkg/*",
		"etc/dpkg/*.d/*", "var/lib/apt", "var/lib/apt/lists", "var/lib/dpkg", "var/lib/dpkg/info",
		"var/cache/apt", "var/cache/apt/archives")
}

// get runs apt-get. It first completes interrupted work of dpkg, and repairs packages with missing
// dependencies.
func (a apt) get(ctx *provider.Context, p place, verb string, args ...string) (string, error) {
	if err := a.safe(p); err != nil {
		return "", err
	}
	argv := append(append([]string{"apt-get"}, a.flags(p)...), "-y", verb)
	argv = append(argv, args...)
	out, err := tool.Run(ctx, a.quiet(), argv...)
	if err == nil {
		return out, nil
	}
	switch text := err.Error(); {
	case strings.Contains(text, "dpkg was interrupted"):
		ctx.Info("finish work of dpkg that was cut off")
		_, err = tool.Run(ctx, a.quiet(), "dpkg", "--root="+filepath.Join("/", p.root),
			"--force-confdef", "--force-confold", "--configure", "-a")
	case strings.Contains(text, "--fix-broken install"):
		ctx.Info("repair dependencies of installed packages")
		_, err = tool.Run(ctx, a.quiet(), append(append([]string{"apt-get"}, a.flags(p)...), "-y",
			"--no-remove", "--fix-broken", "install")...)
	default:
		return out, refusal(err)
	}
	if err != nil {
		return "", refusal(err)
	}
	out, err = tool.Run(ctx, a.quiet(), argv...)
	return out, refusal(err)
}

// refusal returns the class and the hint that follow from an error of apt-get.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	text := err.Error()
	switch {
	case strings.Contains(text, "Held packages were changed"):
		return provider.Errorf(provider.Terminal,
			"it is held as it is; `apt-mark unhold` ends that: %w", err)
	case strings.Contains(text, "remove is disabled"):
		return provider.Errorf(provider.NeedsChange,
			"it cannot be together with %s, which would be removed; purge that first: %w",
			strings.Join(linesUnder(err, "will be REMOVED:"), " "), err)
	case strings.Contains(text, "ssential packages"):
		return provider.Errorf(provider.Terminal, "the machine needs it: %w", err)
	case strings.Contains(text, "(13: Permission denied)"):
		return provider.Errorf(provider.Terminal, "that takes root: %w", err)
	}
	if lacks := linesUnder(err, "have unmet dependencies:"); len(lacks) > 0 {
		return fmt.Errorf("%s: %w", strings.Join(lacks, "; "), err)
	}
	return err
}

// linesUnder returns the lines of apt-get's output under a heading.
func linesUnder(err error, heading string) []string {
	var failed *tool.Error
	if !errors.As(err, &failed) {
		return nil
	}
	_, list, _ := strings.Cut(failed.Output, heading+"\n")
	var out []string
	for line := range strings.Lines(list) {
		if !strings.HasPrefix(line, " ") {
			break
		}
		out = append(out, strings.Join(strings.Fields(line), " "))
	}
	return out
}

func (apt) admin(p place) string {
	return "--admindir=" + filepath.Join("/", p.root, "var/lib/dpkg")
}

func (a apt) installed(ctx *provider.Context, p place) (map[string]string, error) {
	if _, err := os.Stat(filepath.Join("/", p.root, "var/lib/dpkg/status")); errors.Is(err,
		fs.ErrNotExist) {
		return nil, nil // the root does not exist yet
	}
	if err := a.safe(p); err != nil {
		return nil, err
	}
	out, err := tool.Run(ctx, a.settings(), "dpkg-query", a.admin(p), "--show",
		"--showformat=${Package}\t${Architecture}\t${Version}\t${db:Status-Status}\n")
	if err != nil && tool.Code(err) != 1 { // 1: no package matches
		return nil, err
	}
	have := map[string]string{}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 || f[3] != "installed" && f[3] != "config-files" {
			continue
		}
		if f[3] == "config-files" {
			f[2] = ""
		}
		have[f[0]+":"+f[1]] = f[2]
		// A name without an architecture means the machine's own, if there are several.
		if have[f[0]] == "" || f[2] != "" && (f[1] == architecture() || f[1] == "all") {
			have[f[0]] = f[2]
		}
	}
	return have, nil
}

// architecture is Debian's name for the architecture of this program.
func architecture() string {
	switch runtime.GOARCH {
	case "386":
		return "i386"
	case "arm":
		return "armhf"
	case "ppc64le":
		return "ppc64el"
	}
	return runtime.GOARCH
}

func (a apt) candidates(ctx *provider.Context, p place, names []string) (map[string]string, error) {
	if err := a.safe(p); err != nil {
		return nil, err
	}
	argv := append(append([]string{"apt-cache"}, a.flags(p)...), "policy", "--")
	out, err := tool.Run(ctx, a.settings(), append(argv, names...)...)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	name := ""
	for line := range strings.Lines(out) {
		if !strings.HasPrefix(line, " ") {
			name = strings.TrimSuffix(strings.TrimSpace(line), ":")
			continue
		}
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: "); ok &&
			version != "(none)" {
			found[name] = version
		}
	}
	return found, nil
}

// refreshed is how long lists of packages are recent enough to conclude that a package is not in
// them.
const refreshed = 10 * time.Minute

func (a apt) install(ctx *provider.Context, p place, items []item) error {
	args := append([]string{"--allow-downgrades", "--no-install-recommends", "--no-remove"},
		p.options...)
	args = append(args, "--")
	for _, i := range items {
		switch {
		case i.source != "":
			args = append(args, i.source)
		case i.version != "" && i.version != latest:
			args = append(args, i.name+"="+i.version)
		default:
			args = append(args, i.name)
		}
	}
	try := func() error {
		err := a.known(ctx, p, items)
		if err == nil {
			_, err = a.get(ctx, p, "install", args...)
		}
		return err
	}
	err := try()
	if err == nil || !old(err) {
		return err
	}
	// The lists may be old: fetch them again, once for all missing packages.
	_, refresh := provider.Cached(ctx, provider.Key{Name: "refresh", Args: []any{p.root}},
		provider.Keep{For: refreshed}, func(ctx *provider.Context) (bool, error) {
			ctx.Info("fetch the lists of packages")
			_, err := a.get(ctx, p, "update")
			return true, err
		})
	if refresh != nil {
		ctx.Warning("the lists of packages cannot be fetched", "error", refresh)
	}
	return try()
}

// old reports whether outdated lists of packages can cause an error.
func old(err error) bool {
	for _, text := range []string{"nable to locate package", "was not found",
		"has no installation candidate", "nable to fetch", "ailed to fetch"} {
		if strings.Contains(err.Error(), text) {
			return true
		}
	}
	return false
}

// known rejects names that no package has. For these, apt would install another package: the one
// without the + at the end of the name, or one that provides the name.
func (a apt) known(ctx *provider.Context, p place, items []item) error {
	var ask []string
	for _, i := range items {
		if i.source == "" {
			ask = append(ask, i.name)
		}
	}
	if len(ask) == 0 {
		return nil
	}
	found, err := a.candidates(ctx, p, ask)
	if err != nil {
		return err
	}
	for _, name := range ask {
		bare, _, _ := strings.Cut(name, ":")
		if found[name] == "" && found[bare] == "" {
			return fmt.Errorf("unable to locate package %s: no package has this name; name a package "+
				"that provides it", name)
		}
	}
	return nil
}

// remove removes packages, unless other packages need them: apt would remove those, too.
func (a apt) remove(ctx *provider.Context, p place, items []item) error {
	verb := "remove"
	if items[0].config {
		verb = "purge"
	}
	args := []string{"--"}
	asked := map[string]bool{}
	for _, i := range items {
		args = append(args, i.name)
		bare, _, _ := strings.Cut(i.name, ":")
		asked[bare] = true
	}
	would, err := a.get(ctx, p, verb, append([]string{"--simulate"}, args...)...)
	if err != nil {
		return err
	}
	var others []string
	for line := range strings.Lines(would) {
		f := strings.Fields(line)
		if len(f) < 2 || f[0] != "Remv" && f[0] != "Purg" {
			continue
		}
		if bare, _, _ := strings.Cut(f[1], ":"); !asked[bare] {
			others = append(others, f[1])
		}
	}
	if len(others) > 0 {
		return needed(others)
	}
	_, err = a.get(ctx, p, verb, args...)
	return err
}

// needed is the error for a package that other packages need.
func needed(by []string) error {
	return provider.Errorf(provider.NeedsChange,
		"it is needed by %s, which would be removed, too; purge that as well, or keep both",
		strings.Join(by, ", "))
}

// names: a name that ends with - would be an order to remove the package.
func (apt) names() string { return `\A[a-z0-9][a-z0-9+.-]*[a-z0-9+.](:[a-z0-9-]+)?\z` }

func (apt) canonical(name string) string { return name }

func (apt) satisfies(version, asked string) bool { return version == asked }

// chosen omits the lists of available packages, which take apt most of a second to read and do not
// affect installed ones. apt must not store the resulting incomplete cache.
func (a apt) chosen(ctx *provider.Context, p place) ([]string, error) {
	out, err := tool.Run(ctx, a.settings(), append(append([]string{"apt-mark"}, a.flags(p)[1:]...),
		"-o", "Dir::State::lists=/dev/null/none", "-o", "Dir::Cache::pkgcache=", "-o",
		"Dir::Cache::srcpkgcache=", "showmanual")...)
	return strings.Fields(out), err
}
