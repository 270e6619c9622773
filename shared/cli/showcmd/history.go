package showcmd

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/deploy/model"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// History lists environments and versions, and shows a version.
type History struct {
	*output.Console
	*home.Location
	*home.Session
}

// EnvironmentsCommand returns the command environments.
func (h *History) EnvironmentsCommand() *cobra.Command {
	return &cobra.Command{Use: "environments", Short: "List environments",
		Example: "  southbound environments\n  southbound environments --json",
		Args:    usage.ExactArgs(0, "nothing more"), RunE: usage.After(h.OpenToRead, h.environments)}
}

func (h *History) environments(ctx context.Context, _ []string) error {
	if !h.Remote() && h.Fresh() {
		return h.Missing(nil)
	}
	all, err := h.Home.Summaries(ctx)
	if err != nil {
		return err
	}
	for i := range all {
		one := &all[i]
		if h.JSON {
			h.Line(one)
			continue
		}
		h.Printf("%-20s  version %d: %s\n", one.Environment, one.Version,
			output.CountsText(one.Counts)+haltedText(one.Halted))
	}
	if len(all) == 0 {
		h.None("", false)
	}
	return nil
}

func haltedText(halted bool) string {
	if halted {
		return "; halted"
	}
	return ""
}

// DiffCommand returns the command diff.
func (h *History) DiffCommand() *cobra.Command {
	var exitCode bool
	cmd := &cobra.Command{Use: "diff A B", Short: "Compare two versions",
		Long: "diff shows the changes from version A to version B. It compares the exported " +
			"versions, not the machines: use `southbound dryrun B` for that. If B is the " +
			"earlier one, it shows the effect of `southbound release B`.",
		Example: "  southbound diff 3 4\n  southbound diff 4 3 --exit-code",
		Args:    usage.ExactArgs(2, "two versions"),
		RunE: h.Reading(func(ctx context.Context, args []string) error {
			from, err := usage.VersionNumber("diff", args[0])
			if err != nil {
				return err
			}
			to, err := usage.VersionNumber("diff", args[1])
			if err != nil {
				return err
			}
			d, err := h.Home.Compare(ctx, h.Env, from, to, h.Full)
			if err != nil {
				return err
			}
			err = h.ShowPlan(d.Planned, output.PlanExit{Changes: exitCode, Refused: d.Refused})
			if err == nil {
				output.WouldBeRefused(h.Console, to, d.Refused)
			}
			return err
		})}
	cmd.Flags().BoolVar(&exitCode, "exit-code", false, "exit with 5 if anything differs")
	h.FullFlag(cmd)
	output.FoldFlag(h.Console, cmd)
	return cmd
}

// ShowCommand returns the command show.
func (h *History) ShowCommand() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{Use: "show N [ID]",
		Short: "Print a version as a document",
		Long: "show prints a version as a document that gives the same version when it is " +
			"exported again. Parameters and facts have their values of that time. Files are " +
			"named by their SHA-256; with --out they are written as well.",
		Example: "  southbound show 12\n  southbound show 12 'fs::File[web1,path=/etc/motd]'\n" +
			"  southbound show 12 --out version-12",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 && len(args) != 2 {
				return usage.ExactArgs(1, "a version, and an id if you like")(cmd, args)
			}
			return nil
		},
		RunE: h.Reading(func(ctx context.Context, args []string) error {
			return h.show(ctx, args, dir)
		})}
	cmd.Flags().StringVar(&dir, "out", "",
		"write the document and its files into this new directory")
	return cmd
}

// shown is the output of show: format 1.
type shown struct {
	Southbound int             `json:"southbound" yaml:"southbound"`
	Agents     described       `json:"agents,omitempty" yaml:"agents,omitempty"`
	Resources  []shownResource `json:"resources" yaml:"resources"`
}

type shownResource struct {
	Type           string         `json:"type" yaml:"type"`
	Agent          string         `json:"agent" yaml:"agent"`
	Attributes     map[string]any `json:"attributes" yaml:"attributes"`
	Requires       []resource.ID  `json:"requires,omitempty" yaml:"requires,omitempty"`
	Set            string         `json:"set,omitempty" yaml:"set,omitempty"`
	Purged         bool           `json:"purged,omitempty" yaml:"purged,omitempty"`
	PurgeOnDelete  bool           `json:"purge_on_delete,omitempty" yaml:"purge_on_delete,omitempty"`
	PreventDestroy bool           `json:"prevent_destroy,omitempty" yaml:"prevent_destroy,omitempty"`
	ReportOnly     bool           `json:"report_only,omitempty" yaml:"report_only,omitempty"`
	SendEvent      bool           `json:"send_event,omitempty" yaml:"send_event,omitempty"`
	ReceiveEvents  *bool          `json:"receive_events,omitempty" yaml:"receive_events,omitempty"`
}

func shownOf(d *api.Description) shownResource {
	r := shownResource{Type: d.Type, Agent: d.Agent, Attributes: withoutCode(d.Attributes),
		Requires: d.Requires, Set: d.Set, Purged: d.Purged,
		PurgeOnDelete: d.PurgeOnDelete, PreventDestroy: d.PreventDestroy, ReportOnly: d.ReportOnly,
		SendEvent: d.SendEvent}
	if !d.ReceiveEvents {
		r.ReceiveEvents = &d.ReceiveEvents
	}
	return r
}

// withoutCode returns attributes without the code of a handler in Python and without the declaration of
// the type, which documents must not hold.
func withoutCode(attributes map[string]any) map[string]any {
	_, coded := attributes[model.CodeAttribute]
	if _, declared := attributes[model.TypeAttribute]; !coded && !declared {
		return attributes
	}
	out := maps.Clone(attributes)
	for _, name := range append(model.CodeAttributes(), model.TypeAttribute) {
		delete(out, name)
	}
	return out
}

func (h *History) show(ctx context.Context, args []string, dir string) error {
	number, err := usage.VersionNumber("show", args[0])
	if err != nil {
		return err
	}
	only := resource.ID("")
	if len(args) == 2 {
		if _, err := resource.ParseID(args[1]); err != nil {
			return fault.New(fault.Usage, "show", "%v", err).WithHint("%s", fault.HintOf(err))
		}
		only = resource.ID(args[1])
	}
	v, err := h.Home.Described(ctx, h.Env, number)
	if err != nil {
		return err
	}
	var list []api.Description
	if err := h.Home.Descriptions(ctx, h.Env, number, only, func(d *api.Description) error {
		list = append(list, *d)
		return nil
	}); err != nil {
		return err
	}
	slices.SortFunc(list, func(x, y api.Description) int { return cmp.Compare(x.ID, y.ID) })
	doc := shown{Southbound: 1, Resources: []shownResource{}, Agents: described{}}
	for i := range list {
		doc.Resources = append(doc.Resources, shownOf(&list[i]))
		if about := v.Agents[list[i].Agent]; about != nil {
			doc.Agents[list[i].Agent] = about
		}
	}
	if only == "" {
		doc.Agents = v.Agents
	}
	if dir != "" {
		return h.writeShown(ctx, &v.Version, doc, dir)
	}
	if h.JSON {
		h.Line(doc)
		return nil
	}
	text, err := yamlOf(&v.Version, doc)
	if err != nil {
		return err
	}
	_, err = h.Output().Write(text)
	return err
}

// yamlOf writes a document for people, preceded by its origin.
func yamlOf(v *api.Version, doc shown) ([]byte, error) {
	for i := range doc.Resources {
		doc.Resources[i].Attributes, _ = output.Numbered(doc.Resources[i].Attributes).(map[string]any)
	}
	for name, options := range doc.Agents {
		doc.Agents[name], _ = output.Numbered(options).(map[string]any)
	}
	text, err := yaml.Marshal(doc)
	head := "# version " + strconv.Itoa(v.Version) + ", " + v.At.Format(time.RFC3339) +
		input.OriginText(v.Origin) + "\n"
	return append([]byte(head), text...), fault.Wrap(fault.Internal, "write the document", err)
}

// writeShown writes a document and its files into a new directory.
func (h *History) writeShown(ctx context.Context, v *api.Version, doc shown, dir string) error {
	files := filesOf(doc)
	text, err := yamlOf(v, doc)
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); errors.Is(err, fs.ErrExist) {
		return fault.New(fault.Usage, "show", "%s exists", dir).
			WithHint("name a directory that does not exist yet")
	} else if err != nil {
		return fault.Wrap(fault.Unavailable, "make a directory", err)
	}
	if len(files) > 0 {
		if err := os.Mkdir(filepath.Join(dir, api.FilesDir), 0o700); err != nil {
			return fault.Wrap(fault.Unavailable, "make a directory", err)
		}
	}
	for _, hash := range files {
		b, err := h.Home.VersionFile(ctx, h.Env, v.Version, hash)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, api.FilesDir, hash), b, 0o600); err != nil {
			return fault.Wrap(fault.Unavailable, "write a file", err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "resources.yaml"), text, 0o600); err != nil {
		return fault.Wrap(fault.Unavailable, "write the document", err)
	}
	if h.JSON {
		h.Line(struct {
			Version   int    `json:"version"`
			Directory string `json:"directory"`
			Resources int    `json:"resources"`
			Files     int    `json:"files"`
		}{v.Version, dir, len(doc.Resources), len(files)})
		return nil
	}
	h.Say("version %d: %s and %s in %s", v.Version, output.Plural(len(doc.Resources), "resource"),
		output.Plural(len(files), "file"), dir)
	return nil
}

// filesOf returns the hashes of the files that a document refers to, sorted.
func filesOf(doc shown) []string {
	var out []string
	var find func(v any)
	find = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if path, is := v["file"].(string); is && len(v) == 1 {
				out = append(out, strings.TrimPrefix(path, api.FilesDir+"/"))
				return
			}
			if _, is := v["value"]; is && len(v) == 1 {
				return
			}
			for _, e := range v {
				find(e)
			}
		case []any:
			for _, e := range v {
				find(e)
			}
		}
	}
	for i := range doc.Resources {
		for _, v := range doc.Resources[i].Attributes {
			find(v)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// inForceText describes when a version was in force, and who released it.
func inForceText(in api.InForce) string {
	text := "in force since " + in.From.Format(time.RFC3339)
	if in.To != nil {
		text = "in force from " + in.From.Format(time.RFC3339) + " to " + in.To.Format(time.RFC3339)
	}
	if in.By != "" {
		text += ", released by " + output.OneLine(in.By)
	}
	if in.Message != "" {
		first, _, _ := strings.Cut(in.Message, "\n")
		text += ": " + output.OneLine(first)
	}
	return text
}

// VersionsCommand returns the command versions.
func (h *History) VersionsCommand() *cobra.Command {
	return &cobra.Command{
		Use: "versions", Short: "List versions",
		Example: "  southbound versions\n  southbound versions --json",
		Args:    usage.ExactArgs(0, "nothing more"), RunE: h.Reading(h.versions),
	}
}

func (h *History) versions(ctx context.Context, _ []string) error {
	vs, err := h.Home.Versions(ctx, h.Env)
	if err != nil {
		return err
	}
	for _, v := range vs {
		if h.JSON {
			h.Line(v)
			continue
		}
		mark := ""
		if v.Released {
			mark = "  released"
		}
		h.Printf("%5d  %s  %s%s%s\n", v.Version, v.At.Format(time.RFC3339),
			output.Plural(v.Resources, "resource"), mark, input.OriginText(v.Origin))
		for _, in := range v.InForce {
			h.Printf("       %s\n", inForceText(in))
		}
	}
	if len(vs) == 0 {
		h.None("", false)
	}
	return nil
}
