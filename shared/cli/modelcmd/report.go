package modelcmd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/fault"
	render "southbound/shared/internal/report"
)

// reportFlags are the flags of report.
type reportFlags struct {
	format, title, documents, prefix, fallback, marker string
	limit                                              int
	comment                                            bool
}

// Reports is report: it converts the output of other commands to the formats of pipelines.
type Reports struct {
	*output.Console
	Docs *input.Documents
}

// ReportCommand makes the command report, which renders the JSON output of other commands for
// pipelines.
func (rp *Reports) ReportCommand() *cobra.Command {
	var f reportFlags
	cmd := &cobra.Command{
		Use: "report [FILE...]", Short: "Show results of --json in a pipeline",
		Long: "report reads the output that plan, dryrun, diff, apply, export, deploy, repair, " +
			"release, validate, resources or status wrote with --json, from files or standard " +
			"input. It writes text, Markdown, annotations of GitHub, or a code quality report " +
			"of GitLab. With --comment it writes the Markdown into one comment of the pull " +
			"request whose workflow runs it, and updates that comment later. It needs no data " +
			"directory.",
		Example: "  southbound report --format markdown plan.jsonl >> \"$GITHUB_STEP_SUMMARY\"\n" +
			"  southbound report --format gitlab plan.jsonl > gl-code-quality-report.json\n" +
			"  southbound report --format github --documents . plan.jsonl",
		RunE: func(cmd *cobra.Command, args []string) error {
			return rp.report(cmd.Context(), args, f)
		},
	}
	output.FoldFlag(rp.Console, cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.format, "format", "text", "text, markdown, github or gitlab")
	fl.StringVar(&f.title, "title", "", "heading of the Markdown")
	fl.StringVar(&f.documents, "documents", "",
		"path of the documents, to show the positions of resources")
	fl.StringVar(&f.prefix, "prefix", "",
		"prefix of the documents' paths in the repository")
	fl.StringVar(&f.fallback, "fallback", "southbound.yaml",
		"file at which GitLab shows findings without a position")
	fl.IntVar(&f.limit, "limit", 0, "maximum size of the Markdown in bytes; the rest is counted")
	fl.BoolVar(&f.comment, "comment", false,
		"write the Markdown as a comment of the pull request (in a workflow of GitHub)")
	fl.StringVar(&f.marker, "marker", "",
		"key of the comment, if a pull request has several reports (default: the title)")
	return cmd
}

func (rp *Reports) report(ctx context.Context, files []string, f reportFlags) error {
	r := render.Report{Title: f.title, Unfold: rp.Unfold}
	if len(files) == 0 {
		files = []string{"-"}
	}
	for _, name := range files {
		if err := rp.readReport(&r, name); err != nil {
			return err
		}
	}
	if f.documents != "" {
		r.Place = rp.Docs.DescribedAt(ctx, f.documents)
	}
	if f.comment {
		return comment(ctx, &r, f)
	}
	switch f.format {
	case "text":
		return r.Text(rp.Output(), f.prefix)
	case "markdown":
		return r.Markdown(rp.Output(), f.limit)
	case "github":
		return r.GitHub(rp.Output(), f.prefix)
	case "gitlab":
		return r.GitLab(rp.Output(), f.prefix, f.fallback)
	}
	return fault.New(fault.Usage, "report", "%q is not a format", f.format).
		WithHint("there are text, markdown, github and gitlab")
}

func (rp *Reports) readReport(r *render.Report, name string) error {
	from := rp.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if errors.Is(err, fs.ErrNotExist) {
			return fault.New(fault.Usage, "report", "there is no file %s", name)
		}
		if err != nil {
			return fault.Wrap(fault.Unavailable, "report", err)
		}
		defer file.Close()
		from = file
	}
	if from == nil {
		from = strings.NewReader("")
	}
	return r.Read(from)
}

// comment finds the pull request to comment on, from the event that GitHub passes to workflows.
func comment(ctx context.Context, r *render.Report, f reportFlags) error {
	var event struct {
		PullRequest struct {
			Number int `json:"number"`
		} `json:"pull_request"`
	}
	if b, err := os.ReadFile(os.Getenv("GITHUB_EVENT_PATH")); err == nil {
		_ = json.Unmarshal(b, &event) // other kinds of events have no pull request
	}
	c := render.Comment{API: home.Pick("", "GITHUB_API_URL", "", "https://api.github.com"),
		Repository: os.Getenv("GITHUB_REPOSITORY"), Number: event.PullRequest.Number,
		Token: os.Getenv("GITHUB_TOKEN"), Marker: f.marker}
	if c.Marker == "" {
		c.Marker = f.title
	}
	if f.limit == 0 {
		f.limit = render.MaxComment
	}
	var text strings.Builder
	if err := r.Markdown(io.Writer(&text), f.limit); err != nil {
		return err
	}
	return c.Put(ctx, text.String())
}
