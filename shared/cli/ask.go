package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/fault"
)

// mostAsked is how many resources a question names.
const mostAsked = 20

// limited exports a model, unless more would be deleted than may be. Where somebody sits at a
// terminal, that is asked; otherwise the documents have said it.
func (a *app) limited(ctx context.Context, x deploy.Export, f exportFlags, sent func(api.Sent)) (deploy.Exported, error) {
	if f.allowDelete >= 0 {
		x.Limits = &deploy.Limits{Delete: f.allowDelete, Leave: -1}
	}
	_, sits := terminal(a.stdin)
	if x.NoRelease || f.yes || !f.asks || !sits {
		return a.home.Export(ctx, a.env, x, sent)
	}
	bound := x.Limits
	x.Limits = &deploy.Limits{Leave: -1}
	out, err := a.home.Export(ctx, a.env, x, sent)
	for fault.Is(err, fault.Refused) {
		if x.Expect != "" {
			a.complain("the state has changed meanwhile")
		}
		var d deploy.DryRun
		x.Expect, x.Limits = "", bound
		if d, err = a.home.Plan(ctx, a.env, x, deploy.Look{}); err != nil {
			return out, err
		}
		gone := deleted(d.Would)
		if bound == nil || len(gone) <= bound.Delete {
			if err := a.confirm(ctx, gone); err != nil {
				return out, err
			}
			x.Expect = d.State
		}
		if out, err = a.home.Export(ctx, a.env, x, sent); x.Expect == "" {
			break
		}
	}
	return out, err
}

// deleted returns what would be deleted, and be it to be made anew.
func deleted(would []deploy.Would) []deploy.Would {
	var out []deploy.Would
	for _, w := range would {
		if (w.Action == "delete" || w.Replace) && !w.Failed {
			out = append(out, w)
		}
	}
	return out
}

// confirm asks whether things may be deleted.
func (a *app) confirm(ctx context.Context, gone []deploy.Would) error {
	var b strings.Builder
	for i, w := range gone {
		if i == mostAsked {
			fmt.Fprintf(&b, "          and %d more; `southbound plan` lists all\n", len(gone)-mostAsked)
			break
		}
		word := "delete"
		if w.Replace {
			word = "replace"
		}
		fmt.Fprintf(&b, "%-9s %s\n", word, oneLine(string(w.ID)))
	}
	fmt.Fprintf(&b, "Delete %s? [y/N] ", plural(len(gone), "resource"))
	answer, err := a.ask(ctx, b.String())
	if err != nil {
		return err
	}
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		return fault.New(fault.Refused, "", "not confirmed; nothing was done").
			WithHint("--yes answers beforehand")
	}
	return nil
}

// ask writes a question to the terminal and returns the line that is typed there.
func (a *app) ask(ctx context.Context, question string) (string, error) {
	to := a.err
	if tty, err := os.OpenFile("/dev/tty", os.O_WRONLY, 0); err == nil { // standard error may be elsewhere
		defer func() { _ = tty.Close() }()
		to = tty
	}
	if _, err := io.WriteString(to, question); err != nil {
		return "", fault.Wrap(fault.Unavailable, "ask", err)
	}
	typed := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(a.stdin).ReadString('\n') // the end of the input is no answer
		typed <- strings.TrimSpace(line)
	}()
	select {
	case line := <-typed:
		return line, nil
	case <-ctx.Done():
		return "", fault.Wrap(fault.Unknown, "ask", context.Cause(ctx))
	}
}
