package cli

import (
	"cmp"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/project"
	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
)

func (a *app) compileCommand() *cobra.Command {
	o := project.Options{}
	cmd := &cobra.Command{
		Use: "compile [PATH]", Short: "Compile a model and say what came out",
		Long: "compile reads main.cf and the modules that it imports, runs it, and says what came out. PATH is a directory with a main.cf or a " +
			".cf file; the working directory, unless said. What the model prints goes to standard error.",
		Example: "  southbound compile\n  southbound compile examples/model --json\n  southbound compile main.cf",
		Args:    atMostOne("one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) > 0 {
				path = args[0]
			}
			return a.compile(cmd, path, o)
		}}
	cmd.Flags().BoolVar(&o.NoStd, "no-std", false, "import nothing by itself")
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

func (a *app) compile(cmd *cobra.Command, path string, o project.Options) error {
	began := time.Now()
	p, err := project.Load(path, o)
	if err != nil {
		return err
	}
	p.Env.Environment = cmp.Or(a.env, "default")
	program := eval.Program{
		Sources: p.Sources, Rules: p.Rules, Plugins: std.Plugins(), Env: p.Env,
	}
	if !a.json {
		program.Print = func(text string) { fmt.Fprint(a.err, text) }
	}
	result, warnings, err := eval.Run(cmd.Context(), program)
	if err != nil {
		return err
	}
	warnings = append(slices.Clone(p.Warnings), warnings...)
	if !a.json {
		a.showCompiled(result, warnings)
		return nil
	}
	out := compiled{
		Variables: map[string]any{}, Instances: result.Counts, Output: result.Output, Warnings: append([]diag.Problem{}, warnings...),
		DurationMS: time.Since(began).Milliseconds(),
	}
	for name, v := range result.Variables {
		out.Variables[name] = plainValue(v)
	}
	a.line(out)
	return nil
}

// plainValue returns a value of a model as JSON shows it.
func plainValue(v types.Value) any {
	switch v := v.(type) {
	case types.Null:
		return nil
	case *big.Int:
		return v
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

// showCompiled says what came out, for people: warnings, and the numbers of instances of the
// entities of the model.
func (a *app) showCompiled(r *eval.Result, warnings diag.Problems) {
	for _, w := range warnings {
		a.complain("warning: %s", w.String())
		if w.Hint != "" {
			a.complain("  %s", w.Hint)
		}
	}
	a.printf("%s\n", plural(len(r.Instances), "instance"))
	for _, name := range slices.Sorted(maps.Keys(r.Counts)) {
		a.printf("  %6d  %s\n", r.Counts[name], name)
	}
}
