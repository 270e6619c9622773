package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"southbound/localstack/server"
)

// The reference compiler that models are compared with, as installed.
const (
	referencePython = "3.13"
	referenceCore   = "inmanta-core==20.1.0"
	referenceStd    = "inmanta-module-std==8.5.0"
)

//go:embed reference.py
var referenceScript string

// runModels measures only models, and compares them with the reference compiler.
func runModels(bin, python string, runs int) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "southbound-bench-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if python == "" {
		if python, err = installReference(); err != nil {
			return err
		}
	}
	m := &models{
		bench: &bench{bin: bin, dir: dir}, runs: runs,
		python: python, script: filepath.Join(dir, "reference.py"),
	}
	if err := os.WriteFile(m.script, []byte(referenceScript), 0o600); err != nil {
		return err
	}
	return m.run()
}

// installReference installs the reference compiler in the user's cache, once, and returns its
// interpreter.
func installReference() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	name := strings.NewReplacer("==", "-").Replace(referenceCore + "-" + referenceStd)
	venv := filepath.Join(cache, "southbound-bench", name)
	python := filepath.Join(venv, "bin", "python")
	done := filepath.Join(venv, "installed")
	if _, err := os.Stat(done); err == nil {
		return python, nil
	}
	fmt.Fprintln(os.Stderr, "bench: installing the reference compiler in", venv)
	base, err := server.Python(context.Background(), referencePython)
	if err != nil {
		return "", err
	}
	for _, c := range []*exec.Cmd{
		exec.Command(base, "-m", "venv", "--clear", venv),
		exec.Command(python, "-m", "pip", "install", "--quiet", referenceCore, referenceStd),
	} {
		if out, err := c.CombinedOutput(); err != nil {
			return "", fmt.Errorf("install the reference compiler: %s: %w: %s", c, err, out)
		}
	}
	return python, os.WriteFile(done, nil, 0o600)
}

// models measures the cost of the language.
type models struct {
	*bench
	runs           int
	python, script string
	empty          float64 // CPU seconds of an empty model: the start-up
}

func (m *models) run() error {
	fmt.Printf("\n%-52s %8s %10s %7s %6s\n", "a model, CPU seconds without start-up", "here",
		"reference", "ratio", "goal")
	empty, err := m.here(m.project("", ""))
	if err != nil {
		return err
	}
	m.empty = empty.cpu.Seconds()
	if err := m.beside("10,000 entities, two relations, an implementation", entities(10_000), "",
		1.0/25); err != nil {
		return err
	}
	if err := m.beside("10,000 renderings of a template of 30 lines", renderings, template,
		1.0/5); err != nil {
		return err
	}
	if err := m.growth(); err != nil {
		return err
	}
	if err := m.quickstart(); err != nil {
		return err
	}
	if err := m.pythonRows(); err != nil {
		return err
	}
	return m.editor(m.runs)
}

// project writes a model and its template.
func (m *models) project(text, template string) string {
	dir := m.fresh()
	_ = os.WriteFile(filepath.Join(dir, "main.cf"), []byte(text), 0o600)
	_ = os.Mkdir(filepath.Join(dir, "templates"), 0o700)
	_ = os.WriteFile(filepath.Join(dir, "templates", "t.j2"), []byte(template), 0o600)
	return dir
}

// here compiles a model with the program, and returns the fastest run.
func (m *models) here(dir string) (sample, error) {
	var least sample
	for i := range m.runs {
		s, err := m.measured("compile", dir)
		if err != nil {
			return s, err
		}
		if i == 0 || s.cpu < least.cpu {
			least = s
		}
	}
	return least, nil
}

// there compiles a model with the reference compiler, and returns the fastest run. Each run has a
// folder of its own, because the compiler caches parsed files there.
func (m *models) there(text, template string) (float64, error) {
	least := math.Inf(1)
	for range min(m.runs, 3) {
		cmd := exec.Command(m.python, m.script, m.project(text, template))
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return 0, fmt.Errorf("the reference compiler: %w", err)
		}
		if i := strings.LastIndex(strings.TrimSpace(string(out)), "\n"); i >= 0 {
			out = out[i+1:]
		}
		var took struct{ Load, Compile float64 }
		if err := json.Unmarshal(out, &took); err != nil {
			return 0, fmt.Errorf("the reference compiler printed %q: %w", out, err)
		}
		least = min(least, took.Load+took.Compile)
	}
	return least, nil
}

// beside measures a model with both compilers, without the cost of an empty model.
func (m *models) beside(name, text, template string, goal float64) error {
	s, err := m.here(m.project(text, template))
	if err != nil {
		return err
	}
	empty, err := m.there("", "")
	if err != nil {
		return err
	}
	reference, err := m.there(text, template)
	if err != nil {
		return err
	}
	cpu := s.cpu.Seconds() - m.empty
	reference -= empty
	fmt.Printf("%-52s %8.3f %10.3f %7.3f %6.3f\n", name, cpu, reference, cpu/reference, goal)
	return nil
}

// growth measures how time and memory grow with the number of entities.
func (m *models) growth() error {
	fmt.Printf("\n%-52s %8s %10s %7s %6s\n", "growth", "cpu s", "exponent", "MB", "goal")
	before, last := 0.0, 0
	for _, n := range []int{1_000, 10_000, 100_000} {
		s, err := m.here(m.project(entities(n), ""))
		if err != nil {
			return err
		}
		cpu, exponent, goal := s.cpu.Seconds()-m.empty, "", ""
		if last > 0 {
			exponent = fmt.Sprintf("%.2f", math.Log(cpu/before)/math.Log(float64(n/last)))
			goal = "1.05"
		}
		fmt.Printf("%-52s %8.3f %10s %7.0f %6s\n", fmt.Sprintf("%d entities", n), cpu, exponent,
			memoryOf(s), goal)
		before, last = cpu, n
	}
	return nil
}

// quickstart measures the whole compilation of the quickstart's model.
func (m *models) quickstart() error {
	s, err := m.here("examples/quickstart/_site.cf")
	if err != nil {
		return err
	}
	fmt.Printf("\n%-52s %8s %10s %7s %6s\n%-52s %8.0f %10.0f %7.0f %6s\n", "from start to end",
		"ms", "cpu ms", "MB", "goal", "compile of the quickstart", s.wall.Seconds()*1000,
		s.cpu.Seconds()*1000, memoryOf(s), "50")
	return nil
}

// entities returns a model of n entities with two relations and an implementation each. It has
// nodes in groups, and the implementation of each node makes a leaf.
func entities(n int) string {
	var b strings.Builder
	b.WriteString(`entity Group:
    string name
end
entity Node:
    string name
    int port = 80
end
entity Leaf:
    string name
end
Group.nodes [0:] -- Node.group [1]
Node.leaf [0:1] -- Leaf.node [1]
index Group(name)
index Node(name)
implement Group using std::none
implement Leaf using std::none
implementation leaf for Node:
    self.leaf = Leaf(name="leaf-{{ self.name }}")
end
implement Node using leaf
`)
	nodes := n / 2
	groups := max(1, nodes/100)
	for i := range groups {
		fmt.Fprintf(&b, "g%d = Group(name=\"g%d\")\n", i, i)
	}
	for i := range nodes {
		fmt.Fprintf(&b, "Node(name=\"n%d\", group=g%d, port=%d)\n", i, i%groups, i%1000)
	}
	return b.String()
}

// renderings is a model that renders the template 10,000 times, and reads each result.
const renderings = `entity Host:
    string name
    int number
    string[] aliases
    dict options
end
implementation render for Host:
    text = std::template("/t.j2")
    length = std::length(text)
end
implement Host using render
for i in std::sequence(10000):
    Host(
        name="host-{{ i }}", number=i, aliases=["a{{ i }}", "b", "c"],
        options={"log": "info", "level": i, "on": true}
    )
end
`

const template = `# {{ name }}: written by a model, do not edit
server {
    listen {{ 1024 + number % 1000 }};
    server_name {{ name }}.example.org{% for a in aliases %} {{ a }}.example.org{% endfor %};
    root /srv/{{ name | upper }};
{% if options.on %}
    access_log /var/log/{{ name }}.log {{ options.log }};
{% else %}
    access_log off;
{% endif %}
{% for a in aliases if a != "b" %}
    location /{{ a }} {
        alias /srv/{{ name }}/{{ a }};
        expires {{ loop.index * 10 }}m;
    }
{% endfor %}
{% set limit = options.level * 2 + 1 %}
    client_max_body_size {{ limit }}k;
    keepalive_timeout {{ 65 if limit > 100 else 30 }};
    gzip {{ "on" if options.on else "off" }};
    error_page 404 /{{ name | replace("host", "error") }}.html;
    {# what follows is the same for all #}
    add_header X-Name "{{ name | default("none") }}";
    add_header X-All "{{ aliases | join(", ") }}";
    add_header X-Number "{{ "%05d" | format(number) }}";
    add_header X-Count "{{ aliases | length }}";
    ssl_session_cache shared:SSL:10m;
    ssl_session_timeout 10m;
}
# end of {{ name }}
`
