package cli

import (
	"github.com/spf13/cobra"

	"southbound/shared/lang/modtool"
)

func (ms *modules) moduleDownload() *cobra.Command {
	var o modtool.DownloadOptions
	cmd := &cobra.Command{
		Use:   "download REQUIREMENT",
		Short: "Fetch the sources of a module from the index, to work on them",
		Long: "download fetches a module V2 and makes of it what its author works on: a folder " +
			"of its name with model,\n" +
			"files, templates and inmanta_plugins. A source distribution goes before a wheel of " +
			"the same version. The\n" +
			"index is that of project.yml or of pip.",
		Example: "  southbound module download 'net ~=1.0' -d modules\n" +
			"  southbound module download net --install",
		Args: exactArgs(1, "one module, perhaps with constraints"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := ms.tool().Download(cmd.Context(), args[0], o)
			if err == nil && ms.json {
				ms.line(map[string]any{"path": dir})
			}
			return err
		},
	}
	downloadFlags(cmd, &o)
	return cmd
}

func (ms *modules) projectDownload() *cobra.Command {
	var o modtool.DownloadOptions
	cmd := &cobra.Command{
		Use: "download", Short: "Fetch the sources of the modules that the project imports",
		Long: "download fetches the sources of all modules V2 that the project imports into " +
			"downloadpath: those of the\n" +
			"versions that are installed. Modules whose sources are there stay as they are.",
		Example: "  southbound project download --install", Args: exactArgs(0, "nothing more"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dirs, err := ms.tool().DownloadAll(cmd.Context(), o)
			if ms.json {
				for _, dir := range dirs {
					ms.line(map[string]any{"path": dir})
				}
			}
			if err == nil && len(dirs) == 0 {
				ms.say("the sources of all modules are there")
			}
			return err
		},
	}
	downloadFlags(cmd, &o)
	return cmd
}

func downloadFlags(cmd *cobra.Command, o *modtool.DownloadOptions) {
	cmd.Flags().BoolVar(&o.Install, "install", false, "install it in editable form, too")
	cmd.Flags().BoolVar(&o.Dev, "pre", false, "development releases as well")
	cmd.Flags().StringVarP(&o.Dir, "directory", "d", "",
		"where to; downloadpath of the project, or the working directory, unless said")
}
