package output

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"southbound/shared/deploy"
	"southbound/shared/fault"
)

// maxAsked is how many resources a question names.
const maxAsked = 20

// Are returns a number with its noun and its verb.
func Are(n int, what string) string {
	if n == 1 {
		return Plural(n, what) + " is"
	}
	return Plural(n, what) + " are"
}

// Deleted returns the planned deletions, including those of resources that are then created again.
func Deleted(planned []deploy.PlannedChange) []deploy.PlannedChange {
	var out []deploy.PlannedChange
	for _, w := range planned {
		if (w.Action == "delete" || w.Replace || w.Deletes) && !w.Failed {
			out = append(out, w)
		}
	}
	return out
}

// Left returns the resources that would leave the model and keep their state.
func Left(planned []deploy.PlannedChange) []deploy.PlannedChange {
	var out []deploy.PlannedChange
	for _, w := range planned {
		if w.Action == "orphan" {
			out = append(out, w)
		}
	}
	return out
}

// Confirm asks the user whether resources may be deleted, and left behind, by a version that is
// released, or, if number is 0, by documents.
func (c *Console) Confirm(
	ctx context.Context, gone, stays []deploy.PlannedChange, version int,
) error {
	without, hint := "these documents", "--yes answers beforehand"
	if version > 0 {
		without = fmt.Sprintf("version %d", version)
	} else if len(stays) > 0 {
		hint += "; --partial keeps resources that the documents lack"
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
			word, when = "replace", replacedHow(&w)
		case w.Deletes:
			word, when = "delete", ", once it is known: "+w.Reason
		case w.Action == "delete":
			when = Because(w.Reason)
		}
		fmt.Fprintf(&b, "%-9s %s%s\n", word, OneLine(string(w.ID)), OneLine(when))
	}
	if len(stays) > 0 {
		fmt.Fprintf(&b,
			"%s not in %s, and would stay as %s, orphaned and managed no more.\n",
			Are(len(stays), "resource"), without, itOrThey(len(stays)))
	}
	switch {
	case len(stays) == 0:
		fmt.Fprintf(&b, "Delete %s? [y/N] ", Plural(len(gone), "resource"))
	case len(gone) == 0:
		fmt.Fprintf(&b, "Leave %s behind? [y/N] ", Plural(len(stays), "resource"))
	default:
		fmt.Fprintf(&b, "Delete %s and leave %d behind? [y/N] ", Plural(len(gone), "resource"),
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
func (c *Console) ask(ctx context.Context, question string) (string, error) {
	to := c.Err
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
		line, _ := bufio.NewReader(c.Stdin).ReadString('\n')
		typed <- strings.TrimSpace(line)
	}()
	select {
	case line := <-typed:
		return line, nil
	case <-ctx.Done():
		return "", fault.Wrap(fault.Unknown, "ask", context.Cause(ctx))
	}
}

// TooManyDeleted is the error of a command that would delete more resources than permitted.
const TooManyDeleted = "%s would be deleted; --allow-delete permits %d; nothing was done"

// AllowDeleteHelp is the help of --allow-delete.
const AllowDeleteHelp = "refuse with exit code 2 if more resources would be deleted (-1: no limit)"
