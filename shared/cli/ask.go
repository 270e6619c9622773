package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/fault"
)

// maxAsked is how many resources a question names.
const maxAsked = 20

// limited exports a model, unless the export would delete more resources than the limit allows. At
// a terminal, limited asks the user to confirm these deletions and the resources that would be left
// behind. Elsewhere, the documents are taken as the confirmation.
func (e *exporter) limited(
	ctx context.Context, x deploy.Export, f exportFlags, sent func(api.Sent),
) (deploy.Exported, error) {
	if f.allowDelete >= 0 {
		x.Limits = &deploy.Limits{Delete: f.allowDelete, Leave: -1}
	}
	if _, sits := terminal(e.stdin); x.NoRelease || f.yes || !f.asks || !sits {
		x.LetGo = true
		return e.home.Export(ctx, e.env, x, sent)
	}
	bound := x.Limits
	x.Limits = &deploy.Limits{} // the user confirms every resource that leaves the model
	out, err := e.home.Export(ctx, e.env, x, sent)
	for fault.Is(err, fault.Refused) {
		if x.Expect != "" {
			e.complain("the state has changed in between")
		}
		var d deploy.DryRun
		x.Expect, x.Limits = "", bound
		if d, err = e.home.Plan(ctx, e.env, x, deploy.CompareOptions{}); err != nil {
			return out, err
		}
		gone := deleted(d.Planned)
		if bound == nil || len(gone) <= bound.Delete {
			if err := e.confirm(ctx, gone, left(d.Planned), 0); err != nil {
				return out, err
			}
			x.Expect = d.State
		}
		if out, err = e.home.Export(ctx, e.env, x, sent); x.Expect == "" {
			break
		}
	}
	return out, err
}

// leftBehind reports the resources that an export has left behind: the documents may be only a part
// of those that were exported before.
func (e *exporter) leftBehind(out deploy.Exported) {
	if out.LeftBehind == 0 {
		return
	}
	e.say("%s: %s", leftText(out.LeftBehind),
		moreIDs(out.FirstLeft[:min(len(out.FirstLeft), maxTold)], out.LeftBehind))
	e.say("  `southbound resources status=orphaned` lists them, `southbound forget status=orphaned` " +
		"forgets them; --partial keeps what is not in the documents")
}

// leftText counts the resources that left the documents and are not deleted.
func leftText(n int) string {
	if n == 1 {
		return "1 left the documents and stays as it is"
	}
	return fmt.Sprintf("%d left the documents and stay as they are", n)
}

// maxTold is how many resources a message names.
const maxTold = 3

// are returns a number with its noun and its verb.
func are(n int, what string) string {
	if n == 1 {
		return plural(n, what) + " is"
	}
	return plural(n, what) + " are"
}

// deleted returns the planned deletions, including those of resources that are then created again.
func deleted(planned []deploy.PlannedChange) []deploy.PlannedChange {
	var out []deploy.PlannedChange
	for _, w := range planned {
		if (w.Action == "delete" || w.Replace || w.Deletes) && !w.Failed {
			out = append(out, w)
		}
	}
	return out
}

// left returns the resources that would leave the model and keep their state.
func left(planned []deploy.PlannedChange) []deploy.PlannedChange {
	var out []deploy.PlannedChange
	for _, w := range planned {
		if w.Action == "orphan" {
			out = append(out, w)
		}
	}
	return out
}

// confirm asks the user whether resources may be deleted, and left behind, by a version that is
// released, or, if number is 0, by documents.
func (c *console) confirm(
	ctx context.Context, gone, stays []deploy.PlannedChange, version int,
) error {
	without, hint := "these documents", "--yes answers beforehand"
	if version > 0 {
		without = fmt.Sprintf("version %d", version)
	} else if len(stays) > 0 {
		hint += "; --partial keeps what is not in the documents"
	}
	var b strings.Builder
	for i, w := range slices.Concat(gone, stays) {
		if i == maxAsked {
			fmt.Fprintf(&b, "          and %d more; `southbound plan` lists all\n",
				len(gone)+len(stays)-maxAsked)
			break
		}
		word, when := w.Action, ""
		switch {
		case w.Replace:
			word = "replace"
		case w.Deletes:
			word, when = "delete", ", once it is known: "+w.Reason
		case w.Action == "delete":
			when = because(w.Reason)
		}
		fmt.Fprintf(&b, "%-9s %s%s\n", word, oneLine(string(w.ID)), oneLine(when))
	}
	if len(stays) > 0 {
		fmt.Fprintf(&b,
			"%s not in %s, and would stay as %s, orphaned and managed no more.\n",
			are(len(stays), "resource"), without, itOrThey(len(stays)))
	}
	switch {
	case len(stays) == 0:
		fmt.Fprintf(&b, "Delete %s? [y/N] ", plural(len(gone), "resource"))
	case len(gone) == 0:
		fmt.Fprintf(&b, "Leave %s behind? [y/N] ", plural(len(stays), "resource"))
	default:
		fmt.Fprintf(&b, "Delete %s and leave %d behind? [y/N] ", plural(len(gone), "resource"),
			len(stays))
	}
	answer, err := c.ask(ctx, b.String())
	if err != nil {
		return err
	}
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		return fault.New(fault.Refused, "", "not confirmed; nothing was done").WithHint("%s", hint)
	}
	return nil
}

func itOrThey(n int) string {
	if n == 1 {
		return "it is"
	}
	return "they are"
}

// ask writes a question to the terminal and returns the line that the user types.
func (c *console) ask(ctx context.Context, question string) (string, error) {
	to := c.err
	if tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0); err == nil {
		// standard error may be redirected
		defer func() { _ = tty.Close() }()
		to = tty
	}
	if _, err := io.WriteString(to, question); err != nil {
		return "", fault.Wrap(fault.Unavailable, "ask", err)
	}
	typed := make(chan string, 1)
	go func() {
		// the end of the input is not an answer
		line, _ := bufio.NewReader(c.stdin).ReadString('\n')
		typed <- strings.TrimSpace(line)
	}()
	select {
	case line := <-typed:
		return line, nil
	case <-ctx.Done():
		return "", fault.Wrap(fault.Unknown, "ask", context.Cause(ctx))
	}
}
