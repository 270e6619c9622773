// Package pkg manages software packages of the machine, of a Python environment, or of a Node.js
// prefix.
package pkg

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// latest is the version that means the newest available one.
const latest = "latest"

// manager is a package manager.
type manager interface {
	// installed returns the versions of installed packages, by name. A package of which only the
	// configuration remains has none.
	installed(ctx *provider.Context, p place) (map[string]string, error)
	// candidates returns the newest available versions; unknown packages are omitted.
	candidates(ctx *provider.Context, p place, names []string) (map[string]string, error)
	install(ctx *provider.Context, p place, items []item) error
	remove(ctx *provider.Context, p place, items []item) error
	// names is the pattern of valid names. The package manager would interpret others differently,
	// as a pattern, a path, an address, or an order to remove the package.
	names() string
	// canonical returns a name in the form of installed.
	canonical(name string) string
	// satisfies reports whether a version is the requested one, in any form of writing it.
	satisfies(version, asked string) bool
	// chosen returns the installed packages that were requested, and not installed as dependencies.
	chosen(ctx *provider.Context, p place) ([]string, error)
}

// place is where packages are installed, with additional arguments.
type place struct {
	root    string // "" is the machine's own
	options []string
}

func (p place) key() string { return p.root + "\x00" + strings.Join(p.options, "\x00") }

// item is one package to install or remove.
type item struct {
	name    string
	version string // "": any; latest
	source  string // a file or an address to install from
	config  bool   // remove its configuration, too
}

// Package declares pkg::Package.
func Package() provider.Definition {
	const name = `Pattern[/\A[A-Za-z0-9@][A-Za-z0-9@+._:,\/\[\]-]*\z/]`
	t := schema.Type{
		Name: "pkg::Package",
		Description: "A software package. The package manager installs its dependencies with it. A purge " +
			"removes only the package, and is refused while another package needs it. An installation " +
			"removes no other package. The handler waits for a busy package manager, and finishes " +
			"interrupted work first.",
		Attributes: []schema.Attribute{
			{Name: "name", Type: name, Behaviour: schema.Namevar,
				Description: "its name; for apt optionally with :architecture"},
			{Name: "package", Type: `Optional[` + name + `]`, Behaviour: schema.Parameter,
				Description: "its name for the package manager, if it differs from name"},
			{Name: "version", Type: `Optional[Pattern[/\A[A-Za-z0-9][A-Za-z0-9.+:~^_!-]*\z/]]`,
				Description: "the exact version, also if it is a downgrade (for dnf with or without epoch and " +
					"release); latest: the newest that the package manager knows; absent: any"},
			{Name: "root", Type: `Optional[Pattern[/\A\/.*[^\/]\z/]]`, Behaviour: schema.Parameter,
				Description: "the place of the installation, if not the whole machine: a root directory for " +
					"apt, dnf and apk, a virtual environment for pip, a prefix for npm. If another " +
					"user owns it, pip and npm run as that user with that user's settings; apt, dnf " +
					"and apk refuse it"},
			{Name: "source", Type: "Optional[String[1]]", Behaviour: schema.Parameter,
				Description: "a file or URL of the package, such as /srv/app_1.2_amd64.deb"},
			{Name: "options", Type: "Array[String[1]]", Default: []any{},
				Behaviour:   schema.Parameter,
				Description: "additional arguments of an installation"},
			{Name: "configuration", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
				Description: "whether a purge also removes its configuration (apt)"},
		},
		Features: []string{"batch", "discover"},
		Timeout:  15 * time.Minute,
		Machine:  true,
		Validate: validate,
		Thing:    thingOf,
		Keeps:    schema.KeepsTrees("root"),
	}
	return provider.Define(t,
		provider.Provider{Name: "apt", Description: "Debian and its derivatives", Preference: 50,
			Handler: handler{apt{}},
			Needs:   provider.Needs{Commands: []string{"apt-get", "dpkg-query"}}},
		provider.Provider{Name: "dnf", Description: "Fedora, RHEL and their derivatives",
			Preference: 40, Handler: handler{dnf{}},
			Needs: provider.Needs{Commands: []string{"dnf", "rpm"}}},
		provider.Provider{Name: "apk", Description: "Alpine", Preference: 30,
			Handler: handler{apk{}}, Needs: provider.Needs{Commands: []string{"apk"}}},
		provider.Provider{Name: "pip", Description: "Python; only by name", Handler: handler{pip{}},
			Needs: provider.Needs{Check: named("pip")}},
		provider.Provider{Name: "npm", Description: "Node.js, global or in a prefix; only by name",
			Handler: handler{npm{}}, Needs: provider.Needs{Commands: []string{"npm"},
				Check: named("npm")}})
}

// thingOf names a package by its manager, its place, and its name in the manager's form. A machine
// has one manager of its own; pip and npm are only used by name.
func thingOf(attrs map[string]any) schema.Thing {
	name, known := attrs["name"].(string)
	if attrs["package"] != nil {
		name, known = attrs["package"].(string)
	}
	root, isText := attrs["root"].(string)
	if !known || name == "" || attrs["root"] != nil && !isText {
		return schema.Thing{}
	}
	kind := "package"
	switch attrs[provider.ProviderAttribute] {
	case "pip":
		kind, name = "package of pip", pip{}.canonical(name)
	case "npm":
		kind = "package of npm"
	case "apt":
		name = strings.ToLower(name)
	}
	if out := fmt.Sprintf("the %s %s", kind, name); root == "" {
		return schema.NewThing(out)
	} else {
		return schema.NewThing(out + " in " + schema.CleanPath(root))
	}
}

// named makes a provider suit only resources that name it: a package of the same name in another
// package manager is another package.
func named(name string) func(ctx *provider.Context) string {
	return func(ctx *provider.Context) string {
		if ctx.Desired().Attributes[provider.ProviderAttribute] != name {
			return "it serves resources that name it"
		}
		return ""
	}
}

func validate(attrs map[string]any) []diag.Problem {
	var out []diag.Problem
	if attrs["source"] != nil && attrs["version"] == latest {
		out = append(out,
			diag.Problem{Attribute: "version",
				Message: "a source has one version, so it has no latest one",
				Hint:    "remove the version, or write one that the source has"})
	}
	if source, _ := attrs["source"].(string); strings.HasPrefix(source, "-") ||
		source != "" && !strings.Contains(source, "://") && !filepath.IsAbs(source) {
		out = append(out,
			diag.Problem{Attribute: "source",
				Message: fmt.Sprintf("%q is neither an absolute path nor an address", source),
				Hint:    "write /srv/x.deb or https://..."})
	}
	return out
}

// handler manages the packages of one package manager.
type handler struct{ manager manager }

func text(r provider.Resource, attribute string) string {
	s, _ := r.Attributes[attribute].(string)
	return s
}

func placeOf(r provider.Resource) place {
	p := place{root: text(r, "root")}
	list, _ := r.Attributes["options"].([]any)
	for _, o := range list {
		if s, ok := o.(string); ok {
			p.options = append(p.options, s)
		}
	}
	return p
}

func itemOf(r provider.Resource) item {
	i := item{name: text(r, "package"), version: text(r, "version"), source: text(r, "source"),
		config: r.Attributes["configuration"] == true}
	if i.name == "" {
		i.name = text(r, "name")
	}
	return i
}

// Read implements provider.Handler.
func (h handler) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	return provider.ReadOne(ctx, h, req)
}

// ReadBatch implements provider.BatchReader: it queries the package manager once for each place.
func (h handler) ReadBatch(_ context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	for _, group := range groups(len(items),
		func(i int) string { return placeOf(items[i].Resource).key() }) {
		first := items[group[0]]
		p := placeOf(first.Resource)
		have, err := h.manager.installed(first.Context, p)
		newest := map[string]string{}
		if err == nil {
			if ask := h.wantLatest(items, group, have); len(ask) > 0 {
				newest, err = h.manager.candidates(first.Context, p, ask)
			}
		}
		for _, i := range group {
			if err != nil {
				out[i].Err = provider.Errorf(provider.ClassOf(err), "ask the package manager: %w", err)
				continue
			}
			out[i].Observation = h.observe(itemOf(items[i].Resource), items[i].Resource.Purged,
				have, newest)
		}
	}
	return out
}

func (h handler) wantLatest(
	items []provider.BatchRead, group []int, have map[string]string,
) []string {
	var ask []string
	for _, i := range group {
		want := itemOf(items[i].Resource)
		if want.version == latest && have[h.manager.canonical(want.name)] != "" &&
			!items[i].Resource.Purged {
			ask = append(ask, want.name)
		}
	}
	return ask
}

// observe describes a package. The newest version is reported as latest if latest is desired.
func (h handler) observe(
	want item, purged bool, have, newest map[string]string,
) provider.Observation {
	name := h.manager.canonical(want.name)
	version, there := have[name]
	if !there || version == "" && !(purged && want.config) {
		return provider.Observation{}
	}
	if version == "" {
		return provider.Observation{Exists: true} // its configuration remains, and must be removed
	}
	if best := newest[name]; want.version == latest && (best == "" || best == version) ||
		want.version != "" && want.version != latest && h.manager.satisfies(version, want.version) {
		version = want.version // if no newer version is known, the installed one is the newest
	}
	return provider.Observation{Exists: true, Attributes: map[string]any{"version": version}}
}

// groups returns the indices of equal keys, in order of first use.
func groups(n int, key func(i int) string) [][]int {
	var keys []string
	var out [][]int
	for i := range n {
		k := slices.Index(keys, key(i))
		if k < 0 {
			k = len(keys)
			keys, out = append(keys, key(i)), append(out, nil)
		}
		out[k] = append(out[k], i)
	}
	return out
}

// Create implements provider.Handler.
func (h handler) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	return provider.Result{}, h.install(ctx, req.Resource)
}

// Update implements provider.Handler.
func (h handler) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	return provider.Result{}, h.install(ctx, req.Resource)
}

func (h handler) install(ctx *provider.Context, rs ...provider.Resource) error {
	items := make([]item, len(rs))
	for i, r := range rs {
		items[i] = itemOf(r)
		if ok, err := regexp.MatchString(h.manager.names(), items[i].name); err != nil || !ok {
			return provider.Errorf(provider.NeedsChange,
				"%q is not a name of a package for this package manager", items[i].name)
		}
	}
	p := placeOf(rs[0])
	err := h.manager.install(ctx, p, items)
	if err == nil {
		return h.arrived(ctx, p, items)
	}
	err = provider.Errorf(provider.ClassOf(err), "install %s: %w", names(items), err)
	return h.despite(ctx, err, !asksLatest(items), func() error { return h.arrived(ctx, p, items) })
}

func asksLatest(items []item) bool {
	return slices.ContainsFunc(items, func(i item) bool { return i.version == latest })
}

// despite returns nil instead of the package manager's error if all items have their desired state.
// Another package, which cannot be set up, may make each of its runs fail.
func (h handler) despite(ctx *provider.Context, err error, visible bool, done func() error) error {
	if ctx.Err() != nil || !visible || done() != nil {
		return err
	}
	ctx.Warning("the package manager completed the request and failed for another package",
		"error", err)
	return nil
}

// arrived compares the installed packages with the requested ones. A package manager may have
// interpreted a name as one that another package provides, or a version as a pattern. Without this
// check, each run would repeat the request without effect.
func (h handler) arrived(ctx *provider.Context, p place, items []item) error {
	have, err := h.manager.installed(ctx, p)
	if err != nil {
		return provider.Errorf(provider.ClassOf(err), "ask the package manager: %w", err)
	}
	for _, i := range items {
		switch version := have[h.manager.canonical(i.name)]; {
		case version == "":
			return provider.Errorf(provider.NeedsChange,
				"the package manager has done its work, and there is still no package %s: it "+
					"resolved that to another name; name the package itself", i.name)
		case i.version != "" && i.version != latest && !h.manager.satisfies(version, i.version):
			return provider.Errorf(provider.NeedsChange,
				"version %s of %s was installed where %s is wanted: write the version as the "+
					"package manager does", version, i.name, i.version)
		}
	}
	return nil
}

// Delete implements provider.Handler.
func (h handler) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	return provider.Result{}, h.remove(ctx, req.Resource)
}

func (h handler) remove(ctx *provider.Context, rs ...provider.Resource) error {
	have, err := h.manager.installed(ctx, placeOf(rs[0]))
	if err != nil {
		return provider.Errorf(provider.ClassOf(err), "ask the package manager: %w", err)
	}
	var items []item
	for _, r := range rs {
		i := itemOf(r)
		if version, there := have[h.manager.canonical(i.name)]; there &&
			(version != "" || i.config) {
			items = append(items, i)
		}
	}
	if len(items) == 0 {
		return nil
	}
	err = h.manager.remove(ctx, placeOf(rs[0]), items)
	if err == nil {
		return nil
	}
	err = provider.Errorf(provider.ClassOf(err), "remove %s: %w", names(items), err)
	return h.despite(ctx, err, true, func() error { return h.left(ctx, placeOf(rs[0]), items) })
}

// left returns an error if a removed package is still installed.
func (h handler) left(ctx *provider.Context, p place, items []item) error {
	have, err := h.manager.installed(ctx, p)
	if err != nil {
		return err
	}
	for _, i := range items {
		if version, there := have[h.manager.canonical(i.name)]; there &&
			(version != "" || i.config) {
			return fmt.Errorf("%s is still there", i.name)
		}
	}
	return nil
}

func names(items []item) string {
	var out []string
	for i, it := range items {
		if i == 5 {
			out = append(out, fmt.Sprintf("and %d more", len(items)-i))
			break
		}
		out = append(out, it.name)
	}
	return strings.Join(out, ", ")
}

// ApplyBatch implements provider.BatchApplier: all packages of one place are installed in one call.
// If that fails, each is installed separately, so that an unavailable package does not block the
// others.
func (h handler) ApplyBatch(ctx context.Context, items []provider.BatchChange) []provider.Applied {
	out := make([]provider.Applied, len(items))
	key := func(i int) string {
		return fmt.Sprintf("%t %t %s", items[i].Change == diff.Purged,
			items[i].Resource.Attributes["configuration"] == true, placeOf(items[i].Resource).key())
	}
	for _, group := range groups(len(items), key) {
		rs := make([]provider.Resource, len(group))
		for k, i := range group {
			rs[k] = items[i].Resource
		}
		do := h.install
		if items[group[0]].Change == diff.Purged {
			do = h.remove
		}
		err := do(items[group[0]].Context.With(ctx), rs...)
		if err == nil {
			continue
		}
		for k, i := range group {
			if len(group) == 1 || errors.Is(err, context.Canceled) ||
				errors.Is(err, context.DeadlineExceeded) {
				out[i].Err = err
				continue
			}
			out[i].Err = do(items[i].Context.With(ctx), rs[k])
		}
	}
	return out
}

// List implements provider.Lister: the requested packages, without their dependencies.
func (h handler) List(ctx *provider.Context, found func(provider.Found) error) error {
	have, err := h.manager.installed(ctx, place{})
	if err != nil {
		return provider.Errorf(provider.ClassOf(err), "ask the package manager: %w", err)
	}
	chosen, err := h.manager.chosen(ctx, place{})
	if err != nil {
		return provider.Errorf(provider.ClassOf(err), "ask the package manager: %w", err)
	}
	for _, name := range chosen {
		version := have[h.manager.canonical(name)]
		if version == "" {
			continue
		}
		if err := found(provider.Found{Attributes: map[string]any{"name": name,
			"version": version}}); err != nil {
			return err
		}
	}
	return nil
}
