// Package modelcmd has the commands that compile, format and check documents and models without a
// home.
package modelcmd

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"southbound/shared/api"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/compile"
	"southbound/shared/fault"
	"southbound/shared/internal/source"
	"southbound/shared/lang/project"
	"southbound/shared/lang/types"
	"southbound/shared/resource"
)

// compileFlags are the flags of compile.
type compileFlags struct {
	noStd, resources bool
	timeout          time.Duration
}

// Compiler is compile: it shows the result of compiling a model.
type Compiler struct {
	*output.Console
	Docs *input.Documents
}

// CompileCommand returns the command compile.
func (co *Compiler) CompileCommand() *cobra.Command {
	var f compileFlags
	cmd := &cobra.Command{
		Use: "compile [PATH]", Short: "Compile a model and show its contents",
		Long: "compile reads main.cf and the modules that it imports, and shows the variables, " +
			"instances and resources of the model. PATH is a directory with a main.cf or a .cf " +
			"file (default: the working directory). Output of the model goes to standard " +
			"error. With --resources it prints agents and resources as a document; file paths " +
			"in it are relative to the directory of the model.",
		Example: "  southbound compile\n  southbound compile examples/model --json\n" +
			"  southbound compile main.cf --resources",
		Args: usage.AtMostOne("one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) > 0 {
				path = args[0]
			}
			return co.compile(cmd, path, f)
		}}
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "stop after this time with exit code 4")
	cmd.Flags().BoolVar(&f.noStd, "no-std", false, "do not import std automatically")
	cmd.Flags().BoolVar(&f.resources, "resources", false, "print the resources as a document")
	return cmd
}

// compiled is the JSON output of compile.
type compiled struct {
	Variables  map[string]any `json:"variables"`
	Instances  map[string]int `json:"instances"`
	Resources  int            `json:"resources"`
	Output     string         `json:"output"`
	Warnings   []api.Wrong    `json:"warnings"`
	DurationMS int64          `json:"duration_ms"`
	Std        usedStd        `json:"std"`
}

// usedStd is the module std that a model uses. Dir is "" for the built-in one.
type usedStd struct {
	Version string `json:"version"`
	Dir     string `json:"dir"`
}

func (co *Compiler) compile(cmd *cobra.Command, path string, f compileFlags) error {
	began := time.Now()
	if err := usage.NotNegative("compile", "timeout", f.timeout); err != nil {
		return err
	}
	ctx := cmd.Context()
	if f.timeout > 0 {
		late := fault.New(fault.Timeout, input.Compiling, "not done after %s", f.timeout).
			WithHint("--timeout may be longer")
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, f.timeout, late)
		defer cancel()
	}
	c, err := co.Docs.Model(ctx, path, f.noStd, !co.JSON || f.resources)
	if err != nil {
		return err
	}
	switch {
	case f.resources:
		co.Warn(c.Warnings)
		return co.printResources(c.Resources)
	case !co.JSON:
		co.Warn(c.Warnings)
		co.showCompiled(c)
		return nil
	}
	out := compiled{
		Variables: map[string]any{}, Instances: c.Counts, Resources: len(c.Resources.Resources),
		Output: c.Output, Warnings: []api.Wrong{}, Std: usedStd(c.Project.Std),
		DurationMS: time.Since(began).Milliseconds(),
	}
	for _, p := range c.Warnings {
		out.Warnings = append(out.Warnings, api.WrongOf(p))
	}
	for name, v := range c.Variables {
		out.Variables[name] = plainValue(v)
	}
	co.Line(out)
	return nil
}

// printResources prints agents and resources as a document.
func (co *Compiler) printResources(b source.Built) error {
	if len(b.Files) > 0 {
		return fault.New(fault.Invalid, "compile --resources",
			"the resources come with files that mappings of this program have made, and a "+
				"document cannot hold them").
			WithHint("apply, export and plan take the model itself")
	}
	type document struct {
		Southbound int              `json:"southbound" yaml:"southbound"`
		Agents     map[string]any   `json:"agents,omitempty" yaml:"agents,omitempty"`
		Resources  []map[string]any `json:"resources" yaml:"resources"`
	}
	doc := document{Southbound: 1, Agents: map[string]any{}, Resources: []map[string]any{}}
	for _, e := range b.Agents {
		doc.Agents[e.Name] = exact(e.Members)
	}
	for _, e := range b.Resources {
		members, _ := exact(e.Members).(map[string]any)
		doc.Resources = append(doc.Resources, members)
	}
	if co.JSON {
		co.Line(doc)
		return nil
	}
	for name := range doc.Agents {
		doc.Agents[name] = output.Numbered(doc.Agents[name])
	}
	for i := range doc.Resources {
		doc.Resources[i], _ = output.Numbered(doc.Resources[i]).(map[string]any)
	}
	text, err := yaml.Marshal(doc)
	if err != nil {
		return fault.Wrap(fault.Internal, "write the document", err)
	}
	_, err = co.Output().Write(text)
	return err
}

// exact returns a value of a document with its numbers in the form that parses to the same type:
// 2.0 is a float.
func exact(v any) any {
	return resource.Map(v, func(v any) any {
		switch v.(type) {
		case float64, *big.Int:
			if text, err := resource.CanonicalValue(v); err == nil {
				return json.Number(text)
			}
		}
		return v
	})
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
			return text // JSON has no such number
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

// showCompiled writes a summary for people: the numbers of instances of the model's entities, and
// of resources, and the module std that the model uses.
func (co *Compiler) showCompiled(c *compile.Compiled) {
	co.Printf("%s\n", output.Plural(len(c.Instances), "instance"))
	for _, name := range slices.Sorted(maps.Keys(c.Counts)) {
		co.Printf("  %6d  %s\n", c.Counts[name], name)
	}
	if n := len(c.Resources.Resources); n > 0 {
		co.Printf("%s\n", output.Plural(n, "resource"))
	}
	switch s := c.Project.Std; {
	case s == project.Std{}: // it is not imported
	case s.Dir == "":
		co.Printf("std %s, built in\n", s.Version)
	default:
		co.Printf("std %s, installed in %s\n", cmp.Or(s.Version, "of an unknown version"), s.Dir)
	}
}
