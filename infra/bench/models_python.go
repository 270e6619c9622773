package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"southbound/localstack/server"
)

//go:embed export.py
var exportScript string

// pythonModels measures models whose modules have Python code. It uses published modules and their
// library, which are installed once.
type pythonModels struct {
	*models
	env string // the virtual environment
}

// pythonRows measures the cost of Python code in modules.
func (m *models) pythonRows() error {
	env, err := server.InstallModules(context.Background())
	if err != nil {
		return err
	}
	p := &pythonModels{models: m, env: env}
	fmt.Printf("\n%-52s %8s %10s %7s %6s\n", "modules with Python code, CPU seconds", "here",
		"beside",
		"ratio", "goal")
	for _, row := range []func() error{p.calls, p.start, p.resources, p.idle} {
		if err := row(); err != nil {
			return err
		}
	}
	return nil
}

// pythonProject writes a model with a module that has plugins, resources and handlers that make no
// changes.
func (p *pythonModels) pythonProject(text string) (string, error) {
	dir := p.project(text, "")
	for name, text := range map[string]string{
		"project.yml":                   "name: bench\nmodulepath: [libs]\ndownloadpath: libs\n",
		"libs/page/module.yml":          "name: page\nversion: 1.0\nlicense: none\n",
		"libs/page/model/_init.cf":      pageModel,
		"libs/page/plugins/__init__.py": pageCode,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return "", err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	return dir, os.Symlink(p.env, filepath.Join(dir, ".env"))
}

// compiled measures a compile.
func (p *pythonModels) compiled(text string) (float64, error) {
	dir, err := p.pythonProject(text)
	if err != nil {
		return 0, err
	}
	s, err := p.here(dir)
	return s.cpu.Seconds(), err
}

// beyond measures a compile of text, and its cost beyond that of a compile of base.
func (p *pythonModels) beyond(text, base string) (whole, work float64, err error) {
	whole, err = p.compiled(text)
	if err != nil {
		return 0, 0, err
	}
	least, err := p.compiled(base)
	return whole, whole - least, err
}

// calls measures calls of a plugin.
func (p *pythonModels) calls() error {
	const one = "import page\nfor i in std::sequence(%d):\n    x = page::add(i, 1)\nend\n"
	_, work, err := p.beyond(fmt.Sprintf(one, 10_000), fmt.Sprintf(one, 1))
	fmt.Printf("%-52s %8.3f %10s %7s %6.1f\n", "10,000 calls of a plugin, without start", work, "",
		"", 1.0)
	return err
}

// start measures a model that only imports published modules, and compares it with Python that
// imports their code.
func (p *pythonModels) start() error {
	const imports = "import net\nimport ip\nimport fs\n"
	cpu, err := p.compiled(imports)
	if err != nil {
		return err
	}
	const code = "import inmanta_plugins.std, inmanta_plugins.net, inmanta_plugins.ip, " +
		"inmanta_plugins.fs, inmanta_plugins.fs.resources"
	beside, err := p.alone("-c", code)
	const goal = 1.2
	fmt.Printf("%-52s %8.3f %10.3f %7.3f %6.1f\n", "a model that imports std, net, ip, fs, whole",
		cpu,
		beside, cpu/beside, goal)
	return err
}

// resources measures resources of a published module, and compares them with the reference.
func (p *pythonModels) resources() error {
	const one = "import fs\nimport mitogen\n" +
		"host = std::Host(name=\"a\", os=std::linux, via=mitogen::Local())\n" +
		"for i in std::sequence(%d):\n    fs::File(host=host, path=\"/srv/{{ i }}\", mode=644, " +
		"owner=\"root\", group=\"root\", content=\"{{ i }}\", purged=false)\nend\n"
	whole, work, err := p.beyond(fmt.Sprintf(one, 1000), fmt.Sprintf(one, 1))
	if err != nil {
		return err
	}
	many, err := p.reference(fmt.Sprintf(one, 1000))
	if err != nil {
		return err
	}
	least, err := p.reference(fmt.Sprintf(one, 1))
	beside := many.Work - least.Work
	const goal = 1.0
	fmt.Printf("%-52s %8.3f %10.3f %7.3f %6.3f\n%-52s %8.3f %10.3f %7.3f\n",
		"1,000 fs::File compiled, whole", whole, many.Whole, whole/many.Whole, goal,
		"the same, without the time of one", work, beside, work/beside)
	return err
}

// idle measures handlers that find no changes to make.
func (p *pythonModels) idle() error {
	dir, err := p.pythonProject("import page\nfor i in std::sequence(1000):\n" +
		"    page::Page(name=\"p{{ i }}\")\nend\n")
	if err != nil {
		return err
	}
	data := filepath.Join(dir, "data")
	if _, err := p.measured("apply", dir, "--data", data); err != nil {
		return err
	}
	s, err := p.measured("repair", "--data", data)
	fmt.Printf("%-52s %8.3f %10s %7s %6s\n", "1,000 resources checked, nothing to do, whole",
		s.cpu.Seconds(), "", "", "")
	return err
}

// spent is the CPU time of the reference.
type spent struct{ Whole, Work float64 }

// reference compiles and exports a model with the reference, and returns the fastest run.
func (p *pythonModels) reference(text string) (least spent, err error) {
	script := filepath.Join(p.dir, "export.py")
	if err := os.WriteFile(script, []byte(exportScript), 0o600); err != nil {
		return least, err
	}
	for i := range min(p.runs, 3) {
		dir, err := p.pythonProject(text) // a new one, because the reference caches parsed files
		if err != nil {
			return least, err
		}
		cmd := exec.Command(filepath.Join(p.env, "bin", "python"), script, dir)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return least, fmt.Errorf("the reference: %w", err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		var took spent
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &took); err != nil {
			return least, fmt.Errorf("the reference printed %q: %w", out, err)
		}
		if i == 0 || took.Work < least.Work {
			least = took
		}
	}
	return least, nil
}

// alone measures Python without the program.
func (p *pythonModels) alone(args ...string) (float64, error) {
	least := 0.0
	for i := range p.runs {
		cmd := exec.Command(filepath.Join(p.env, "bin", "python"), args...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return 0, fmt.Errorf("python: %w: %s", err, out)
		}
		s := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		if i == 0 || s.Seconds() < least {
			least = s.Seconds()
		}
	}
	return least, nil
}

const pageModel = `entity Page extends std::PurgeableResource:
    string name
    string agent = "here"
end
implement Page using std::none
`

const pageCode = `from inmanta.agent.handler import CRUDHandler, provider
from inmanta.plugins import plugin
from inmanta.resources import PurgeableResource, resource

@plugin
def add(a: int, b: int) -> int:
    return a + b

@resource("page::Page", agent="agent", id_attribute="name")
class Page(PurgeableResource):
    fields = ("name",)

@provider("page::Page", name="page")
class PageHandler(CRUDHandler[Page]):
    def read_resource(self, ctx, page):
        pass
`
