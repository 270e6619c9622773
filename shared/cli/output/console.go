// Package output writes the results of commands for people and for programs, and asks questions at a
// terminal. It defines the exit codes.
package output

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

// Console holds the output of a command and its readers: people, programs, and the caller that
// reads the exit code. It also asks questions at a terminal.
type Console struct {
	Stdin   io.Reader
	Out     io.Writer
	Err     io.Writer
	Writing sync.Mutex // held during writes to standard output
	Lost    error      // the first error of a write to standard output
	Code    int        // the exit code if there is no error

	// The values of flags.
	JSON    bool
	Quiet   bool
	NoColor bool
	Full    bool // do not truncate values
	Unfold  bool // show equal items of several agents separately
}

// To returns a console that writes results to w.
func (c *Console) To(w io.Writer) *Console {
	return &Console{Out: w, NoColor: c.NoColor, Unfold: c.Unfold}
}

// Say writes a message for people, unless --quiet is set.
func (c *Console) Say(format string, args ...any) {
	if !c.Quiet {
		c.Complain(format, args...)
	}
}

// Printf writes a result for people.
func (c *Console) Printf(format string, args ...any) {
	_, err := fmt.Fprintf(c.Out, format, harmless(args)...)
	c.wrote(err)
}

// Line writes one JSON object.
func (c *Console) Line(v any) {
	enc := json.NewEncoder(c.Out)
	enc.SetEscapeHTML(false)
	c.wrote(enc.Encode(v))
}

// Output returns standard output for callers that write to it directly.
func (c *Console) Output() io.Writer { return output{c} }

type output struct{ c *Console }

// Write implements io.Writer.
func (o output) Write(b []byte) (int, error) {
	n, err := o.c.Out.Write(b)
	o.c.wrote(err)
	return n, err
}

// wrote records the outcome of a write to standard output: a result that was not written is an
// error.
func (c *Console) wrote(err error) {
	if c.Lost == nil {
		c.Lost = err
	}
}

// Fail reports an error and returns its exit code.
func (c *Console) Fail(err error) int {
	problems, more := diag.Of(err)
	kind := fault.KindOf(err)
	if len(problems) > 0 && kind != fault.Refused {
		kind = fault.Invalid
	}
	if c.JSON {
		l := api.ErrorLine{Error: api.FailureOf(err)}
		if partly := new(PartlyDone); errors.As(err, &partly) {
			var r api.Report
			r.Tell(partly.Changes)
			l.Changes, l.More = r.Changes, r.More
		}
		c.Line(l)
	}
	if !c.JSON || !c.Quiet {
		c.failText(err, problems, more)
	}
	if errors.As(err, new(*LeftBehind)) {
		return Unhealthy
	}
	switch kind {
	case fault.Invalid, fault.Refused:
		return exitInput
	case fault.Timeout:
		return exitTimeout
	case fault.Canceled:
		return Interrupted
	}
	return Fault
}

func (c *Console) failText(err error, problems diag.Problems, more int) {
	if len(problems) == 0 {
		c.Complain("southbound: %v", err)
		if hint := fault.HintOf(err); hint != "" {
			c.Complain("  %s", hint)
		}
		return
	}
	c.Problems(problems, more)
	if fault.Is(err, fault.Refused) {
		c.Complain("southbound: %s", api.FailureOf(err).Message)
		if hint := fault.HintOf(err); hint != "" {
			c.Complain("  %s", hint)
		}
		return
	}
	c.Complain("southbound: %s; nothing was stored", api.CountProblems(len(problems)+more))
}

// Problems lists problems, and counts those that are omitted.
func (c *Console) Problems(problems diag.Problems, more int) {
	lines := compile.Lines()
	for _, p := range problems {
		ComplainOf(c, p, "", lines)
	}
	if more > 0 {
		c.Complain("and %d more", more)
	}
}

// Complain writes a line about an error, also with --quiet.
func (c *Console) Complain(format string, args ...any) {
	_, _ = fmt.Fprintf(c.Err, format+"\n", harmless(args)...)
}

// Warn writes the warnings of a model for people.
func (c *Console) Warn(warnings diag.Problems) {
	lines := compile.Lines()
	for _, w := range warnings {
		ComplainOf(c, w, "warning: ", lines)
	}
}

// ComplainOf writes a problem or a warning.
func ComplainOf(c *Console, p diag.Problem, first string, lines func(diag.Pos) (string, bool)) {
	for _, line := range p.Lines(lines) {
		c.Complain("%s%s", first, diffview.Visible(line, "\t"))
		first = ""
	}
}

// None reports an empty list to people.
func (c *Console) None(what string, filtered bool) {
	switch {
	case c.JSON:
	case filtered:
		c.Say("no %s", what)
	default:
		c.Say("nothing was exported yet; `southbound apply PATH` starts")
	}
}

// Colored reports whether results are shown in colour: on a terminal, unless a flag or a variable
// disables colour.
func (c *Console) Colored() bool {
	_, is := Terminal(c.Out)
	return is && !c.NoColor && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}

// Paint returns a status padded to a width, and in colour on a terminal.
func (c *Console) Paint(s state.Status, width int) Painted {
	text := fmt.Sprintf("%-*s", width, s)
	if !c.Colored() {
		return Painted(text)
	}
	code := "33"
	switch s {
	case state.StatusDeployed:
		code = "32"
	case state.StatusFailed, state.StatusUnavailable:
		code = "31"
	}
	return Painted("\x1b[" + code + "m" + text + "\x1b[0m")
}

// Style returns the display style of differences.
func (c *Console) Style(indent string) diffview.Style {
	return diffview.Style{Indent: indent, Whole: c.Full, Color: c.Colored()}
}

// Diff writes differences: of texts as unified diffs, of other values on one line.
func (c *Console) Diff(changes map[string]diff.Diff) {
	c.Printf("%s", Painted(c.Style("    ").Changes(changes)))
}

// FullFlag adds the flag that shows values untruncated.
func (c *Console) FullFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.Full, "full", false, "show whole values")
}

// FoldFlag adds the flag that shows equal items of several agents separately.
func FoldFlag(c *Console, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.Unfold, "unfold", false,
		"show every change and failure, also equal ones on several agents")
}

// PlanExit defines which findings of a plan set exit code 5, and why the release would be refused.
type PlanExit struct {
	Changes     bool  // planned changes
	Differences bool  // also differences of resources that are only compared
	Refused     error // why its release would be rejected; nil: it would succeed
	Read        bool  // the plan was compared with reality
	Agents      []deploy.AgentChange
}

// ShowPlan writes a plan, and sets the exit code that exit defines for it.
func (c *Console) ShowPlan(planned []deploy.PlannedChange, exit PlanExit) error {
	if c.JSON {
		for i := range planned {
			c.Line(api.PlanLineOf(&planned[i]))
		}
	} else {
		ShowSteps(c, planned)
	}
	summary := api.SummaryOf(planned)
	if c.JSON {
		end := api.PlanEnd{Summary: summary, Read: exit.Read,
			Agents: api.PlannedAgentsOf(exit.Agents)}
		if exit.Refused != nil {
			why := api.FailureOf(exit.Refused)
			end.Refused = &why
		}
		c.Line(end)
	} else {
		showAgents(c, exit.Agents)
		c.Printf("%s\n", PlanText(summary))
	}
	changes := summary["reload"] + summary["move"] +
		summary["create"] + summary["update"] + summary["delete"] + summary["orphan"]
	switch {
	case summary["failed"] > 0:
		c.Code = Unhealthy
	case exit.Changes && (changes > 0 || anyReached(exit.Agents)), exit.Differences && summary["differs"] > 0:
		c.Code = Changed
	}
	return nil
}

// WouldBeRefused reports to people why the release of a version would be refused, if it would.
func WouldBeRefused(c *Console, number int, refused error) {
	if problems, more := diag.Of(refused); len(problems) > 0 && !c.JSON {
		c.Complain("`southbound release %d` would be refused:", number)
		c.Problems(problems, more)
	}
}

// showStep shows the planned change of one resource, if there is one. same names the agents that
// have the same change.
func showStep(c *Console, w *deploy.PlannedChange, word, same string) {
	switch {
	case w.Failed:
		c.Printf("%-9s %s: %s%s\n", word, w.ID, w.Reason, same)
	case w.Action != "none":
		c.Printf("%-9s %s%s%s%s%s\n", word, w.ID, replacedHow(w), Because(w.Reason),
			deletesLater(w), same)
		if w.MovedFrom != "" {
			c.Printf("    moved from %s\n", w.MovedFrom)
		}
		c.Diff(knownChanges(w))
		if text := deploy.MayChangeText(w.KnownAfter); text != "" {
			c.Printf("    %s\n", text)
		}
		if len(w.ReloadFor) > 0 {
			c.Printf("    and reload, since %s\n", changing(w.ReloadFor))
		}
	case len(w.After) > 0:
		c.Printf("%-9s %s%s%s\n", word, w.ID, Because(w.Reason), same)
	case len(w.ReloadFor) > 0:
		c.Printf("%-9s %s, since %s%s\n", word, w.ID, changing(w.ReloadFor), same)
	case len(w.Changes) > 0:
		c.Printf("%-9s %s%s%s\n", word, w.ID, Because(w.Reason), same)
		c.Diff(w.Changes)
	case w.MovedFrom != "":
		c.Printf("%-9s %s, from %s%s\n", word, w.ID, w.MovedFrom, same)
	}
}

// PartlyDone is the error of a command that was ended early, with the changes it had made by then.
type PartlyDone struct {
	Err     error // why it ended
	Changes []api.Changed
}

// Error implements error.
func (p *PartlyDone) Error() string { return p.Err.Error() }

// Unwrap returns the error without the changes.
func (p *PartlyDone) Unwrap() error { return p.Err }

// LeftBehind is the error of a command that ended although work is left that does not end.
type LeftBehind struct{ Err error }

// Error implements error.
func (l *LeftBehind) Error() string { return l.Err.Error() }

// Unwrap returns the reason.
func (l *LeftBehind) Unwrap() error { return l.Err }
