package servicecmd

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/compile"
	"southbound/shared/deploy/state"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/module"
	"southbound/shared/lang/project"
	"southbound/shared/service/bundle"
	"southbound/shared/service/catalog"
)

// serviceExporter stores the services of a model.
type serviceExporter struct {
	*output.Console
	*home.Location
	*home.Session
	docs *input.Documents
}

func (se *serviceExporter) serviceExport() *cobra.Command {
	noTrial := false
	cmd := &cobra.Command{
		Use: "export PATH", Short: "Store the services of a model",
		Long: "export compiles a model without instances, and stores its services in the " +
			"environment: they can be ordered from then on. The model is stored with them, and " +
			"orders are compiled with it. Nothing is deployed. A service that the model no " +
			"longer has is removed; if it has instances, the export is refused. Suggested " +
			"values are stored as well. Existing instances keep their definition until they " +
			"are updated, or `southbound service rollout` moves them. PATH is a directory with " +
			"a main.cf or a .cf file.\nEach service is tried: the model is compiled with an " +
			"instance with made-up attributes, so that mistakes in implementations show before " +
			"the first order. The annotation \"example\" of an attribute gives its value. " +
			"--no-trial omits that.",
		Example: "  southbound service export .\n  southbound service export main.cf --json",
		Args:    usage.ExactArgs(1, "one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return se.exportServices(cmd.Context(), args[0], noTrial)
		},
	}
	cmd.Flags().BoolVar(&noTrial, "no-trial", false, "compile no made-up instances")
	return cmd
}

// exportedServices is the JSON output of service export.
type exportedServices struct {
	Environment string               `json:"environment"`
	Bundle      string               `json:"bundle"`
	Files       int                  `json:"files"`
	Bytes       int                  `json:"bytes"`
	Services    []api.OfferedService `json:"services"`
}

func (se *serviceExporter) exportServices(ctx context.Context, path string, noTrial bool) error {
	if err := se.Locate(path); err != nil {
		return err
	}
	suggested := lsm.NewServices(nil)
	c, err := se.docs.ModelFor(ctx, path, suggested)
	if err != nil {
		return err
	}
	se.Warn(c.Warnings)
	services, err := catalog.Of(c.Result)
	if err != nil {
		return err
	}
	if !noTrial {
		if err := se.trials(ctx, path, services); err != nil {
			return err
		}
	}
	packed, err := se.packed(c)
	if err != nil {
		return err
	}
	if err := se.Reach(ctx); err != nil {
		return err
	}
	changes, err := se.Home.Offer(ctx, se.Env, state.Blob{
		Hash: packed.Digest, Size: int64(len(packed.Data)), Data: packed.Data,
	}, services)
	if err != nil {
		return err
	}
	for _, s := range suggested.Suggestions {
		if err := se.Home.Suggest(ctx, se.Env, s.Parameter, s.Values); err != nil {
			return err
		}
	}
	if !se.Remote() && slices.ContainsFunc(c.Project.Modules, (*module.Module).HasCode) {
		// the compiled model may have handlers in Python, which run with this project
		se.docs.Handled = path
		se.docs.NoteProject()
	}
	se.showExported(exportedServices{
		Environment: se.Env, Bundle: packed.Digest, Files: packed.Files, Bytes: len(packed.Data),
		Services: changes,
	})
	return nil
}

// pack packs a model that was compiled.
func (se *serviceExporter) packed(c *compile.Compiled) (*bundle.Packed, error) {
	m := bundle.Model{Main: c.Project.Main, Modules: c.Project.Modules, Skip: []string{se.Data},
		Files: se.docs.Lock.Files()}
	dir := filepath.Dir(m.Main)
	env := project.Environment(dir, os.Getenv("VIRTUAL_ENV"))
	for _, one := range m.Modules {
		if one.Generation == 2 || one.HasCode() { // V2
			if m.Env = env; env == "" {
				m.Env = filepath.Join(dir, module.EnvDir) // where it would be
			}
		}
	}
	return bundle.Pack(m)
}

// showExported writes the result of an export.
func (se *serviceExporter) showExported(out exportedServices) {
	if se.JSON {
		se.Line(out)
		return
	}
	const kib = 1 << 10
	offered := 0
	for _, s := range out.Services {
		if s.Change != "removed" {
			offered++
		}
	}
	se.Printf("%s of %s: the model is stored (%s, %d KiB)\n", output.Plural(offered, "service"),
		out.Environment,
		output.Plural(out.Files, "file"), (out.Bytes+kib-1)/kib)
	for _, s := range out.Services {
		name := s.Name
		if s.Version > 0 {
			se.Printf("  %s version %d: %s\n", name, s.Version, s.Change)
			continue
		}
		se.Printf("  %s: %s\n", name, s.Change)
	}
	if offered == 0 {
		se.Say("the model offers no services; docs/catalog.md shows how it would")
	}
}
