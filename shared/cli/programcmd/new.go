package programcmd

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/scaffold"
)

// Scaffolds are init and new: they write the first files of a project or module.
type Scaffolds struct {
	*output.Console
	*home.Program
}

// NewCommand returns the command new.
func (s *Scaffolds) NewCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "new", Short: "Create a handler, or a program with handlers",
		Example: "  southbound new pack acme\n  southbound new handler net::Vlan",
		Long: "new writes code that builds and passes its tests, as a start for your own. " +
			"docs/handlers.md continues from there.",
		Args: usage.Subcommand, RunE: usage.Help,
	}
	source, empty := "", false
	pack := &cobra.Command{
		Use: "pack NAME", Short: "Create a program with handlers, also for Lambda",
		Example: "  southbound new pack acme --southbound ~/src/southbound",
		Args:    usage.ExactArgs(1, "one name"), RunE: func(_ *cobra.Command, args []string) error {
			dir, err := os.Getwd()
			if err != nil {
				return fault.Wrap(fault.Usage, "find the working directory", err)
			}
			files, err := scaffold.Pack(dir, args[0], source, empty)
			if err := s.written(dir, files, err); err != nil {
				return err
			}
			s.Say("cd %s && go test ./... && go build -o bin/%s . && bin/%s types", args[0],
				args[0], args[0])
			return nil
		},
	}
	pack.Flags().BoolVar(&empty, "empty", false,
		"without a type to begin with; new handler adds the first")
	pack.Flags().StringVar(&source, "southbound", "",
		"a checkout of Southbound to build on; not needed in one")
	handler := &cobra.Command{
		Use: "handler TYPE", Short: "Create a handler in the current Go module",
		Example: "  southbound new handler net::Vlan",
		Args:    usage.ExactArgs(1, "one type"), RunE: func(_ *cobra.Command, args []string) error {
			dir, err := os.Getwd()
			if err != nil {
				return fault.Wrap(fault.Usage, "find the working directory", err)
			}
			var known []string
			for _, t := range provider.Types(s.Definitions) {
				known = append(known, t.Name)
			}
			files, err := scaffold.Handler(dir, args[0], known)
			if err := s.written(dir, files, err); err != nil {
				return err
			}
			s.Say("go test ./handlers/...")
			return nil
		},
	}
	cmd.AddCommand(pack, handler)
	return cmd
}

// written shows the files that were written.
func (s *Scaffolds) written(dir string, files []string, err error) error {
	if err != nil {
		return err
	}
	for i, f := range files {
		if rel, err := filepath.Rel(dir, f); err == nil {
			files[i] = rel
		}
	}
	if s.JSON {
		s.Line(map[string][]string{"files": files})
		return nil
	}
	for _, f := range files {
		s.Printf("%s\n", f)
	}
	return nil
}
