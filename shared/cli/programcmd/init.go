package programcmd

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"southbound/shared/cli/usage"
	"southbound/shared/fault"
)

// The files of a new project. They can be deployed unchanged, and write to the project's own
// directory.
const (
	initProject = `# Contents of this project and place of its state; docs/documents.md describes all settings.
environment: default
data: .southbound
`
	initDocument = `# Resources, one after the other; their order has no meaning. ` +
		"`southbound types`" + ` lists the types.
southbound: 1
defaults: {agent: here}
agents:
  here: {transport: local} # this machine; {transport: ssh, host: 10.0.0.7, user: root} is another
resources:
  - type: std::Null
    attributes: {name: hello, value: world}
  # - type: fs::File
  #   attributes: {path: /etc/motd, content: "Deployed by Southbound.\n", mode: "0644"}
`
	initIgnore = ".southbound/\n"
)

// InitCommand returns the command init.
func (s *Scaffolds) InitCommand() *cobra.Command {
	return &cobra.Command{Use: "init [DIR]", Short: "Create a project",
		Long: "init writes a project file and a first document into DIR (default: the working " +
			"directory). It changes no existing file.",
		Example: "  southbound init\n  southbound init site", Args: usage.AtMostOne("one directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			files, err := begin(dir)
			if err := s.written(".", files, err); err != nil {
				return err
			}
			s.Say("`southbound plan %s` shows the changes, `southbound apply %s` makes them", dir,
				dir)
			return nil
		}}
}

// begin writes the files of a new project, and returns their paths.
func begin(dir string) ([]string, error) {
	texts := []struct{ name, text string }{{"southbound.yaml", initProject},
		{"site.yaml", initDocument}, {".gitignore", initIgnore}}
	for _, f := range texts[:2] {
		if _, err := os.Lstat(filepath.Join(dir, f.name)); err == nil {
			return nil, fault.New(fault.Usage, "init", "%s exists", filepath.Join(dir, f.name)).
				WithHint("name another directory, or remove it")
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { // all users of a project need access
		return nil, fault.Wrap(fault.Unavailable, "make a directory", err)
	}
	var out []string
	for _, f := range texts {
		path := filepath.Join(dir, f.name)
		// all users who work on a project need access to it
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err == nil {
			_, err = file.WriteString(f.text)
			err = errors.Join(err, file.Close())
		}
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, "write "+path, err)
		}
		out = append(out, path)
	}
	return out, nil
}
