package locked

import (
	"context"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/internal/declared"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// shelf has one type of each package, with the version in its description.
type shelf struct {
	version string
	query   provider.PackageQuery // the last one
	missing bool                  // no package is installed
	invalid bool                  // the types are no valid declarations
}

// Add implements provider.Packages.
func (s *shelf) Add(_ context.Context, q provider.PackageQuery) (provider.Package, error) {
	s.query = q
	if s.version == "" {
		return provider.Package{}, fault.New(fault.NotFound, "find provider", "there is none")
	}
	name := q.Name
	if name == "" {
		name = path.Base(q.Address)
	}
	typ := schema.Type{Name: "tf::" + name + "::Thing", Description: "Of version " + s.version + ".",
		Transports: []string{"terraform"}, Attributes: []schema.Attribute{{Name: "label",
			Type: "String[1]", Behaviour: schema.Namevar, Description: "Its name."}}}
	if s.invalid {
		typ.Attributes[0].Type = "Sting"
	}
	other := typ
	other.Name = "tf::" + name + "::Other"
	return provider.Package{Name: name, Address: "example.org/" + q.Address, Version: s.version,
		Constraint: q.Constraint, Hashes: []string{"h1:" + name + s.version},
		Types: []schema.Type{other, typ}}, nil
}

// Verify implements provider.Packages.
func (s *shelf) Verify(_ context.Context, p provider.Package) error {
	if s.missing {
		return fault.New(fault.NotFound, "find provider", "%s is not installed", p.Address)
	}
	return nil
}

func newProject(t *testing.T) (*Project, *shelf) {
	t.Helper()
	program, err := schema.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	s := &shelf{version: "1.0.0"}
	return &Project{Dir: t.TempDir(), Program: program,
		Bridges: map[string]*provider.Bridge{"tf": {Name: "tf", Packages: s}}}, s
}

// files returns all files of the project, with their texts.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func add(t *testing.T, p *Project, address, constraint string) Added {
	t.Helper()
	out, err := p.AddPackage(t.Context(), "tf", provider.PackageQuery{Address: address, Constraint: constraint})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// meeting is a shelf whose packages are there only when two commands wait for one.
type meeting struct {
	*shelf
	both *sync.WaitGroup
}

// Add implements provider.Packages.
func (m meeting) Add(_ context.Context, q provider.PackageQuery) (provider.Package, error) {
	m.both.Done()
	m.both.Wait()
	return (&shelf{version: m.version}).Add(context.Background(), q)
}

// TestTwoAtOnce pins that two commands which change the lock file at the same time lose nothing, and
// that what a killed one has left is removed.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	p, s := newProject(t)
	left := filepath.Join(p.Dir, stagingPrefix+"1", folder)
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	var both, ended sync.WaitGroup
	both.Add(2)
	p.Bridges["tf"].Packages = meeting{s, &both}
	for _, address := range []string{"a/one", "a/two"} {
		ended.Go(func() {
			if _, err := p.AddPackage(t.Context(), "tf", provider.PackageQuery{Address: address}); err != nil {
				t.Error(err)
			}
		})
	}
	ended.Wait()
	all, err := p.List()
	if err != nil || len(all) != 2 {
		t.Errorf("the lock file has %v, %v", all, err)
	}
	if _, err := os.Stat(filepath.Dir(left)); !os.IsNotExist(err) {
		t.Errorf("a folder is left: %v", err)
	}
}

// TestAddAndRemove pins that the lock file and its declarations are what this program reads, that an
// equal package changes nothing, and that no file is left over.
func TestAddAndRemove(t *testing.T) {
	t.Parallel()
	p, s := newProject(t)
	if list, err := p.List(); len(list) > 0 || err != nil {
		t.Errorf("without a lock file: %v, %v", list, err)
	}
	if got := add(t, p, "b/two", "~> 1.0"); !got.Changed || got.Former != "" {
		t.Errorf("%+v", got)
	}
	add(t, p, "a/one", "")
	first := files(t, p.Dir)
	if names := slices.Collect(maps.Keys(first)); len(names) != 3 {
		t.Errorf("files: %v", names)
	}
	if got := add(t, p, "b/two", "~> 1.0"); got.Changed || got.Former != "1.0.0" {
		t.Errorf("the same again: %+v", got)
	}
	if d := cmp.Diff([]string{"h1:two1.0.0"}, s.query.Hashes); d != "" || s.query.Locked != "1.0.0" {
		t.Errorf("the locked version is %q: %s", s.query.Locked, d)
	}
	if d := cmp.Diff(first, files(t, p.Dir)); d != "" {
		t.Error(d)
	}
	s.version = "1.1.0"
	if got := add(t, p, "b/two", "~> 1.0"); !got.Changed || got.Former != "1.0.0" {
		t.Errorf("another version: %+v", got)
	}
	list, err := p.List()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range list {
		got = append(got, strings.Join([]string{e.Name, e.Bridge, e.Address, e.Version, e.Constraint}, " "))
		if n := len(e.Declaration.Types()); n != 2 {
			t.Errorf("%s has %d types", e.Name, n)
		}
	}
	if d := cmp.Diff([]string{"one tf example.org/a/one 1.0.0 ", "two tf example.org/b/two 1.1.0 ~> 1.0"},
		got); d != "" {
		t.Error(d)
	}
	if n := len(files(t, p.Dir)); n != 3 {
		t.Errorf("%d files after the update", n)
	}
	for _, name := range []string{"one", "two"} {
		if _, err := p.Remove(t.Context(), name); err != nil {
			t.Error(err)
		}
	}
	if left, err := os.ReadDir(p.Dir); len(left) > 0 || err != nil {
		t.Errorf("left: %v, %v", left, err)
	}
}

// TestRefused pins that a change which is refused leaves every file as it was.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		do   func(p *Project, s *shelf) error
		kind fault.Kind
		says string
	}{
		"no such package": {func(p *Project, s *shelf) error {
			s.version = ""
			_, err := p.AddPackage(t.Context(), "tf", provider.PackageQuery{Address: "a/one"})
			return err
		}, fault.NotFound, "there is none"},
		"another package of the name": {func(p *Project, s *shelf) error {
			_, err := p.AddPackage(t.Context(), "tf", provider.PackageQuery{Address: "c/one"})
			return err
		}, fault.Conflict, "has another provider one: example.org/a/one"},
		"no such bridge": {func(p *Project, s *shelf) error {
			_, err := p.AddPackage(t.Context(), "pp", provider.PackageQuery{Address: "a/two"})
			return err
		}, fault.Unsupported, "no bridge pp"},
		"invalid declarations": {func(p *Project, s *shelf) error {
			s.invalid = true
			_, err := p.AddPackage(t.Context(), "tf", provider.PackageQuery{Address: "a/two"})
			return err
		}, "", "Sting"},
		"not in the lock file": {func(p *Project, s *shelf) error {
			_, err := p.Remove(t.Context(), "ona")
			return err
		}, fault.NotFound, "no provider \"ona\""},
	} {
		p, s := newProject(t)
		add(t, p, "a/one", "")
		before := files(t, p.Dir)
		err := x.do(p, s)
		if err == nil || !strings.Contains(err.Error(), x.says) || x.kind != "" && !fault.Is(err, x.kind) {
			t.Errorf("%s: %v", name, err)
		}
		if d := cmp.Diff(before, files(t, p.Dir)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if problems, _ := diag.Of(err); name == "invalid declarations" &&
			(len(problems) == 0 || strings.Contains(problems[0].File, ".southbound-lock-")) {
			t.Errorf("%s: the place is in a temporary folder: %v", name, problems)
		}
	}
}

// TestRepair pins that a damaged or lost file of declarations is written again by an add, and that
// damage to another provider is reported.
func TestRepair(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(path string) error{
		"lost":    os.Remove,
		"changed": func(path string) error { return os.WriteFile(path, []byte("other"), 0o600) },
	} {
		p, _ := newProject(t)
		add(t, p, "a/one", "")
		want := files(t, p.Dir)
		list, err := p.List()
		if err != nil {
			t.Fatal(err)
		}
		if err := damage(filepath.Join(p.Dir, filepath.FromSlash(list[0].File))); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Verify(t.Context()); err == nil {
			t.Errorf("%s: verified", name)
		}
		if _, err := p.AddPackage(t.Context(), "tf", provider.PackageQuery{Address: "a/two"}); err == nil {
			t.Errorf("%s: another provider was added", name)
		}
		if got := add(t, p, "a/one", ""); !got.Changed {
			t.Errorf("%s: nothing has changed", name)
		}
		if d := cmp.Diff(want, files(t, p.Dir)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestVerify(t *testing.T) {
	t.Parallel()
	p, s := newProject(t)
	add(t, p, "a/one", "")
	got, err := p.Verify(t.Context())
	if err != nil || len(got) != 1 || got[0].Err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	s.missing = true
	got, err = p.Verify(t.Context())
	if err != nil || len(got) != 1 || !fault.Is(got[0].Err, fault.NotFound) {
		t.Errorf("not installed: %+v, %v", got, err)
	}
}

// TestInstall pins that the locked version is installed, by its hashes, and that nothing is written.
func TestInstall(t *testing.T) {
	t.Parallel()
	p, s := newProject(t)
	add(t, p, "a/one", "~> 1.0")
	add(t, p, "a/two", "")
	before := files(t, p.Dir)
	s.version = "1.1.0"
	done, err := p.Install(t.Context(), "/mirror", "one")
	if err != nil || len(done) != 1 || done[0].Name != "one" {
		t.Errorf("%+v, %v", done, err)
	}
	want := provider.PackageQuery{Address: "example.org/a/one", Name: "one", Constraint: "= 1.0.0",
		From: "/mirror", Locked: "1.0.0", Hashes: []string{"h1:one1.0.0"}}
	if d := cmp.Diff(want, s.query); d != "" {
		t.Error(d)
	}
	if done, err = p.Install(t.Context(), ""); err != nil || len(done) != 2 {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := p.Install(t.Context(), "", "three"); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such provider: %v", err)
	}
	s.version = ""
	if _, err := p.Install(t.Context(), ""); !fault.Is(err, fault.NotFound) {
		t.Errorf("no such version: %v", err)
	}
	if d := cmp.Diff(before, files(t, p.Dir)); d != "" {
		t.Error(d)
	}
}

// TestFormat pins that every text survives, and that files outside of the directory are never read.
func TestFormat(t *testing.T) {
	t.Parallel()
	odd := declared.Provider{Name: `a"b: {`, Bridge: "tf", Address: "#x", Version: "1", Hashes: []string{"h1:<&>="},
		File: folder + "/a", Digest: "sha256:x"}
	text, err := format([]declared.Provider{odd})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := create(filepath.Join(dir, declared.LockFile), text); err != nil {
		t.Fatal(err)
	}
	lock, err := declared.ReadEntries(dir)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]declared.Provider{odd}, lock.Providers); d != "" {
		t.Error(d)
	}
	odd.File = "../secret"
	if text, err = format([]declared.Provider{odd}); err != nil {
		t.Fatal(err)
	}
	if err := create(filepath.Join(dir, declared.LockFile), text); err != nil {
		t.Fatal(err)
	}
	p := &Project{Dir: dir}
	if _, err := p.Remove(t.Context(), odd.Name); err == nil || !strings.Contains(err.Error(), "outside") {
		t.Errorf("a file outside: %v", err)
	}
}
