package pkg

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"southbound/handlers/internal/tool"
	"southbound/shared/provider"
)

// apt is apt-get with dpkg.
type apt struct{}

// quiet keeps apt and dpkg from asking.
func quiet() []string {
	return []string{"DEBIAN_FRONTEND=noninteractive", "DEBIAN_PRIORITY=critical", "APT_LISTCHANGES_FRONTEND=none", "NEEDRESTART_MODE=l", "UCF_FORCE_CONFFOLD=1"}
}

// flags are the arguments that make apt work in a root directory.
func (apt) flags(p place) []string {
	out := []string{"-q", "-o", "DPkg::Lock::Timeout=120", "-o", "Dpkg::Use-Pty=0", "-o", "APT::Cmd::Pattern-Only=true", "-o", "Dpkg::Options::=--force-confdef", "-o", "Dpkg::Options::=--force-confold"}
	if p.root != "" {
		out = append(out, "-o", "Dir="+p.root, "-o", "Dir::State::status="+filepath.Join(p.root, "var/lib/dpkg/status"), "-o", "Dpkg::Options::=--root="+p.root,
			"-o", "APT::Sandbox::User=root")
	}
	return out
}

func (a apt) get(ctx *provider.Context, p place, verb string, args ...string) (string, error) {
	argv := append(append([]string{"apt-get"}, a.flags(p)...), "-y", verb)
	return tool.Run(ctx, quiet(), append(argv, args...)...)
}

func (apt) admin(p place) string { return "--admindir=" + filepath.Join("/", p.root, "var/lib/dpkg") }

func (a apt) installed(ctx *provider.Context, p place) (map[string]string, error) {
	out, err := tool.Run(ctx, nil, "dpkg-query", a.admin(p), "--show", "--showformat=${Package}\t${Architecture}\t${Version}\t${db:Status-Status}\n")
	if err != nil && tool.Code(err) != 1 { // 1: there is none
		return nil, err
	}
	have := map[string]string{}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 4 || f[3] != "installed" {
			continue
		}
		have[f[0]+":"+f[1]] = f[2]
		// The name alone is that of the machine's own architecture, when there are several.
		if _, other := have[f[0]]; !other || f[1] == architecture() || f[1] == "all" {
			have[f[0]] = f[2]
		}
	}
	return have, nil
}

// architecture is Debian's name for that of this program.
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
	argv := append(append([]string{"apt-cache"}, a.flags(p)...), "policy", "--")
	out, err := tool.Run(ctx, nil, append(argv, names...)...)
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
		if version, ok := strings.CutPrefix(strings.TrimSpace(line), "Candidate: "); ok && version != "(none)" {
			found[name] = version
		}
	}
	return found, nil
}

// refreshed says how long lists of packages are new enough to believe that a package is not in them.
const refreshed = 10 * time.Minute

func (a apt) install(ctx *provider.Context, p place, items []item) error {
	args := append([]string{"--allow-downgrades", "--no-install-recommends"}, p.options...)
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
	err := a.known(ctx, p, items)
	if err == nil {
		_, err = a.get(ctx, p, "install", args...)
	}
	switch {
	case err == nil:
		return nil
	case strings.Contains(err.Error(), "dpkg was interrupted"):
		if _, err := tool.Run(ctx, quiet(), "dpkg", "--root="+filepath.Join("/", p.root), "--force-confdef", "--force-confold", "--configure", "-a"); err != nil {
			return err
		}
	case strings.Contains(err.Error(), "nable to locate package"), strings.Contains(err.Error(), "was not found"), strings.Contains(err.Error(), "has no installation candidate"),
		strings.Contains(err.Error(), "nable to fetch"), strings.Contains(err.Error(), "ailed to fetch"):
		// The lists may be old: they are fetched anew, once for all that is missing.
		_, refresh := provider.Cached(ctx, provider.Key{Name: "refresh", Args: []any{p.root}}, provider.Keep{For: refreshed}, func(ctx *provider.Context) (bool, error) {
			ctx.Info("fetch the lists of packages")
			_, err := a.get(ctx, p, "update")
			return true, err
		})
		if refresh != nil {
			ctx.Warning("the lists of packages cannot be fetched", "error", refresh)
		}
	default:
		return err
	}
	if err = a.known(ctx, p, items); err == nil {
		_, err = a.get(ctx, p, "install", args...)
	}
	return err
}

// known refuses names that end with + and are those of no package: apt would install what is named without it.
func (a apt) known(ctx *provider.Context, p place, items []item) error {
	var ask []string
	for _, i := range items {
		if strings.HasSuffix(i.name, "+") && i.source == "" {
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
		if found[name] == "" {
			return fmt.Errorf("unable to locate package %s", name)
		}
	}
	return nil
}

func (a apt) remove(ctx *provider.Context, p place, items []item) error {
	verb := "remove"
	if items[0].config {
		verb = "purge"
	}
	args := []string{"--"}
	for _, i := range items {
		args = append(args, i.name)
	}
	_, err := a.get(ctx, p, verb, args...)
	return err
}

// names: one that ends with - would be an order to remove it.
func (apt) names() string { return `\A[a-z0-9][a-z0-9+.-]*[a-z0-9+.](:[a-z0-9-]+)?\z` }

func (apt) canonical(name string) string { return name }

func (a apt) chosen(ctx *provider.Context, p place) ([]string, error) {
	out, err := tool.Run(ctx, nil, append(append([]string{"apt-mark"}, a.flags(p)[1:]...), "showmanual")...)
	return strings.Fields(out), err
}
