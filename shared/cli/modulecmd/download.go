package modulecmd

import (
	"github.com/spf13/cobra"

	"southbound/shared/cli/usage"
	"southbound/shared/lang/modtool"
)

func (ms *Modules) moduleDownload() *cobra.Command {
	var o modtool.DownloadOptions
	cmd := &cobra.Command{
		Use:   "download REQUIREMENT",
		Short: "Download the sources of a module",
		Long: "download fetches a module V2 as sources for its author: a folder of its name with " +
			"model, files, templates and inmanta_plugins. It prefers a source distribution to " +
			"a wheel of the same version. The index is that of project.yml or of pip.",
		Example: "  southbound module download 'net ~=1.0' -d modules\n" +
			"  southbound module download net --install",
		Args: usage.ExactArgs(1, "one module, perhaps with constraints"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := ms.tool().Download(cmd.Context(), args[0], o)
			if err == nil && ms.JSON {
				ms.Line(map[string]any{"path": dir})
			}
			return err
		},
	}
	downloadFlags(cmd, &o)
	return cmd
}

func (ms *Modules) projectDownload() *cobra.Command {
	var o modtool.DownloadOptions
	cmd := &cobra.Command{
		Use: "download", Short: "Download the sources of the project's modules",
		Long: "download fetches the sources of all V2 modules that the project imports into " +
			"downloadpath, in their installed versions. Existing sources stay as they are.",
		Example: "  southbound project download --install", Args: usage.ExactArgs(0, "nothing more"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			dirs, err := ms.tool().DownloadAll(cmd.Context(), o)
			if ms.JSON {
				for _, dir := range dirs {
					ms.Line(map[string]any{"path": dir})
				}
			}
			if err == nil && len(dirs) == 0 {
				ms.Say("the sources of all modules are there")
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
		"output directory (default: downloadpath of the project, or the working directory)")
}
