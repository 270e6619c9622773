package modulecmd

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/fault"
	"southbound/shared/lang/python/packages"
)

// Python has the commands about the Python environment of a project.
type Python struct {
	*output.Console
	Docs *input.Documents
}

// PythonCommand returns the command python with its subcommands.
func (p *Python) PythonCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "python", Short: "Bundle Python packages for functions",
		Long: "python works on the Python packages of a project, for handlers in Python that " +
			"functions run.",
		Example: "  southbound python bundle", Args: usage.Subcommand, RunE: usage.Help,
	}
	cmd.AddCommand(p.bundleCommand())
	return cmd
}

// defaultPlatform is the platform of the Python function with the defaults of the template.
func defaultPlatform() packages.Platform {
	return packages.Platform{Architecture: "arm64", Python: "3.13"}
}

func (p *Python) bundleCommand() *cobra.Command {
	on, out, room := defaultPlatform(), "", 250
	cmd := &cobra.Command{
		Use: "bundle [PATH]", Short: "Pack a project's Python packages into a zip",
		Long: "bundle packs the packages of the project's virtual environment into one zip, for " +
			"the platform of a function: wheels only, by hash, with uv. `export` does the same " +
			"for a stack with a Python function. A file python.lock beside project.yml, a " +
			"requirements file with hashes, takes precedence over the environment. Handlers use " +
			"the code of modules that versions have, not that in the zip.",
		Example: "  southbound python bundle\n" +
			"  southbound python bundle site --architecture x86_64 --out packages.zip",
		Args: usage.AtMostOne("one path"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "."
			if len(args) == 1 {
				path = args[0]
			}
			b, err := p.Docs.Bundle(cmd.Context(), path, on, int64(room)<<20)
			if err != nil {
				return err
			}
			if out != "" {
				if err := copyFile(b.Path, out); err != nil {
					return err
				}
				b.Path = out
			}
			return p.show(b)
		},
	}
	f := cmd.Flags()
	f.StringVar(&on.Architecture, "architecture", on.Architecture, "processor: arm64 or x86_64")
	f.StringVar(&on.Python, "python", on.Python, "version of Python in the function")
	f.IntVar(&room, "room", room, "MB that the packages may take unpacked")
	f.StringVar(&out, "out", "", "also write the zip to this file")
	return cmd
}

// show writes the description of a bundle.
func (p *Python) show(b *packages.Bundle) error {
	if p.JSON {
		p.Line(b)
		return nil
	}
	w := p.Output()
	for _, pkg := range b.Packages {
		fmt.Fprintf(w, "%-40s %7d KB\n", pkg.Name+" "+pkg.Version, (pkg.Bytes+1023)>>10)
	}
	_, err := fmt.Fprintf(w, "%s for %s: %d MB, %d MB unpacked\n%s\nsha256 %s\n",
		output.Plural(len(b.Packages), "package"), b.Platform, megabytes(b.Size), megabytes(b.Unpacked),
		b.Path, b.Hash)
	return fault.Wrap(fault.Unavailable, "write to standard output", err)
}

// megabytes returns a size in megabytes, rounded up.
func megabytes(n int64) int64 { return (n + 1<<20 - 1) >> 20 }

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return fault.Wrap(fault.Unavailable, "write "+to, err)
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(to)
	if err != nil {
		return fault.Wrap(fault.Usage, "write "+to, err)
	}
	_, err = io.Copy(out, in)
	if failed := out.Close(); err == nil {
		err = failed
	}
	return fault.Wrap(fault.Unavailable, "write "+to, err)
}
