// Package exportcmd has the commands that read documents and change or preview an environment: apply,
// export, plan and validate.
package exportcmd

import (
	"context"
	"maps"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/batch"
	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/cli/work"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/lang/project"
	"southbound/shared/platform"
)

// exportFlags are the flags of apply and export.
type exportFlags struct {
	wait        bool
	timeout     time.Duration
	partial     bool
	deleteSets  []string
	noRelease   bool
	changedOnly bool
	retry       bool
	check       bool
	asks        bool // ask on a terminal before deletions
	yes         bool // answer yes to that question
	allowDelete int  // -1: any number
	filter      []string
	waves       batch.Flags
	origin      state.Origin
}

// Exporter is apply and export: it stores the documents as a version, and deploys the version.
type Exporter struct {
	*output.Console
	*home.Location
	*home.Session
	Docs    *input.Documents
	Plans   *PlanFiles
	Waiter  *work.Waiter
	Waves   *batch.Waves
	Results *work.Results
}

// ExportCommands returns the commands apply and export.
func (e *Exporter) ExportCommands() []*cobra.Command {
	var f exportFlags
	apply := &cobra.Command{
		Use:   "apply PATH [FILTER]",
		Short: "Deploy changes and correct drift",
		Long: "apply stores the documents under PATH as a version, deploys its changes, checks " +
			"all other resources and corrects drift. It waits until that is done. PATH is a " +
			"file, a directory, or - for JSON lines on standard input. If PATH is a file " +
			"written by `plan --out`, apply carries out exactly that plan, or does nothing if " +
			"the state or a machine has changed.\n" + targetHelp,
		Example: "  southbound apply site.yaml\n  southbound apply . agent=web1\n" +
			"  southbound apply . --batch 1,10%,100%\n  generate | southbound apply -\n" +
			"  southbound apply site.plan",
		Args: usage.PathAndFilter,
		RunE: func(cmd *cobra.Command, args []string) error {
			f.filter = args[1:]
			f.wait, f.check, f.asks = true, !f.changedOnly, true
			if err := f.checked(cmd); err != nil {
				return err
			}
			if input.Keeps(args[0]) {
				if err := f.asPlanned(cmd); err != nil {
					return err
				}
				return e.applyKept(cmd.Context(), args[0], f)
			}
			return e.export(cmd.Context(), args[0], f)
		},
	}
	apply.Flags().BoolVar(&f.changedOnly, "changed-only", false,
		"deploy changes only; do not look for drift")
	apply.Flags().BoolVar(&f.partial, "partial", false,
		"replace only the resource sets that are applied")
	apply.Flags().StringSliceVar(&f.deleteSets, "delete-set", nil,
		"remove a resource set; with --partial")
	apply.Flags().DurationVar(&f.timeout, "timeout", 0,
		"stop waiting after this time with exit code 4")
	apply.Flags().BoolVar(&f.yes, "yes", false, "delete without asking on a terminal")
	apply.Flags().IntVar(&f.allowDelete, "allow-delete", -1, output.AllowDeleteHelp)
	input.OriginFlags(apply.Flags(), &f.origin)
	f.waves.Add(apply.Flags())
	f.waves.AddGate(apply.Flags())
	output.FoldFlag(e.Console, apply)
	export := &cobra.Command{
		Use: "export PATH", Short: "Store a version and deploy its changes",
		Long: "export stores the documents under PATH as a version and schedules its changes, " +
			"without checking other resources. It returns immediately, or with --wait when the " +
			"changes are deployed. In the embedded home, `southbound run` or the next command " +
			"that waits does scheduled work.",
		Example: "  southbound export . --wait\n  southbound export teams/a --partial\n" +
			"  southbound export . --partial --delete-set old",
		Args: usage.ExactArgs(1, "one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.checked(cmd); err != nil {
				return err
			}
			return e.export(cmd.Context(), args[0], f)
		},
	}
	output.FoldFlag(e.Console, export)
	fl := export.Flags()
	fl.IntVar(&f.allowDelete, "allow-delete", -1, output.AllowDeleteHelp)
	input.OriginFlags(fl, &f.origin)
	fl.BoolVar(&f.wait, "wait", false, "wait until the changes are deployed")
	fl.DurationVar(&f.timeout, "timeout", 0, "stop waiting after this time with exit code 4")
	fl.BoolVar(&f.partial, "partial", false, "replace only the resource sets that are exported")
	fl.StringSliceVar(&f.deleteSets, "delete-set", nil, "remove a resource set; with --partial")
	fl.BoolVar(&f.noRelease, "no-release", false, "store the version without deploying it")
	fl.BoolVar(&f.retry, "retry-failed", false, "also retry failed resources")
	return []*cobra.Command{apply, export}
}

// checked validates the flags.
func (f *exportFlags) checked(cmd *cobra.Command) error {
	if f.allowDelete < -1 {
		return fault.New(fault.Usage, cmd.Name(), "--allow-delete is a number from 0")
	}
	return f.targeted(cmd.Name())
}

// asPlanned rejects flags that would change the actions of a plan.
func (f *exportFlags) asPlanned(cmd *cobra.Command) error {
	if err := usage.NotNegative(cmd.Name(), "timeout", f.timeout); err != nil {
		return err
	}
	if len(f.filter) > 0 {
		return fault.New(fault.Usage, cmd.Name(),
			"a kept plan takes no FILTER, because it lists its changes").
			WithHint("give it to `southbound plan`, or apply the documents")
	}
	for _, name := range []string{"batch", "max-parallel", "gate"} {
		if cmd.Flags().Changed(name) {
			return fault.New(fault.Usage, cmd.Name(),
				"a kept plan takes no --%s, because it is carried out in one step", name).
				WithHint("apply the documents in waves instead of the plan")
		}
	}
	for _, name := range []string{"changed-only", "partial", "delete-set"} {
		if cmd.Flags().Changed(name) {
			return fault.New(fault.Usage, cmd.Name(),
				"a kept plan takes no --%s, because it lists its changes", name).
				WithHint("give it to `southbound plan`, or apply the documents")
		}
	}
	return nil
}

func (e *Exporter) export(ctx context.Context, path string, f exportFlags) error {
	if err := usage.NotNegative("export", "timeout", f.timeout); err != nil {
		return err
	}
	return e.Within(ctx, f.timeout, func(ctx context.Context) error {
		return e.exportNow(ctx, path, f)
	})
}

func (e *Exporter) exportNow(ctx context.Context, path string, f exportFlags) error {
	began := time.Now()
	if err := e.Locate(path); err != nil {
		return err
	}
	if path != "-" {
		e.Docs.Path = path
	}
	var read *input.Loaded
	if e.Remote() || e.Fresh() {
		// invalid input must not create a new data directory, and need not be sent to a server
		var err error
		if read, err = e.Docs.Load(ctx, path, f.partial); err != nil {
			return input.CutShort(ctx, err)
		}
		if err := read.Check(read.Model).Err(); err != nil {
			return err
		}
		read.Model.Valid = true
	}
	if err := e.Reach(ctx); err != nil {
		return err
	}
	if read != nil {
		if err := withPackages(ctx, e.Session, e.Docs, path, read.Model); err != nil {
			return input.CutShort(ctx, err)
		}
	}
	if f.waves.Set() {
		return e.applyInWaves(ctx, path, f, read, began)
	}
	var of work.Request
	// then all the work for it names its version
	byVersion := e.Remote() && !f.check && !f.retry
	if f.wait && !f.noRelease && !byVersion { // without waiting, the result is not read
		var err error
		if of, err = e.Waiter.Mark(ctx); err != nil {
			return input.CutShort(ctx, err)
		}
	}
	out, err := e.store(ctx, path, f, read)
	if e.Remote() && fault.Is(err, fault.Canceled) {
		return fault.New(fault.Canceled, "", "interrupted while it was sent").
			WithHint("run the same command again: sent files are kept")
	}
	if err != nil {
		return input.CutShort(ctx, err)
	}
	if byVersion {
		of.Version = out.Version
		if !out.Began.IsZero() {
			of.Since = platform.IDAt(out.Began.Add(-clocksDiffer))
		}
	}
	return e.exported(ctx, out, of, f, began)
}

// clocksDiffer is the largest difference between the clocks of the machines that serve a home.
const clocksDiffer = time.Second

// exported waits for the work of an export if the flags request it, and writes the result.
func (e *Exporter) exported(
	ctx context.Context, out deploy.Exported, of work.Request, f exportFlags, began time.Time,
) error {
	e.leftBehind(out)
	r := api.Report{Environment: e.Env, Version: out.Version, Origin: api.Origin(out.Origin),
		Resources: out.Resources, Changed: out.Changed, Unchanged: out.Unchanged,
		Removed: out.Removed, FilesUploaded: out.FilesUploaded, Moves: api.Moves{Moved: out.Moved, Moves: out.Moves}}
	if !f.wait || f.noRelease {
		return e.Results.Stored(ctx, r, began)
	}
	of.Nothing, of.Idle = !f.check, e.Remote() && !f.check && !f.retry &&
		out.Changed+out.Removed == 0
	done, err := e.Waiter.Wait(ctx, of)
	if err != nil {
		return e.Waiter.Interrupted(err, &of)
	}
	if r.Recovered, err = e.Waiter.Recovered(ctx, of); err != nil {
		return err
	}
	r.Repaired = done.Did.Fixed
	r.Tell(done.Did.Changes)
	// A partial export is part of the versions that follow it.
	if now := done.Progress.Released; !f.partial && now != out.Version && out.Version > 0 {
		r.Superseded = now
	}
	return e.Results.Applied(ctx, r, done, f.filter, began)
}

// store exports the documents. It does not parse them if they have not changed since the last
// export.
func (e *Exporter) store(
	ctx context.Context, path string, f exportFlags, read *input.Loaded,
) (deploy.Exported, error) {
	cache := inputsFile(e.Location, path)
	whole := !f.partial && !f.noRelease && len(f.deleteSets)+len(f.filter) == 0
	lost := e.mayHaveLost(ctx)
	documents := !project.Is(path) // a model depends on more than the texts of its documents
	if read == nil && whole && !lost && documents {
		if out, done, err := e.storeChanges(ctx, path, cache, f); done || err != nil {
			return out, err
		}
	}
	if read == nil {
		var err error
		if read, err = e.Docs.Load(ctx, path, f.partial); err != nil {
			return deploy.Exported{}, err
		}
	}
	if e.Remote() && whole && path != "-" { // no upload is necessary
		if out, known, err := e.known(ctx, read.Model.Fingerprint, f); known || err != nil {
			return out, err
		}
	}
	if err := e.mend(ctx, read, lost); err != nil {
		return deploy.Exported{}, err
	}
	if err := emptySets(ctx, e.Session, f.deleteSets); err != nil {
		return deploy.Exported{}, err
	}
	pr := e.Waiter.Progress()
	out, err := e.limited(ctx, asExport(ctx, e.Docs, path, f, read), f, pr.Sent)
	pr.End()
	if err == nil {
		e.Docs.NoteProject()
		e.Remember(path)
	}
	if err == nil && whole && documents && path != "-" && !e.Remote() {
		saveInputs(cache, read.Inputs)
	}
	return out, err
}

// asExport returns the export of the loaded documents that the flags request. It is called once for
// them.
func asExport(
	ctx context.Context, d *input.Documents, path string, f exportFlags, read *input.Loaded,
) deploy.Export {
	read.Model.Fingerprint = d.Fingerprint(read.Model.Fingerprint)
	target, _ := state.ParseFilter(f.filter) // was parsed before
	return deploy.Export{Model: read.Model, Target: target, Partial: f.partial,
		DeleteSets: f.deleteSets, NoRelease: f.noRelease, Check: f.check, RetryFailed: f.retry,
		Settings: d.Project.Settings,
		Origin:   input.OriginOf(ctx, d.Say, path, f.origin)}
}

// mend stores files of the documents again that the data directory has lost. It stores the files
// that a version names, since the export itself stores new files.
func (e *Exporter) mend(ctx context.Context, read *input.Loaded, lost bool) error {
	if !lost || len(read.Model.Files) == 0 {
		return nil
	}
	versions, _, err := e.Engine.VersionsOf(ctx, e.Env)
	if err != nil {
		return err
	}
	stored := map[string]state.Blob{}
	for i := range versions {
		for _, hash := range versions[i].Files {
			if b, again := read.Model.Files[hash]; again {
				stored[hash] = b
			}
		}
	}
	n, err := e.Own.Files().Mend(ctx, maps.Values(stored))
	if err == nil && n > 0 {
		e.Say("%s lost or damaged in the data directory: stored again", output.Plural(n, "file"))
	}
	return err
}

// mayHaveLost reports whether a resource fails on this machine, possibly because stored bytes are
// missing.
func (e *Exporter) mayHaveLost(ctx context.Context) bool {
	if e.Own == nil {
		return false
	}
	p, err := e.Home.Progress(ctx, e.Env)
	return err == nil && p.Counts[state.StatusFailed] > 0
}

// known handles an export whose inputs equal those of the last one.
func (e *Exporter) known(
	ctx context.Context, documents string, f exportFlags,
) (deploy.Exported, bool, error) {
	out, ok, err := e.Home.Known(ctx, e.Env, e.Docs.Fingerprint(documents),
		e.Docs.Lock.Hashes())
	if !ok || err != nil {
		return out, false, err
	}
	if f.check {
		_, err = e.Home.Schedule(ctx, e.Env, api.Work{Repair: true})
	}
	if err == nil && f.retry && !f.check {
		_, err = e.Home.Schedule(ctx, e.Env, api.Work{RetryFailed: true})
	}
	return out, true, err
}
