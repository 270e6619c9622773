package exportcmd

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/platform"
	"southbound/shared/resource"
)

// mayKeep refuses to overwrite a file that is no plan, or to write to a missing directory.
func mayKeep(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		dir := filepath.Dir(path)
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fault.New(fault.Usage, "plan --out", "there is no directory %s", dir).
				WithHint("make it, or keep the plan somewhere else")
		}
		return nil
	case err != nil:
		return fault.Wrap(fault.Usage, "plan --out", err)
	case !info.Mode().IsRegular() || info.Size() > 0 && !input.Keeps(path):
		return fault.New(fault.Usage, "plan --out", "%s is there, and is not a plan", path).
			WithHint("name a file that does not exist yet, such as site%s", input.PlanExt)
	}
	return nil
}

// previewed is a preview of an export as it was shown, and the state for which it is valid.
type previewed struct {
	at      api.Progress
	state   string
	planned []deploy.PlannedChange
	agents  []deploy.AgentChange
}

// PlanFiles makes and reads kept plans.
type PlanFiles struct {
	*output.Console
	*home.Location
	*home.Session
	Program *home.Program
	Docs    *input.Documents
}

// preview plans an export in the way in which kept plans are made and compared.
func (p *PlanFiles) preview(
	ctx context.Context, x deploy.Export, opts deploy.CompareOptions,
) (previewed, error) {
	var out previewed
	var err error
	if out.at, err = p.Home.Progress(ctx, p.Env); err != nil {
		return out, err
	}
	x.Expect, x.Limits = "", nil
	d, err := p.Home.Plan(ctx, p.Env, x, deploy.CompareOptions{Whole: opts.Whole})
	if err != nil {
		return out, err
	}
	out.state, out.planned, out.agents = d.State, d.Planned, d.Agents
	if opts.Read {
		if d, err = p.Home.Plan(ctx, p.Env, x, opts); err != nil {
			return out, err
		}
		out.planned, out.agents = d.Planned, d.Agents
	}
	return out, context.Cause(ctx) // a read that the end of the context has cut off may look failed
}

// keep makes a plan and writes it to a file atomically.
func (p *PlanFiles) keep(
	ctx context.Context,
	file string,
	x deploy.Export,
	opts deploy.CompareOptions,
) (previewed, error) {
	x.Check, x.RetryFailed = opts.Read, !opts.Read
	now, err := p.preview(ctx, x, opts)
	if err != nil {
		return now, err
	}
	id, err := p.HomeID(ctx)
	if err != nil {
		return now, err
	}
	x.Expect = now.state
	k := &api.Kept{Made: time.Now(), Program: platform.Build(), Environment: p.Env, Home: p.Where(),
		HomeID: id, Project: p.Docs.HandlersDir(), Last: now.at.Last, Released: now.at.Released,
		Compare: opts, Export: x,
		Planned: now.planned}
	tmp, err := renameio.TempFile(filepath.Dir(file), file) // mode 0600
	if err != nil {
		return now, fault.Wrap(fault.Unavailable, "write plan", err)
	}
	defer func() { _ = tmp.Cleanup() }()
	if err = k.Write(tmp); err == nil {
		err = fault.Wrap(fault.Unavailable, "write plan", tmp.CloseAtomicallyReplace())
	}
	return now, err
}

// showKept makes a plan, keeps it in a file, and shows it.
func (p *PlanFiles) showKept(
	ctx context.Context, path, file string, x deploy.Export, opts deploy.CompareOptions,
	exitCode bool,
) error {
	m := *x.Model
	m.Fingerprint = p.Docs.Fingerprint(m.Fingerprint)
	x.Model, x.Origin = &m, input.OriginOf(ctx, p.Say, path, state.Origin{})
	now, err := p.keep(ctx, file, x, opts)
	if err != nil {
		return err
	}
	exit := output.PlanExit{Changes: exitCode, Read: opts.Read, Agents: now.agents}
	if err := p.ShowPlan(now.planned, exit); err != nil {
		return err
	}
	if !opts.Read {
		output.SayUnread(p.Console)
	}
	p.Say("kept in %s; `%s` does exactly this", file, p.command(file))
	return nil
}

// command returns the command that applies a kept plan. It names the home only if the command
// would not find it.
func (p *PlanFiles) command(file string) string {
	words := []string{"southbound", "apply", output.ShellWord(file)}
	alone := home.Location{ProjectDir: p.Location.ProjectDir}
	if err := alone.Settle(""); err != nil || home.Resolved(alone.Where()) != home.Resolved(p.Where()) {
		flag := "--data"
		if p.Remote() {
			flag = "--api"
		}
		words = append(words, flag, output.ShellWord(p.Where()))
	}
	return strings.Join(words, " ")
}

// meant rejects a plan that was made for another home than the open one. A home that did not exist
// when the plan was made is identified by its place.
func (p *PlanFiles) meant(ctx context.Context, k *api.Kept) error {
	id, err := p.HomeID(ctx)
	if err != nil || k.HomeID == id || k.HomeID == "" && k.Home == p.Where() {
		return err
	}
	return fault.New(fault.Refused, "",
		"the plan was made for %s, and this is %s; nothing was done",
		k.Home, p.Where()).WithHint("select the home with --data or --api; " +
		"`southbound plan PATH --out FILE` makes a plan for this one")
}

// applyKept carries out exactly the actions of a kept plan, or rejects the plan.
func (e *Exporter) applyKept(ctx context.Context, path string, f exportFlags) error {
	return e.Within(ctx, f.timeout, func(ctx context.Context) error {
		return e.applyKeptNow(ctx, path, f)
	})
}

func (e *Exporter) applyKeptNow(ctx context.Context, path string, f exportFlags) error {
	began := time.Now()
	file, err := os.Open(path)
	if err != nil {
		return fault.Wrap(fault.Invalid, "read plan", err)
	}
	defer func() { _ = file.Close() }()
	k, err := e.Plans.readKept(ctx, file)
	if err != nil {
		return input.CutShort(ctx, err)
	}
	if home.IsDir(k.Project) { // on another machine it may not exist
		e.Docs.Handled = k.Project
	}
	if err := e.Locate(""); err != nil {
		return err
	}
	if !e.Named {
		e.Env = k.Environment
	}
	if e.Env != k.Environment {
		return fault.New(fault.Refused, "apply "+path,
			"the plan is for the environment %q, and not for %q; nothing was done", k.Environment,
			e.Env).
			WithHint("leave out the environment, or use --environment %s",
				k.Environment)
	}
	if err := e.Reach(ctx); err != nil {
		return err
	}
	if err := e.Plans.meant(ctx, k); err != nil {
		return input.CutShort(ctx, err)
	}
	x := k.Export
	x.Origin.Author = cmp.Or(f.origin.Author, input.Applier())
	x.Origin.Message, x.Origin.Commit = cmp.Or(f.origin.Message, x.Origin.Message),
		cmp.Or(f.origin.Commit, x.Origin.Commit)
	at, err := e.Home.Progress(ctx, e.Env)
	if err != nil {
		return input.CutShort(ctx, err)
	}
	if begun(k, at) {
		e.resumes(at)
		x.Check, x.RetryFailed = false, true
	} else if err := e.asShown(ctx, k, x, f); err != nil {
		return err
	}
	f.check, f.retry = x.Check, x.RetryFailed
	of, err := e.Waiter.Mark(ctx)
	if err != nil {
		return input.CutShort(ctx, err)
	}
	pr := e.Waiter.Progress()
	out, err := e.Home.Export(ctx, e.Env, x, pr.Sent)
	pr.End()
	if err != nil {
		return input.CutShort(ctx, err)
	}
	e.Docs.NoteProject()
	e.Remember("")
	return e.exported(ctx, out, of, f, began)
}

// resumes reports that a plan that was started earlier continues. All its resources are already
// scheduled. They are not compared with reality again: later changes were not in the plan.
func (e *Exporter) resumes(at api.Progress) {
	if at.Scheduled == 0 && at.Releasing == 0 {
		e.Say("this plan was carried out as version %d; later changes stay",
			at.Last)
		return
	}
	e.Say("this plan was started as version %d; this command continues it", at.Last)
}

// asShown rejects a plan whose actions would differ from those shown, or that deletes too many
// resources.
func (e *Exporter) asShown(
	ctx context.Context, k *api.Kept, x deploy.Export, f exportFlags,
) error {
	now, err := e.Plans.preview(ctx, x, k.Compare)
	if err != nil {
		return input.CutShort(ctx, err)
	}
	if err := moved(k, now); err != nil {
		return err
	}
	return e.mayApply(ctx, x, k.Planned, f)
}

// readKept reads a plan and makes all checks of its model that need no state.
func (p *PlanFiles) readKept(ctx context.Context, file *os.File) (*api.Kept, error) {
	info, err := file.Stat()
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "read plan", err)
	}
	types, err := p.Program.Registry(p.Docs.Project.Dir)
	if err != nil {
		return nil, err
	}
	k, err := api.ReadKept(ctx, file, info.Size(), types, p.Program.Packs.Check)
	if fault.Is(err, fault.Damaged) || fault.Is(err, fault.Foreign) ||
		fault.Is(err, fault.Unsupported) {
		// The error concerns the input, and not the stored data.
		return nil, &fault.Error{Kind: fault.Invalid, Op: file.Name(), Err: err,
			Hint: fault.HintOf(err)}
	}
	if err != nil {
		return nil, err
	}
	opts, err := p.Docs.Options("", k.Export.Partial)
	if err != nil {
		return nil, err
	}
	return k, opts.Check(k.Export.Model).Err()
}

// mayApply asks at a terminal before a plan deletes resources or leaves them behind. It rejects a
// plan that deletes more resources than permitted.
func (e *Exporter) mayApply(
	ctx context.Context, x deploy.Export, planned []deploy.PlannedChange, f exportFlags,
) error {
	gone, stays := output.Deleted(planned), output.Left(planned)
	if f.allowDelete >= 0 && len(gone) > f.allowDelete {
		return fault.New(fault.Refused, "apply",
			output.TooManyDeleted, output.Plural(len(gone), "resource"), f.allowDelete)
	}
	return e.mayDelete(ctx, x, gone, stays, f)
}

// mayDelete asks at a terminal before resources are deleted or left behind. Elsewhere, an export
// that describes no resources deletes only as many resources as --allow-delete permits.
func (e *Exporter) mayDelete(
	ctx context.Context, x deploy.Export, gone, stays []deploy.PlannedChange, f exportFlags,
) error {
	if _, interactive := output.Terminal(e.Stdin); interactive && !f.yes && len(gone)+len(stays) > 0 {
		return e.Confirm(ctx, gone, stays, 0)
	}
	x.Expect, x.Limits = "", nil
	if b := x.WithDefaultLimits(); b.Limits == nil || len(gone) == 0 || f.allowDelete >= 0 {
		return nil
	}
	ids := make([]resource.ID, len(gone))
	for i := range gone {
		ids[i] = gone[i].ID
	}
	return deploy.Emptied(ids)
}
