package modulecmd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"go.yaml.in/yaml/v4"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/parts"
	"southbound/shared/compile"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/lang/metadata"
	"southbound/shared/lang/modtest"
	"southbound/shared/lang/module"
	"southbound/shared/resource"
)

// bench is a project of a test, with an environment of its own.
type bench struct {
	app      *parts.Parts
	dir      string
	compiled *compile.Compiled
}

// bench makes a project in the folder of a script: it has the module under test and its
// requirements.
func (t *moduleTests) bench(dir string) (modtest.Bench, error) {
	if err := t.project(dir); err != nil {
		return nil, err
	}
	m := t.ModuleTester
	sub := parts.New(
		&output.Console{Stdin: new(bytes.Buffer), Out: io.Discard, Err: io.Discard, Quiet: true},
		&home.Location{Env: "default", Data: filepath.Join(filepath.Dir(dir), "home")},
		&home.Program{Definitions: m.Program.Definitions, Packs: m.Program.Packs},
	)
	sub.Docs.Modules = []*module.Module{t.module}
	sub.Grace = m.Grace
	sub.Conns.SSH.Programs = m.Conns.SSH.Programs
	return &bench{app: sub, dir: dir}, nil
}

// project turns a folder into a project, if it is none: with the virtual environment and the
// modulepath of the module.
func (t *moduleTests) project(dir string) error {
	link := filepath.Join(dir, module.EnvDir)
	if _, err := os.Lstat(link); errors.Is(err, fs.ErrNotExist) && t.env != "" {
		if err := os.Symlink(t.env, link); err != nil {
			return fault.Wrap(fault.Unavailable, "make a project", err)
		}
	}
	file := filepath.Join(dir, metadata.ProjectFile)
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	text, err := yaml.Marshal(map[string]any{
		"name": "test", "modulepath": append([]string{"libs"}, t.paths...),
	})
	if err != nil {
		return fault.Wrap(fault.Internal, "make a project", err)
	}
	return fault.Wrap(fault.Unavailable, "make a project", os.WriteFile(file, text, 0o600))
}

// Close implements modtest.Bench.
func (b *bench) Close() { b.app.Close() }

// Compile implements modtest.Bench.
func (b *bench) Compile(ctx context.Context) (*modtest.Compiled, error) {
	c, err := b.app.Docs.Model(ctx, b.dir, false, false)
	if err != nil {
		out := &modtest.Compiled{}
		if c != nil && c.Result != nil {
			out.Output, out.Warnings = c.Output, c.Warnings
		}
		return out, err
	}
	b.compiled = c
	if c.HasHandlers() {
		b.app.Docs.Handled = b.dir
	}
	out := &modtest.Compiled{Output: c.Output, Warnings: c.Warnings}
	m, err := b.model(ctx)
	if err == nil {
		out.Resources = slices.SortedFunc(slices.Values(m.Resources),
			func(a, b resource.Resource) int {
				return bytes.Compare([]byte(a.ID), []byte(b.ID))
			})
	}
	return out, err
}

// model returns the model to deploy.
func (b *bench) model(ctx context.Context) (*model.Model, error) {
	opts, err := b.app.Docs.Options(b.dir, false)
	if err != nil {
		return nil, err
	}
	m, err := b.compiled.Deployable(ctx, opts)
	if err == nil {
		err = opts.Check(m).Err()
	}
	return m, err
}

// export returns the export of the resources that a filter selects.
func (b *bench) export(ctx context.Context, filter []string) (deploy.Export, error) {
	target, err := state.ParseFilter(filter)
	if err != nil {
		return deploy.Export{}, err
	}
	if b.app.Home == nil {
		if err := b.app.OpenAt(ctx, b.app.Data); err != nil {
			return deploy.Export{}, err
		}
	}
	m, err := b.model(ctx)
	return deploy.Export{Model: m, Target: target, Check: true, RetryFailed: true}, err
}

// DryRun implements modtest.Bench.
func (b *bench) DryRun(ctx context.Context, filter []string) (*modtest.Ran, error) {
	x, err := b.export(ctx, filter)
	if err != nil {
		return nil, err
	}
	d, err := b.app.Home.Plan(ctx, b.app.Env, x, deploy.CompareOptions{Read: true, Whole: true})
	if err != nil {
		return nil, err
	}
	out := &modtest.Ran{}
	for _, w := range d.Planned {
		o := modtest.Outcome{ID: w.ID, Change: diff.NoChange, Reason: w.Reason, Changes: w.Changes}
		switch w.Action {
		case "create":
			o.Change = diff.Created
		case "update":
			o.Change = diff.Updated
		case "delete":
			o.Change = diff.Purged
		case "undefined":
			o.Status = state.StatusUndefined
		}
		if w.Failed {
			o.Status = state.StatusFailed
		}
		out.Outcomes = append(out.Outcomes, o)
	}
	out.Text, err = b.printed(func() error { return b.app.ShowPlan(d.Planned, output.PlanExit{}) })
	return out, err
}

// printed returns the output for people that do writes.
func (b *bench) printed(do func() error) (string, error) {
	var out bytes.Buffer
	b.app.Out = &out
	defer func() { b.app.Out = io.Discard }()
	err := do()
	return out.String(), err
}

// Deploy implements modtest.Bench.
func (b *bench) Deploy(ctx context.Context, filter []string) (*modtest.Ran, error) {
	x, err := b.export(ctx, filter)
	if err != nil {
		return nil, err
	}
	of, err := b.app.Waiter.Mark(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := b.app.Home.Export(ctx, b.app.Env, x, nil); err != nil {
		return nil, err
	}
	if _, err := b.app.Waiter.Wait(ctx, of); err != nil {
		return nil, err
	}
	actions, err := b.app.Home.Actions(ctx, b.app.Env, api.ActionQuery{After: of.Since})
	if err != nil {
		return nil, err
	}
	slices.Reverse(actions)
	out := &modtest.Ran{}
	err = b.app.Home.Resources(ctx, b.app.Env, filter, func(r *api.Resource) error {
		out.Outcomes = append(out.Outcomes, outcome(r, actions))
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Text, err = b.printed(func() error {
		for i := range actions {
			b.app.Actions.Action(&actions[i], "")
		}
		return nil
	})
	out.Outcomes = append(out.Outcomes, gone(out.Outcomes, actions)...)
	return out, err
}

// outcome returns the result for a resource.
func outcome(r *api.Resource, actions []api.Action) modtest.Outcome {
	o := modtest.Outcome{ID: r.ID, Change: diff.NoChange, Status: r.Status, Reason: r.Reason}
	for i := range actions {
		if actions[i].Resource == r.ID {
			note(&o, &actions[i])
		}
	}
	return o
}

// note adds the changes and messages of an action to an outcome.
func note(o *modtest.Outcome, x *api.Action) {
	if x.Change != "" && x.Change != diff.NoChange || o.Changes == nil {
		o.Changes = x.Changes
	}
	if x.Change != "" && x.Change != diff.NoChange {
		o.Change = x.Change
	}
	if x.Reason != "" {
		o.Reason = x.Reason
	}
}

// gone returns the outcomes of resources that no longer exist.
func gone(there []modtest.Outcome, actions []api.Action) []modtest.Outcome {
	var out []modtest.Outcome
	for i := range actions {
		x := &actions[i]
		same := func(o modtest.Outcome) bool { return o.ID == x.Resource }
		if slices.ContainsFunc(there, same) {
			continue
		}
		if n := slices.IndexFunc(out, same); n >= 0 {
			note(&out[n], x)
			continue
		}
		o := modtest.Outcome{ID: x.Resource, Change: diff.NoChange, Status: x.Outcome}
		note(&o, x)
		out = append(out, o)
	}
	return out
}
