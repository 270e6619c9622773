package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/compile"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/diffview"
	"southbound/shared/fault"
)

// console holds the output of a command and its readers: people, programs, and the caller that
// reads the exit code. It also asks questions at a terminal.
type console struct {
	stdin   io.Reader
	out     io.Writer
	err     io.Writer
	telling sync.Mutex // held during writes to standard output
	lost    error      // the first error of a write to standard output
	code    int        // the exit code if there is no error

	// The values of flags.
	json    bool
	quiet   bool
	noColor bool
	full    bool // do not truncate values
	unfold  bool // show equal items of several agents separately
}

// to returns a console that writes results to w.
func (c *console) to(w io.Writer) *console {
	return &console{out: w, noColor: c.noColor, unfold: c.unfold}
}

// say writes a message for people, unless --quiet is set.
func (c *console) say(format string, args ...any) {
	if !c.quiet {
		c.complain(format, args...)
	}
}

// printf writes a result for people.
func (c *console) printf(format string, args ...any) {
	_, err := fmt.Fprintf(c.out, format, harmless(args)...)
	c.wrote(err)
}

// line writes one JSON object.
func (c *console) line(v any) {
	enc := json.NewEncoder(c.out)
	enc.SetEscapeHTML(false)
	c.wrote(enc.Encode(v))
}

// output returns standard output for callers that write to it directly.
func (c *console) output() io.Writer { return output{c} }

type output struct{ c *console }

// Write implements io.Writer.
func (o output) Write(b []byte) (int, error) {
	n, err := o.c.out.Write(b)
	o.c.wrote(err)
	return n, err
}

// wrote records the outcome of a write to standard output: a result that was not written is an
// error.
func (c *console) wrote(err error) {
	if c.lost == nil {
		c.lost = err
	}
}

// fail reports an error and returns its exit code.
func (c *console) fail(err error) int {
	problems, more := diag.Of(err)
	kind := fault.KindOf(err)
	if len(problems) > 0 && kind != fault.Refused {
		kind = fault.Invalid
	}
	if c.json {
		l := api.ErrorLine{Error: api.FailureOf(err)}
		if partly := new(partlyDone); errors.As(err, &partly) {
			var r api.Report
			r.Tell(partly.changes)
			l.Changes, l.More = r.Changes, r.More
		}
		c.line(l)
	}
	if !c.json || !c.quiet {
		c.failText(err, problems, more)
	}
	switch kind {
	case fault.Invalid, fault.Refused:
		return exitInput
	case fault.Timeout:
		return exitTimeout
	case fault.Canceled:
		return exitInterrupted
	}
	return exitFault
}

func (c *console) failText(err error, problems diag.Problems, more int) {
	if len(problems) == 0 {
		c.complain("southbound: %v", err)
		if hint := fault.HintOf(err); hint != "" {
			c.complain("  %s", hint)
		}
		return
	}
	c.problems(problems, more)
	if fault.Is(err, fault.Refused) {
		c.complain("southbound: %s", api.FailureOf(err).Message)
		if hint := fault.HintOf(err); hint != "" {
			c.complain("  %s", hint)
		}
		return
	}
	c.complain("southbound: %s; nothing was stored", api.CountProblems(len(problems)+more))
}

// problems lists problems, and counts those that are omitted.
func (c *console) problems(problems diag.Problems, more int) {
	lines := compile.Lines()
	for _, p := range problems {
		complainOf(c, p, "", lines)
	}
	if more > 0 {
		c.complain("and %d more", more)
	}
}

// complain writes a line about an error, also with --quiet.
func (c *console) complain(format string, args ...any) {
	_, _ = fmt.Fprintf(c.err, format+"\n", harmless(args)...)
}

// warn writes the warnings of a model for people.
func (c *console) warn(warnings diag.Problems) {
	lines := compile.Lines()
	for _, w := range warnings {
		complainOf(c, w, "warning: ", lines)
	}
}

// complainOf writes a problem or a warning.
func complainOf(c *console, p diag.Problem, first string, lines func(diag.Pos) (string, bool)) {
	for _, line := range p.Lines(lines) {
		c.complain("%s%s", first, diffview.Visible(line, "\t"))
		first = ""
	}
}

// none reports an empty list to people.
func (c *console) none(what string, filtered bool) {
	switch {
	case c.json:
	case filtered:
		c.say("no %s", what)
	default:
		c.say("nothing is there; `southbound apply PATH` starts")
	}
}

// colored reports whether results are shown in colour: on a terminal, unless a flag or a variable
// disables colour.
func (c *console) colored() bool {
	_, is := terminal(c.out)
	return is && !c.noColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// paint returns a status padded to a width, and in colour on a terminal.
func (c *console) paint(s state.Status, width int) painted {
	text := fmt.Sprintf("%-*s", width, s)
	if !c.colored() {
		return painted(text)
	}
	code := "33"
	switch s {
	case state.StatusDeployed:
		code = "32"
	case state.StatusFailed, state.StatusUnavailable:
		code = "31"
	}
	return painted("\x1b[" + code + "m" + text + "\x1b[0m")
}

// style returns the display style of differences.
func (c *console) style(indent string) diffview.Style {
	return diffview.Style{Indent: indent, Whole: c.full, Color: c.colored()}
}

// diff writes differences: of texts as unified diffs, of other values on one line.
func (c *console) diff(changes map[string]diff.Diff) {
	c.printf("%s", painted(c.style("    ").Changes(changes)))
}

// fullFlag adds the flag that shows values untruncated.
func (c *console) fullFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.full, "full", false, "show whole values")
}

// foldFlag adds the flag that shows equal items of several agents separately.
func foldFlag(c *console, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.unfold, "unfold", false,
		"show every change and failure, also equal ones on several agents")
}

// planExit defines which findings of a plan set exit code 5, and why the release would be refused.
type planExit struct {
	changes     bool  // planned changes
	differences bool  // also differences of resources that are only compared
	refused     error // why its release would be rejected; nil: it would succeed
	read        bool  // the plan was compared with reality
	agents      []deploy.AgentChange
}

func (c *console) showPlan(planned []deploy.PlannedChange, exit planExit) error {
	if c.json {
		for i := range planned {
			c.line(api.PlanLineOf(&planned[i]))
		}
	} else {
		showSteps(c, planned)
	}
	summary := api.SummaryOf(planned)
	if c.json {
		end := api.PlanEnd{Summary: summary, Read: exit.read,
			Agents: api.PlannedAgentsOf(exit.agents)}
		if exit.refused != nil {
			why := api.FailureOf(exit.refused)
			end.Refused = &why
		}
		c.line(end)
	} else {
		showAgents(c, exit.agents)
		c.printf("%s\n", planText(summary))
	}
	changes := summary["reload"] + summary["move"] +
		summary["create"] + summary["update"] + summary["delete"] + summary["orphan"]
	switch {
	case summary["failed"] > 0:
		c.code = exitUnhealthy
	case exit.changes && (changes > 0 || anyReached(exit.agents)), exit.differences && summary["differs"] > 0:
		c.code = exitChanges
	}
	return nil
}

// wouldBeRefused reports to people why the release of a version would be refused, if it would.
func wouldBeRefused(c *console, number int, refused error) {
	if problems, more := diag.Of(refused); len(problems) > 0 && !c.json {
		c.complain("`southbound release %d` would be refused:", number)
		c.problems(problems, more)
	}
}

// showStep shows the planned change of one resource, if there is one. same names the agents that
// have the same change.
func showStep(c *console, w *deploy.PlannedChange, word, same string) {
	switch {
	case w.Failed:
		c.printf("%-9s %s: %s%s\n", word, w.ID, w.Reason, same)
	case w.Action != "none":
		c.printf("%-9s %s%s%s%s\n", word, w.ID, because(w.Reason), deletesLater(w), same)
		if w.MovedFrom != "" {
			c.printf("    moved from %s\n", w.MovedFrom)
		}
		c.diff(w.Changes)
		if len(w.ReloadFor) > 0 {
			c.printf("    and reload, since %s\n", changing(w.ReloadFor))
		}
	case len(w.After) > 0:
		c.printf("%-9s %s%s%s\n", word, w.ID, because(w.Reason), same)
	case len(w.ReloadFor) > 0:
		c.printf("%-9s %s, since %s%s\n", word, w.ID, changing(w.ReloadFor), same)
	case len(w.Changes) > 0:
		c.printf("%-9s %s%s%s\n", word, w.ID, because(w.Reason), same)
		c.diff(w.Changes)
	case w.MovedFrom != "":
		c.printf("%-9s %s, from %s%s\n", word, w.ID, w.MovedFrom, same)
	}
}

// partlyDone is the error of a command that was ended early, with the changes it had made by then.
type partlyDone struct {
	error
	changes []api.Changed
}

// Unwrap returns the error without the changes.
func (p *partlyDone) Unwrap() error { return p.error }
