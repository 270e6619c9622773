package workcmd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// StateCommands inspect and repair the states that handlers keep of resources.
type StateCommands struct {
	*output.Console
	*home.Location
	*home.Session
}

// StateCommand returns the command state with its subcommands.
func (s *StateCommands) StateCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "state", Short: "Inspect or repair a resource's kept state",
		Args: usage.Subcommand, RunE: usage.Help,
		Long: "Some handlers keep state of a resource between runs, sealed: secrets that an API has " +
			"issued, for example. No command shows a secret of a state.",
		Example: "  southbound state show 'http::Object[shop,name=deployer]'\n" +
			"  southbound state export 'http::Object[shop,name=deployer]' --out deployer.state\n" +
			"  southbound state import 'http::Object[shop,name=deployer]' deployer.state\n" +
			"  southbound state forget 'http::Object[shop,name=deployer]'"}
	cmd.AddCommand(s.showCommand(), s.exportCommand(), s.importCommand(), s.forgetCommand())
	return cmd
}

// oneID requires the id of a resource as the first of n arguments.
func oneID(n int, what string) cobra.PositionalArgs {
	exact := usage.ExactArgs(n, what)
	return func(cmd *cobra.Command, args []string) error {
		if err := exact(cmd, args); err != nil {
			return err
		}
		if _, err := resource.ParseID(args[0]); err != nil {
			return fault.New(fault.Usage, cmd.CommandPath(), "%v", err).
				WithHint("name the id of a resource, as `southbound resources` shows it")
		}
		return nil
	}
}

func (s *StateCommands) showCommand() *cobra.Command {
	return &cobra.Command{Use: "show ID", Short: "Show a kept state without its secrets",
		Long: "show prints the revision of the state, the revision of its secret outputs, the name of " +
			"the key that has sealed it, and its size. Types of Terraform providers also show their " +
			"attributes, where the key and the provider are. Values that the schema or the documents " +
			"declare secret are hidden.",
		Example: "  southbound state show 'http::Object[shop,name=deployer]'",
		Args:    oneID(1, "the id of a resource"),
		RunE: s.Reading(func(ctx context.Context, args []string) error {
			k, err := s.Home.KeptState(ctx, s.Env, resource.ID(args[0]))
			if err != nil {
				return err
			}
			if s.JSON {
				s.Line(k)
				return nil
			}
			s.Printf("%s\nrevision  %s\noutputs   %s\nkey       %s\nsize      %d bytes, sealed\n", k.ID,
				k.Revision, cmp.Or(k.Outputs, "none"), cmp.Or(k.Key, "unknown: it is damaged"), k.Bytes)
			for _, note := range k.Notes {
				s.Printf("note      %s\n", output.OneLine(note))
			}
			if len(k.State) == 0 {
				return nil
			}
			text, err := yaml.Marshal(output.Numbered(k.State))
			if err != nil {
				return fault.Wrap(fault.Internal, "show the state", err)
			}
			s.Printf("\n%s", text)
			return nil
		})}
}

func (s *StateCommands) exportCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{Use: "export ID", Short: "Write a kept state to a file, sealed",
		Long: "export writes the state as it is stored, as a JSON object. It is sealed: only " +
			"the key opens it. `southbound state import` accepts it for the same resource and " +
			"environment, as long as the key is there.",
		Example: "  southbound state export 'http::Object[shop,name=deployer]' --out deployer.state",
		Args:    oneID(1, "the id of a resource"),
		RunE: s.Reading(func(ctx context.Context, args []string) error {
			k, err := s.Home.ExportState(ctx, s.Env, resource.ID(args[0]))
			if err != nil || out == "" {
				if err == nil {
					s.Line(k)
				}
				return err
			}
			if err := writeState(out, k); err != nil {
				return err
			}
			if s.JSON {
				s.Line(struct {
					File string `json:"file"`
				}{out})
				return nil
			}
			s.Say("wrote %s", out)
			return nil
		})}
	cmd.Flags().StringVar(&out, "out", "", "new file, which only its owner can read (default: standard output)")
	return cmd
}

// writeState writes an exported state to a new file.
func writeState(path string, k api.SealedState) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Usage, "state export", "%s is there already", path).
			WithHint("name a file that does not exist yet")
	}
	if err != nil {
		return fault.Wrap(fault.Usage, "state export", err)
	}
	b, err := json.Marshal(k)
	if err == nil {
		_, err = f.Write(append(b, '\n'))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return fault.Wrap(fault.Unavailable, "state export", err)
}

func (s *StateCommands) importCommand() *cobra.Command {
	return usage.MessageFlag(&cobra.Command{Use: "import ID FILE",
		Short: "Replace a kept state by an exported one",
		Long: "import replaces the state of a resource by one that `southbound state export` has written " +
			"for the same resource and environment; FILE may be -, the standard input. The next run of " +
			"the resource gets it. Resources that refer to its secret outputs are deployed again if the " +
			"outputs may differ. It fails while the agent of the resource is at work.",
		Example: "  southbound state import 'http::Object[shop,name=deployer]' deployer.state",
		Args:    oneID(2, "the id of a resource and a file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := s.readState(args[1])
			if err == nil {
				err = s.OpenExisting(cmd.Context())
			}
			if err != nil {
				return err
			}
			done, err := s.Home.ImportState(cmd.Context(), s.Env, resource.ID(args[0]), k)
			if err != nil {
				return err
			}
			if s.JSON {
				s.Line(done)
				return nil
			}
			s.Printf("imported the state of %s\n", done.ID)
			if !done.Verified {
				s.Complain("the server has no key to open the state; a run of the resource finds out whether it opens")
			}
			return nil
		}})
}

// maxStateFile is the size in bytes of the largest file with an exported state.
const maxStateFile = 8 << 20

// readState reads an exported state; "-" is the standard input.
func (s *StateCommands) readState(path string) (api.SealedState, error) {
	var out api.SealedState
	from := s.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return out, fault.Wrap(fault.Usage, "state import", err)
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	b, err := io.ReadAll(io.LimitReader(from, maxStateFile+1))
	if err != nil {
		return out, fault.Wrap(fault.Usage, "state import", err)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil || d.More() || len(b) > maxStateFile {
		return out, fault.New(fault.Invalid, "state import", "%s is no exported state", path).
			WithHint("use a file that `southbound state export` has written")
	}
	return out, nil
}

func (s *StateCommands) forgetCommand() *cobra.Command {
	return usage.MessageFlag(&cobra.Command{Use: "forget ID", Short: "Remove a kept state",
		Long: "forget removes the state of a resource. The managed thing stays as it is, and the next run " +
			"of the resource has no state: it may take the thing for missing, or lack secrets that " +
			"the thing has issued. Write a copy first with `southbound state export`. It fails while " +
			"the agent of the resource is at work.",
		Example: "  southbound state forget 'http::Object[shop,name=deployer]'",
		Args:    oneID(1, "the id of a resource"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := s.OpenExisting(cmd.Context()); err != nil {
				return err
			}
			k, err := s.Home.ForgetState(cmd.Context(), s.Env, resource.ID(args[0]))
			if err != nil {
				return err
			}
			if s.JSON {
				s.Line(k)
				return nil
			}
			s.Printf("removed the state of %s\n", k.ID)
			return nil
		}})
}
