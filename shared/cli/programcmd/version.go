// Package programcmd has the commands about the program itself: its types, its version, scaffolds and
// the language server.
package programcmd

import (
	"runtime/debug"

	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/console"
	"southbound/shared/platform"

	"github.com/spf13/cobra"
)

// release is the output of `version` for this program.
type release struct {
	Version  string `json:"version"`
	Build    string `json:"build"`    // distinguishes builds: the digest that actions name
	Revision string `json:"revision"` // the commit that was built; "" outside of git
	Modified bool   `json:"modified"` // files of that commit were changed before the build
	Go       string `json:"go"`
	Console  string `json:"console"` // what pages of the console have of diagrams and icons
}

// released reads the build information that the toolchain wrote into this program.
func released() release {
	out := release{Version: home.Version, Build: platform.Build(),
		Console: console.Assets()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return out
	}
	out.Go = info.GoVersion
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			out.Revision = s.Value
		case "vcs.modified":
			out.Modified = s.Value == "true"
		}
	}
	return out
}

// String implements fmt.Stringer.
func (r release) String() string {
	text := r.Version
	if r.Revision != "" {
		text += " (commit " + r.Revision
		if r.Modified {
			text += ", with changes"
		}
		text += ")"
	}
	return text
}

// ProgramCommands concern this program: its version, and the commands that editors and transports
// to machines start.
type ProgramCommands struct {
	*output.Console
	*home.Program
}

// VersionCommand returns the command version.
func (c *ProgramCommands) VersionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and its commit",
		Example: "  southbound version\n  southbound version --json",
		Args:    usage.ExactArgs(0, "nothing more"),
		RunE: func(*cobra.Command, []string) error {
			if r := released(); c.JSON {
				c.Line(r)
			} else {
				c.Printf("southbound %s\nconsole: %s\n", r, r.Console)
			}
			return nil
		},
	}
}
