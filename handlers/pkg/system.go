package pkg

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"southbound/handlers/internal/tool"
	"southbound/shared/provider"
)

// dnf is dnf with rpm. Versions are those of rpm: epoch (if there is one), version and release.
type dnf struct{}

func (dnf) rpm(p place) []string {
	if p.root != "" {
		return []string{"rpm", "--root", p.root}
	}
	return []string{"rpm"}
}

func (m dnf) installed(ctx *provider.Context, p place) (map[string]string, error) {
	if p.root != "" && !exists(p.root) {
		return nil, nil // dnf creates it
	}
	if err := m.safe(p); err != nil {
		return nil, err
	}
	out, err := tool.Run(ctx, nil,
		append(m.rpm(p), "-qa", "--qf",
			`%{NAME}\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n%{NAME}.%{ARCH}\t%|EPOCH?{%{EPOCH}:}:{}|%{VERSION}-%{RELEASE}\n`)...)
	if err != nil {
		return nil, err
	}
	return tabbed(out), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// tabbed parses lines with a name, a tab and a version; an epoch of 0 is omitted.
func tabbed(out string) map[string]string {
	have := map[string]string{}
	for line := range strings.Lines(out) {
		if name, version, ok := strings.Cut(strings.TrimSpace(line), "\t"); ok {
			have[name] = strings.TrimPrefix(version, "0:")
		}
	}
	return have
}

// safe rejects a root in which code of another user would run.
func (dnf) safe(p place) error {
	return p.system("etc/dnf", "etc/dnf/*", "etc/dnf/*/*", "etc/yum", "etc/yum.conf",
		"etc/yum.repos.d", "etc/yum.repos.d/*", "etc/rpm", "etc/rpm/*", "var/lib/dnf", "var/lib/rpm",
		"usr/lib/rpm", "usr/lib/sysimage", "usr/lib/sysimage/*", "usr/share", "usr/share/dnf*",
		"var/cache/dnf", "var/cache/libdnf*")
}

func (m dnf) run(ctx *provider.Context, p place, args ...string) (string, error) {
	if err := m.safe(p); err != nil {
		return "", err
	}
	argv := []string{"dnf", "-q", "-y"}
	if p.root != "" {
		argv = append(argv, "--installroot="+p.root)
	}
	return tool.Run(ctx, tool.Settings("DNF"), append(argv, args...)...)
}

func (m dnf) candidates(ctx *provider.Context, p place, names []string) (map[string]string, error) {
	out, err := m.run(ctx, p,
		append([]string{"repoquery", "--latest-limit=1", "--qf", "%{name}\t%{evr}\n"}, names...)...)
	return tabbed(out), err
}

func (m dnf) install(ctx *provider.Context, p place, items []item) error {
	var ask []string
	for _, i := range items {
		if i.version == latest {
			ask = append(ask, i.name)
		}
	}
	newest := map[string]string{}
	if len(ask) > 0 { // without a version, it keeps the installed one
		var err error
		if newest, err = m.candidates(ctx, p, ask); err != nil {
			return err
		}
	}
	args := append([]string{"install"}, p.options...)
	for _, i := range items {
		version := i.version
		if version == latest {
			version = newest[i.name]
		}
		switch {
		case i.source != "":
			args = append(args, i.source)
		case version != "":
			args = append(args, i.name+"-"+version)
		default:
			args = append(args, i.name)
		}
	}
	_, err := m.run(ctx, p, args...)
	if err == nil || !strings.Contains(err.Error(), "nable to find a match") &&
		!strings.Contains(err.Error(), "No match for argument") {
		return err
	}
	// Its metadata of repositories may be old: fetch it again, once for all missing packages.
	_, refresh := provider.Cached(ctx, provider.Key{Name: "refresh", Args: []any{p.root}},
		provider.Keep{For: refreshed}, func(ctx *provider.Context) (bool, error) {
			ctx.Info("fetch the lists of packages")
			_, err := m.run(ctx, p, "makecache", "--refresh")
			return true, err
		})
	if refresh != nil {
		ctx.Warning("the lists of packages cannot be fetched", "error", refresh)
	}
	_, err = m.run(ctx, p, args...)
	return err
}

// remove removes packages, unless other packages need them: dnf would remove those, too.
func (m dnf) remove(ctx *provider.Context, p place, items []item) error {
	args := []string{"remove", "--setopt=clean_requirements_on_remove=False"}
	test := append(m.rpm(p), "-e", "--test")
	for _, i := range items {
		args, test = append(args, i.name), append(test, i.name)
	}
	if _, err := tool.Run(ctx, nil, test...); err != nil {
		if strings.Contains(err.Error(), "is needed by") {
			return provider.Errorf(provider.NeedsChange,
				"other packages require it and would be removed with it; purge those as well, or "+
					"keep them all: %w", err)
		}
		return err
	}
	_, err := m.run(ctx, p, args...)
	return err
}

// satisfies: the requested version may omit epoch and release.
func (dnf) satisfies(version, asked string) bool {
	if !strings.Contains(asked, ":") {
		_, after, is := strings.Cut(version, ":")
		if is {
			version = after
		}
	}
	if !strings.Contains(asked, "-") {
		version, _, _ = strings.Cut(version, "-")
	}
	return version == strings.TrimPrefix(asked, "0:")
}

func (dnf) names() string { return `\A[A-Za-z0-9_][A-Za-z0-9+._-]*\z` }

func (dnf) canonical(name string) string { return name }

func (m dnf) chosen(ctx *provider.Context, p place) ([]string, error) {
	out, err := m.run(ctx, p, "repoquery", "--userinstalled", "--qf", "%{name}\n")
	return strings.Fields(out), err
}

// apk is Alpine's. Its database of installed packages is text.
type apk struct{}

// safe rejects a root in which code of another user would run.
func (apk) safe(p place) error {
	return p.system("etc/apk", "etc/apk/*", "etc/apk/*/*", "lib/apk", "lib/apk/*", "lib/apk/*/*",
		"usr/lib/apk", "usr/lib/apk/*", "var/cache/apk")
}

func (m apk) installed(_ *provider.Context, p place) (map[string]string, error) {
	if err := m.safe(p); err != nil {
		return nil, err
	}
	raw, err := os.ReadFile(filepath.Join("/", p.root, "lib/apk/db/installed"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		// no packages are installed in a root that does not exist yet
		return nil, err
	}
	return apkDatabase(string(raw)), nil
}

// apkDatabase parses packages: lines that begin with a letter, and an empty line after each
// package.
func apkDatabase(text string) map[string]string {
	have := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		switch letter, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":"); letter {
		case "P":
			name = value
		case "V":
			have[name] = value
		case "":
			name = ""
		}
	}
	delete(have, "")
	return have
}

func (m apk) run(ctx *provider.Context, p place, args ...string) (string, error) {
	if err := m.safe(p); err != nil {
		return "", err
	}
	argv := []string{"apk", "--no-progress", "--wait", "120"}
	if p.root != "" {
		argv = append(argv, "--root", p.root)
	}
	return tool.Run(ctx, tool.Settings("APK_"), append(argv, args...)...)
}

// candidates parses "name policy:", then versions, the newest first, each with its origin.
func (m apk) candidates(ctx *provider.Context, p place, names []string) (map[string]string, error) {
	out, err := m.run(ctx, p, append([]string{"policy"}, names...)...)
	return apkPolicy(out), err
}

func apkPolicy(out string) map[string]string {
	found := map[string]string{}
	name := ""
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\n")
		if n, ok := strings.CutSuffix(line, " policy:"); ok {
			name = n
			continue
		}
		if version, ok := strings.CutSuffix(strings.TrimSpace(line), ":"); ok &&
			found[name] == "" && name != "" {
			found[name] = version
		}
	}
	return found
}

func (m apk) install(ctx *provider.Context, p place, items []item) error {
	args := append([]string{"add"}, p.options...)
	for _, i := range items {
		switch {
		case i.source != "":
			args = append(args, i.source)
		case i.version == latest:
			args = append(args, "--upgrade", i.name)
		case i.version != "":
			args = append(args, i.name+"="+i.version)
		default:
			args = append(args, i.name)
		}
	}
	_, err := m.run(ctx, p, args...)
	return err
}

func (m apk) remove(ctx *provider.Context, p place, items []item) error {
	args := []string{"del"}
	for _, i := range items {
		args = append(args, i.name)
	}
	_, err := m.run(ctx, p, args...)
	return err
}

func (apk) names() string { return `\A[A-Za-z0-9_][A-Za-z0-9+._-]*\z` }

func (apk) canonical(name string) string { return name }

func (apk) satisfies(version, asked string) bool { return version == asked }

// chosen reads the world: the requested names, with constraints of their versions.
func (apk) chosen(_ *provider.Context, p place) ([]string, error) {
	raw, err := os.ReadFile(filepath.Join("/", p.root, "etc/apk/world"))
	var out []string
	for word := range strings.FieldsSeq(string(raw)) {
		if i := strings.IndexAny(word, "=<>~@"); i > 0 {
			word = word[:i]
		}
		out = append(out, word)
	}
	return out, err
}
