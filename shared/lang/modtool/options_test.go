package modtool_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/lang/modtool"
)

// TestEditableLines installs modules in editable form that requirements.txt names, with what they
// require, without Python, and only once.
func TestEditableLines(t *testing.T) {
	t.Setenv("VIRTUAL_ENV", "")
	s := &shelf{wheels: map[string][]byte{}}
	s.add(t, "net", "1.0", "")
	s.add(t, "net", "2.0", "")
	s.add(t, "lone", "1.0", "")
	dir := tree(
		t, "main.cf", "import greet\nimport lone\n", "requirements.txt", "-e mods/greet # ours\n",
		"project.yml", "name: p\npip: {index-url: '"+serve(t, s, "ann:"+secret+"@")+"'}\n",
		"mods/greet/setup.cfg", "[metadata]\nname = inmanta-module-greet\nversion = 1.5\n"+
			"license = none\n[options]\ninstall_requires =\n    inmanta-module-net <2\n",
		"mods/greet/model/_init.cf", "import net\n",
		"mods/greet/inmanta_plugins/greet/__init__.py", "",
	)
	tool, said := newTool(t, dir)
	for range 2 {
		if err := tool.Install(t.Context(), modtool.InstallOptions{}); err != nil {
			t.Fatal(everything(err))
		}
	}
	want := "net 1.0 from inmanta_module_net-1.0-py3-none-any.whl\n" +
		"greet is installed in editable form\n" +
		"lone 1.0 from inmanta_module_lone-1.0-py3-none-any.whl\n" +
		"3 modules are there, packages in .env\n3 modules are there, packages in .env\n"
	if said.String() != want {
		t.Errorf("it says\n%swant\n%s", said, want)
	}
	pages := map[string]int{}
	for _, path := range s.asked {
		if pages[path]++; pages[path] > 1 && strings.HasPrefix(path, "/simple/") {
			t.Errorf("the index is asked again for %s", path)
		}
	}
	all, err := tool.List()
	if err != nil || len(all) != 3 || !all[0].Editable || all[0].Installed != "1.5" ||
		all[0].Path != filepath.Join(dir, "mods/greet") || all[1].Editable {
		t.Errorf("the modules are %+v, %v", all, err)
	}
}

// TestOptionLines refuses lines of requirements.txt that would not be followed, by their places.
func TestOptionLines(t *testing.T) {
	t.Setenv("VIRTUAL_ENV", "")
	for line, want := range map[string]string{
		"-e ../nowhere":               "requirements.txt:2:1: there is no ",
		"--constraint limits.txt":     "requirements.txt:2:1: there is no limits.txt",
		"--pre":                       "requirements.txt:2:1: --pre is not read in",
		"-i https://ann:pw@h.example": "write index-url into the section pip of project.yml",
	} {
		dir := tree(t, "main.cf", "", "requirements.txt", "\n"+line+"\n")
		tool, said := newTool(t, dir)
		err := tool.Install(t.Context(), modtool.InstallOptions{})
		text := strings.ReplaceAll(everything(err), dir+"/", "")
		if err == nil || !strings.Contains(text, want) ||
			strings.Contains(text+said.String(), "pw") {
			t.Errorf("%s: %s, after %s", line, text, said)
		}
		if _, err := os.Stat(filepath.Join(dir, ".env")); err == nil {
			t.Errorf("%s: there is an environment", line)
		}
	}
}
