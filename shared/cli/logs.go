package cli

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/deploy"
	"southbound/shared/fault"
	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// levels of log lines, as flags have them.
var levels = []string{"debug", "info", "warning", "error"}

func (a *app) logsCommand() *cobra.Command {
	var follow bool
	var limit int
	var level, text string
	cmd := &cobra.Command{
		Use: "logs [ID]", Short: "Show what was done, newest last", Args: atMostOne("one id"),
		Long:    "logs shows finished actions, newest last: when, what was done, how it ended, what changed and what the handler said.",
		Example: "  southbound logs\n  southbound logs 'fs::File[web1,path=/etc/motd]'\n  southbound logs --level error --limit 10\n  southbound logs --follow --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			q := deploy.ActionQuery{Limit: limit, Level: provider.Level(strings.ToUpper(level)), Text: text}
			if level != "" && !slices.Contains(levels, level) {
				return fault.New(fault.Usage, "logs", "%q is no level", level).WithHint("the levels: %s", strings.Join(levels, " "))
			}
			if limit < 0 {
				return fault.New(fault.Usage, "logs", "--limit is a number from 0").WithHint("0 shows all")
			}
			if len(args) == 1 {
				if _, err := resource.ParseID(args[0]); err != nil {
					return fault.New(fault.Usage, "logs", "%v", err).WithHint("%s", fault.HintOf(err))
				}
				q.Resource = resource.ID(args[0])
			}
			open := a.look
			if follow {
				open = a.open // what is to come is not in a directory that is made for looking
			}
			if err := open(""); err != nil {
				return err
			}
			return a.logs(cmd.Context(), q, follow)
		}}
	cmd.Flags().BoolVar(&follow, "follow", false, "go on with what happens, until stopped")
	cmd.Flags().IntVar(&limit, "limit", 0, "at most this many, the newest (0: all)")
	cmd.Flags().StringVar(&level, "level", "", "only those with a line at least this severe: "+strings.Join(levels, ", "))
	cmd.Flags().StringVar(&text, "text", "", "only those with a line that contains this")
	return cmd
}

// followEvery is how often new actions are looked for.
const followEvery = 300 * time.Millisecond

func (a *app) logs(ctx context.Context, q deploy.ActionQuery, follow bool) error {
	for {
		actions, err := a.home.Actions(ctx, a.env, q)
		if err != nil && ctx.Err() == nil {
			return err
		}
		slices.Reverse(actions)
		for i := range actions {
			q.After = max(q.After, actions[i].ID)
			if a.json {
				a.line(actionLine(&actions[i]))
			} else {
				a.action(&actions[i])
			}
		}
		if !follow && len(actions) == 0 {
			a.none("action matches", q.Resource != "" || q.Level != "" || q.Text != "")
		}
		if !follow || a.engine.Clock.Sleep(ctx, followEvery) != nil {
			return nil
		}
		q.Limit = 0
	}
}

// messageLine is a log line as programs see it: every member is there.
type messageLine struct {
	At     any            `json:"at"`
	Level  provider.Level `json:"level"`
	Msg    string         `json:"msg"`
	Kwargs map[string]any `json:"kwargs"`
}

// actionLine has every member, also those that are empty.
func actionLine(x *deploy.Action) any {
	type plain deploy.Action
	out := struct {
		*plain
		Changes  map[string]plan.Diff `json:"changes"`
		Messages []messageLine        `json:"messages"`
	}{(*plain)(x), x.Changes, make([]messageLine, 0, len(x.Messages))}
	if out.Changes == nil {
		out.Changes = map[string]plan.Diff{}
	}
	for _, l := range x.Messages {
		if l.Kwargs == nil {
			l.Kwargs = map[string]any{}
		}
		out.Messages = append(out.Messages, messageLine{stamp(l.At), l.Level, l.Msg, l.Kwargs})
	}
	return out
}

func (a *app) action(x *deploy.Action) {
	a.printf("%s  %-7s %-12s %-8s %s\n", x.Finished.UTC().Format("2006-01-02T15:04:05.000Z"), x.Action, x.Outcome, x.Change, x.Resource)
	a.diff(x.Changes)
	for _, l := range x.Messages {
		a.printf("    %-7s %s", l.Level, l.Msg)
		for _, k := range slices.Sorted(maps.Keys(l.Kwargs)) {
			a.printf(" %s=%s", k, short(l.Kwargs[k]))
		}
		a.printf("\n")
	}
}
