package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/big"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"southbound/shared/compile"
	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/diffview"
	"southbound/shared/fault"
	"southbound/shared/lang/types"
	"southbound/shared/source"
)

// compileFlags are the flags of compile.
type compileFlags struct{ noStd, resources bool }

func (a *app) compileCommand() *cobra.Command {
	var f compileFlags
	cmd := &cobra.Command{
		Use: "compile [PATH]", Short: "Compile a model and say what came out",
		Long: "compile reads main.cf and the modules that it imports, runs it, and says what came " +
			"out. PATH is a directory with a main.cf or a\n.cf file; the working directory, unless " +
			"said. What the model prints goes to standard error. With --resources it prints the\n" +
			"agents and resources as a document; paths of files in it are relative to the directory " +
			"of the model.",
		Example: "  southbound compile\n  southbound compile examples/model --json\n" +
			"  southbound compile main.cf --resources",
		Args: atMostOne("one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) > 0 {
				path = args[0]
			}
			return a.compile(cmd, path, f)
		}}
	cmd.Flags().BoolVar(&f.noStd, "no-std", false, "import nothing by itself")
	cmd.Flags().BoolVar(&f.resources, "resources", false, "print the resources as a document")
	return cmd
}

// compiled is what compile writes as JSON.
type compiled struct {
	Variables  map[string]any `json:"variables"`
	Instances  map[string]int `json:"instances"`
	Resources  int            `json:"resources"`
	Output     string         `json:"output"`
	Warnings   []diag.Problem `json:"warnings"`
	DurationMS int64          `json:"duration_ms"`
}

func (a *app) compile(cmd *cobra.Command, path string, f compileFlags) error {
	began := time.Now()
	c, err := a.model(cmd.Context(), path, f.noStd, !a.json || f.resources)
	if err != nil {
		return err
	}
	switch {
	case f.resources:
		a.warn(c.Warnings)
		return a.printResources(c.Resources)
	case !a.json:
		a.warn(c.Warnings)
		a.showCompiled(c)
		return nil
	}
	out := compiled{
		Variables: map[string]any{}, Instances: c.Counts, Resources: len(c.Resources.Resources),
		Output: c.Output, Warnings: append([]diag.Problem{}, c.Warnings...),
		DurationMS: time.Since(began).Milliseconds(),
	}
	for name, v := range c.Variables {
		out.Variables[name] = plainValue(v)
	}
	a.line(out)
	return nil
}

// model compiles a model. With say, what it prints goes to standard error.
func (a *app) model(
	ctx context.Context, path string, noStd, say bool,
) (*compile.Compiled, error) {
	types, err := a.registry()
	if err != nil {
		return nil, err
	}
	p, err := source.FindProject(path)
	if err != nil {
		return nil, err
	}
	o := compile.Options{
		Path: path, NoStd: noStd, Types: types, VirtualEnv: os.Getenv("VIRTUAL_ENV"),
		Mapper: a.mapper, Modules: a.modules, Host: a.host,
		Environment: pick(a.env, "SOUTHBOUND_ENVIRONMENT", p.Environment, "default"),
	}
	if say {
		o.Print = func(text string) { fmt.Fprint(a.err, text) }
	}
	defer collectSeldom()()
	return compile.Model(ctx, o)
}

// collectSeldom has the collector run less often until the function that it returns is called: a
// model lives for moments and little of it is garbage, so collecting as often as a server does
// takes half of the time of large ones. A limit keeps what is not collected in bounds. Whoever
// started the program and said how to collect knows better.
func collectSeldom() (undo func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	const percent, memory = 1000, 640 << 20
	before, limit := debug.SetGCPercent(percent), debug.SetMemoryLimit(-1)
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
	return func() {
		debug.SetGCPercent(before)
		debug.SetMemoryLimit(limit)
	}
}

// loadModel compiles a model and returns what is deployed. Its warnings are told.
func (a *app) loadModel(
	ctx context.Context, path string, o source.Options,
) (*model.Model, error) {
	c, err := a.model(ctx, path, false, true)
	if err != nil {
		return nil, err
	}
	a.warn(c.Warnings)
	m, err := c.Deployable(ctx, o)
	if err == nil && c.HasHandlers() {
		a.handled = path
	}
	return m, err
}

// printResources prints agents and resources as a document.
func (a *app) printResources(b source.Built) error {
	if len(b.Files) > 0 {
		return fault.New(fault.Invalid, "compile --resources",
			"the resources come with files that mappings of this program have made, and a document "+
				"cannot hold them").
			WithHint("apply, export and plan take the model itself")
	}
	type document struct {
		Southbound int              `json:"southbound" yaml:"southbound"`
		Agents     map[string]any   `json:"agents,omitempty" yaml:"agents,omitempty"`
		Resources  []map[string]any `json:"resources" yaml:"resources"`
	}
	doc := document{Southbound: 1, Agents: map[string]any{}, Resources: []map[string]any{}}
	for _, e := range b.Agents {
		doc.Agents[e.Name] = e.Members
	}
	for _, e := range b.Resources {
		doc.Resources = append(doc.Resources, e.Members)
	}
	if a.json {
		a.line(doc)
		return nil
	}
	text, err := yaml.Marshal(doc)
	if err != nil {
		return fault.Wrap(fault.Internal, "write the document", err)
	}
	_, err = output{a}.Write(text)
	return err
}

// plainValue returns a value of a model as JSON shows it.
func plainValue(v types.Value) any {
	switch v := v.(type) {
	case types.Null:
		return nil
	case *big.Int:
		return v
	case float64:
		text := types.FloatText(v) // 2.0 stays a float, and 1e+19 no whole number
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return text // as there is no such number in JSON
		}
		return json.Number(text)
	case *types.List:
		out := make([]any, len(v.Items))
		for i, item := range v.Items {
			out[i] = plainValue(item)
		}
		return out
	case *types.Dict:
		out := make(map[string]any, v.Len())
		for _, k := range v.Keys() {
			item, _ := v.Get(k)
			out[k] = plainValue(item)
		}
		return out
	case *types.Unknown:
		return map[string]bool{"unknown": true}
	case types.Object:
		return map[string]string{"instance": v.Type().FullName()}
	case types.Reference:
		return map[string]string{"reference": v.ReferenceName()}
	}
	return v
}

// warn tells people warnings of a model.
func (a *app) warn(warnings diag.Problems) {
	lines := compile.Lines()
	for _, w := range warnings {
		a.complainOf(w, "warning: ", lines)
	}
}

// complainOf writes a problem or a warning.
func (a *app) complainOf(p diag.Problem, first string, lines func(diag.Pos) (string, bool)) {
	for _, line := range p.Lines(lines) {
		a.complain("%s%s", first, diffview.Visible(line, "\t"))
		first = ""
	}
}

// showCompiled says what came out, for people: the numbers of instances of the entities of the
// model, and of resources.
func (a *app) showCompiled(c *compile.Compiled) {
	a.printf("%s\n", plural(len(c.Instances), "instance"))
	for _, name := range slices.Sorted(maps.Keys(c.Counts)) {
		a.printf("  %6d  %s\n", c.Counts[name], name)
	}
	if n := len(c.Resources.Resources); n > 0 {
		a.printf("%s\n", plural(n, "resource"))
	}
}
