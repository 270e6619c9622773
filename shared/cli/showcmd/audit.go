package showcmd

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/fault"
)

// Audits is audit: it shows who requested what.
type Audits struct {
	*output.Console
	*home.Location
	*home.Session
}

// AuditCommand returns the command audit.
func (a *Audits) AuditCommand() *cobra.Command {
	since, limit := "", 0
	cmd := &cobra.Command{Use: "audit", Short: "Show who requested changes, newest first",
		Long: "audit shows requests that changed the course of an environment: pause, resume, halt, " +
			"unhalt, deploy, repair, release, forget, parameters, and states of instances of " +
			"services, with the caller, the reason and the outcome. Exports are not listed; " +
			"southbound versions shows their authors.",
		Example: "  southbound audit\n  southbound audit --since 24h --limit 20\n" +
			"  southbound audit --json",
		Args: usage.ExactArgs(0, "nothing more")}
	cmd.RunE = a.Reading(func(ctx context.Context, _ []string) error {
		from, err := timeOf("audit", since, time.Now())
		if err == nil && limit < 0 {
			err = fault.New(fault.Usage, "audit", "--limit is negative").WithHint("0 shows all")
		}
		if err != nil {
			return err
		}
		return a.audit(ctx, from, limit)
	})
	cmd.Flags().StringVar(&since, "since", "",
		"only requests after this time: RFC 3339, or an age such as 2h")
	cmd.Flags().IntVar(&limit, "limit", 100, "number of newest requests (0: all)")
	return cmd
}

// auditPage is how many entries are read at a time.
const auditPage = 1000

func (a *Audits) audit(ctx context.Context, since time.Time, limit int) error {
	shown := 0
	for q := (api.AuditQuery{Since: since}); ; {
		q.Limit = auditPage
		if limit > 0 {
			q.Limit = min(auditPage, limit-shown)
		}
		page, err := a.Home.AuditPage(ctx, a.Env, q)
		if err != nil {
			return err
		}
		for i := range page.Items {
			a.entry(&page.Items[i])
		}
		shown += len(page.Items)
		if q.Cursor = page.Next; q.Cursor == "" || limit > 0 && shown >= limit {
			break
		}
	}
	if shown == 0 {
		a.None("request was recorded", true)
	}
	return nil
}

func (a *Audits) entry(e *api.Audited) {
	if a.JSON {
		a.Line(e)
		return
	}
	what := []string{e.Act}
	what = append(what, e.Targets...)
	if e.More > 0 {
		what = append(what, "and "+output.Plural(e.More, "other"))
	}
	outcome := ""
	if e.Outcome != "done" {
		outcome = "  (" + e.Outcome + ")"
	}
	a.Printf("%s  %s  %s%s\n", e.At.UTC().Format(time.RFC3339), output.OneLine(cmp.Or(e.By, "unknown")),
		output.OneLine(strings.Join(what, " ")), outcome)
	for _, text := range []string{e.Message, e.Error} {
		if text != "" {
			a.Printf("  %s\n", output.OneLine(text))
		}
	}
}

// timeOf reads a time of a flag: RFC 3339, or an age. "" is the zero time.
func timeOf(op, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if d, e := time.ParseDuration(text); err != nil && e == nil {
		t, err = now.Add(-d), nil
	}
	if err != nil {
		return t, fault.New(fault.Usage, op, "%q is not a time", text).
			WithHint("write it as 2026-08-31T12:00:00Z, or how long ago, such as 30m or 2h")
	}
	return t.UTC(), nil
}
