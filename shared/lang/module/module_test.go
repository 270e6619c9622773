package module_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/module"
)

// tree writes files: name, text, name, text.
func tree(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(files); i += 2 {
		name := filepath.Join(dir, files[i])
		if err := os.MkdirAll(filepath.Dir(name), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.ReplaceAll(files[i+1], "$DIR", dir)),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func v2(name, version, more string) string {
	return "[metadata]\nname = " + metadata.PackageOf(name) + "\nversion = " + version +
		"\nlicense = MIT\n" + more
}

func v1(name, version, more string) string {
	return "name: " + name + "\nversion: " + version + "\nlicense: MIT\n" + more
}

const site = ".env/lib/python3.12/site-packages/"

// find finds a module in a project and says what was found.
func find(t *testing.T, dir, name string) string {
	t.Helper()
	env, err := module.OpenEnvironment(filepath.Join(dir, module.EnvDir))
	if err != nil {
		t.Fatal(err)
	}
	found, err := module.NewFinder([]string{filepath.Join(dir, "libs"), filepath.Join(dir, "more")},
		env).
		Find(name)
	if err != nil {
		t.Fatal(err)
	}
	out := "nothing"
	if m := found.Module; m != nil {
		out = fmt.Sprintf("V%d %s editable=%t %s", m.Generation, m.Version(), m.Editable, m.Dir)
	}
	for _, p := range append(append(diag.Problems{}, found.Warnings...), found.Wrong...) {
		out += "\n" + p.Message
	}
	return strings.ReplaceAll(out, dir+"/", "")
}

// TestFind finds modules wherever they can be.
func TestFind(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files []string
		want  string
	}{
		"nowhere": {nil, "nothing"},
		"V1": {[]string{"libs/net/module.yml", v1("net", "1.0", ""),
			"libs/net/model/_init.cf", ""}, "V1 1.0 editable=true libs/net"},
		"bare":     {[]string{"more/net/model/_init.cf", ""}, "V1  editable=true more/net"},
		"no model": {[]string{"libs/net/module.yml", v1("net", "1.0", "")}, "nothing"},
		"deprecated": {
			[]string{"libs/net/module.yml", v1("net", "1.0", "deprecated: true"),
				"libs/net/model/_init.cf", ""},
			"V1 1.0 editable=true libs/net\nthe module net is deprecated",
		},
		"another name": {
			[]string{"libs/net/module.yml", v1("ten", "1.0", ""), "libs/net/model/_init.cf", ""},
			"V1 1.0 editable=true libs/net\nthe module is ten by its file and net by its folder",
		},
		"twice on the path": {
			[]string{"libs/net/model/_init.cf", "", "more/net/model/_init.cf", ""},
			"V1  editable=true libs/net\nthe module net is in libs/net, which is used, and in " +
				"more/net",
		},
		"V2": {
			[]string{site + "inmanta_plugins/net/setup.cfg", v2("net", "2.0", ""),
				site + "inmanta_plugins/net/__init__.py", ""},
			"V2 2.0 editable=false " + site + "inmanta_plugins/net",
		},
		"V2 unpacked without Python": {
			[]string{".env/lib/southbound/site-packages/inmanta_plugins/net/setup.cfg",
				v2("net", "2.0", "")},
			"V2 2.0 editable=false .env/lib/southbound/site-packages/inmanta_plugins/net",
		},
		"both": {
			[]string{
				site + "inmanta_plugins/net/setup.cfg", v2("net", "2.0", ""),
				"libs/net/model/_init.cf", "",
			},
			"V2 2.0 editable=false " + site +
				"inmanta_plugins/net\nthe module net is installed as a package (V2), which is " +
				"used; the one on the modulepath is not",
		},
		"editable, by a path": {
			[]string{
				site + "__editable__.net.pth", "$DIR/src/net\n", "src/net/setup.cfg",
				v2("net", "3.0", "[egg_info]\ntag_build=dev0"),
				"src/net/inmanta_plugins/net/__init__.py", "", "src/net/model/_init.cf", "",
			},
			"V2 3.0.dev0 editable=true src/net",
		},
		"editable, by a finder": {
			[]string{
				site + "__editable___net_finder.py",
				"MAPPING: dict[str, str] = {'inmanta_plugins.net': " +
					"'$DIR/src/net/inmanta_plugins/net'}\n" +
					"NAMESPACES: dict[str, list[str]] = {'other': ['x']}\n",
				"src/net/setup.cfg", v2("net", "3.0", ""),
				"src/net/inmanta_plugins/net/__init__.py", "",
			},
			"V2 3.0 editable=true src/net",
		},
		"editable, by a namespace": {
			[]string{
				site + "__editable___net_finder.py",
				"MAPPING = {}\nNAMESPACES: dict[str, list[str]] = {'inmanta_plugins': " +
					"['$DIR/src/net/inmanta_plugins']}\n",
				"src/net/setup.cfg", v2("net", "3.0", ""),
				"src/net/inmanta_plugins/net/__init__.py", "",
			},
			"V2 3.0 editable=true src/net",
		},
		"installed without its file": {
			[]string{site + "inmanta_plugins/net/__init__.py", ""},
			"nothing\nthe module net is installed without its setup.cfg",
		},
		"V2 on the modulepath": {
			[]string{"libs/net/setup.cfg", v2("net", "3.0", ""), "libs/net/model/_init.cf", ""},
			"nothing\nnet is a module V2, which is not found on the modulepath",
		},
	} {
		dir := tree(t, c.files...)
		if got := find(t, dir, "net"); got != c.want {
			t.Errorf("%s\n got %s\nwant %s", name, got, c.want)
		}
	}
	if got := find(t, tree(t), "../net"); got != "nothing" {
		t.Errorf("a way out: %s", got)
	}
}

// requirement reads a requirement of a module.
func requirement(t *testing.T, text, file string) metadata.Requirement {
	t.Helper()
	r, wrong, _ := metadata.ParseModule(text)
	if wrong != "" {
		t.Fatal(wrong)
	}
	r.At = diag.Pos{File: file, Line: 1}
	return r
}

func built(t *testing.T, generation int, name, version string, requires ...string) *module.Module {
	t.Helper()
	meta, _, err := metadata.ReadModuleV1(name, []byte(v1(name, version, "")))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range requires {
		meta.Requires = append(meta.Requires, requirement(t, r, name))
	}
	return &module.Module{Name: name, Dir: name, Generation: generation, Meta: meta}
}

// TestDemands names every step from the project to a constraint that is not met, and who else asks.
func TestDemands(t *testing.T) {
	t.Parallel()
	project := []metadata.Requirement{
		requirement(t, "a", "project.yml"),
		requirement(t, "c ~=1.0", "project.yml"),
	}
	modules := []*module.Module{
		built(t, 1, "a", "1.0", "b >=1", "d"), built(t, 2, "b", "1.5", "c >=2", "d"),
		built(t, 2, "c", "1.2"), built(t, 1, "d", "1", "a"),
	}
	d := module.NewDemands(project, modules)
	wrong, warnings := d.Check(true)
	var said []string
	for _, p := range wrong {
		said = append(said, p.String())
		for _, r := range p.Related {
			said = append(said, "  "+r.Pos.String()+": "+r.Message)
		}
		said = append(said, "  "+p.Hint)
	}
	const want = `b:1: b asks for c >=2, and 1.2 is installed
  project.yml:1: the project asks for a
  a:1: a asks for b >=1
  the project asks for c ~=1.0 (project.yml:1); change one of the two, or run ` + "`southbound project update`" + `
b:1: b, a module V2, asks for d, which is a module V1 in d
  project.yml:1: the project asks for a
  a:1: a asks for b >=1
  install inmanta-module-d, or convert it with ` + "`southbound module v1tov2`"
	if got := strings.Join(said, "\n"); got != want || warnings != nil {
		t.Errorf("got\n%s\nwant\n%s\nwarnings %v", got, want, warnings)
	}
	wrong, warnings = d.Check(false)
	if len(wrong) != 0 || len(warnings) != 2 {
		t.Errorf("not strict: %v, %v", wrong, warnings)
	}
	p := d.Conflict("c", []string{"1.0", "1.2", "1.9"})
	if p.Message != "no version of c is allowed by all who ask for it; there are 1.0, 1.2, 1.9" ||
		len(p.Related) != 4 {
		t.Errorf("%+v", p)
	}
}
