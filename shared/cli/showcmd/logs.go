package showcmd

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/cli/actions"
	"southbound/shared/cli/home"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// levels are the words for the levels of log lines, the least severe first.
var levels = []string{"debug", "info", "warning", "error"}

// logFlags are the flags of logs.
type logFlags struct {
	follow, all                bool
	limit, version             int
	level, text, agent, action string
	outcome, since, until, set string
}

// LogCommands is logs: it shows actions.
type LogCommands struct {
	*output.Console
	*home.Location
	*home.Session
	Actions *actions.Printer
}

// LogsCommand returns the command logs.
func (l *LogCommands) LogsCommand() *cobra.Command {
	var f logFlags
	cmd := &cobra.Command{
		Use: "logs [ID]", Short: "Show actions, newest last", Args: usage.AtMostOne("one id"),
		Long: "logs shows finished actions that changed something or failed, newest last, with " +
			"their time, outcome, changes and log lines. --all includes actions that found " +
			"nothing to do, as does every flag that selects by action, outcome or log line.",
		Example: "  southbound logs\n  southbound logs 'fs::File[web1,path=/etc/motd]'\n" +
			"  southbound logs --level error --limit 10\n" +
			"  southbound logs --agent web1 --since 2h --outcome failed\n" +
			"  southbound logs --follow --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			q, err := f.query(args, time.Now())
			if err != nil {
				return err
			}
			open := l.OpenExisting
			if f.follow {
				open = l.openToFollow
			}
			if err := open(cmd.Context()); err != nil {
				return err
			}
			if f.follow {
				return l.follow(cmd.Context(), q)
			}
			return l.logs(cmd.Context(), q)
		}}
	fl := cmd.Flags()
	fl.BoolVar(&f.all, "all", false, "include actions that found nothing to do")
	fl.BoolVar(&f.follow, "follow", false, "continue with new actions until stopped")
	fl.IntVar(&f.limit, "limit", 0, "number of newest actions (0: all)")
	fl.StringVar(&f.level, "level", "", "only actions with a log line of at least this severity: "+
		strings.Join(levels, ", "))
	fl.StringVar(&f.text, "text", "", "only actions with a log line that contains this text")
	fl.StringVar(&f.agent, "agent", "", "only actions of this agent")
	fl.StringVar(&f.set, "set", "",
		"only actions of the resources that are in this set now")
	fl.IntVar(&f.version, "version", 0, "only actions of this version")
	fl.StringVar(&f.action, "action", "", "only this kind: deploy, repair, dryrun")
	fl.StringVar(&f.outcome, "outcome", "",
		"only actions with this outcome: deployed, failed, skipped, ...")
	fl.StringVar(&f.since, "since", "",
		"only actions that ended after this time: RFC 3339, or an age such as 2h")
	fl.StringVar(&f.until, "until", "", "only actions that ended before this time, in the same form")
	l.FullFlag(cmd)
	output.FoldFlag(l.Console, cmd)
	return cmd
}

// query makes a query from flags and arguments.
func (f *logFlags) query(args []string, now time.Time) (api.ActionQuery, error) {
	q := api.ActionQuery{Limit: f.limit, Level: provider.Level(strings.ToUpper(f.level)),
		Text: f.text, Agent: f.agent, Set: f.set, Version: f.version,
		Action: state.ActionKind(f.action), Outcome: state.Status(f.outcome),
		Notable: !f.all && f.level == "" && f.text == "" && f.action == "" && f.outcome == ""}
	if f.level != "" && !slices.Contains(levels, strings.ToLower(f.level)) {
		return q, fault.New(fault.Usage, "logs", "%q is not a level", f.level).
			WithHint("the levels: %s", strings.Join(levels, " "))
	}
	if f.limit < 0 || f.version < 0 {
		return q, fault.New(fault.Usage, "logs", "--limit and --version are numbers from 0").
			WithHint("0 shows all")
	}
	if kinds := []string{"", "deploy", "repair", "dryrun"}; !slices.Contains(kinds, f.action) {
		return q, fault.New(fault.Usage, "logs", "%q is not an action", f.action).
			WithHint("the actions:%s", strings.Join(kinds, " "))
	}
	if f.outcome != "" {
		if _, err := state.ParseFilter([]string{"status=" + f.outcome}); err != nil {
			return q, err
		}
	}
	if len(args) == 1 {
		if _, err := resource.ParseID(args[0]); err != nil {
			return q, fault.New(fault.Usage, "logs", "%v", err).WithHint("%s", fault.HintOf(err))
		}
		q.Resource = resource.ID(args[0])
	}
	for _, at := range []struct {
		text string
		to   *time.Time
	}{{f.since, &q.Since}, {f.until, &q.Until}} {
		t, err := timeOf("logs", at.text, now)
		if err != nil {
			return q, err
		}
		*at.to = t
	}
	return q, nil
}

// openToFollow is OpenExisting for a command that waits for actions: a temporary directory never
// has any.
func (l *LogCommands) openToFollow(ctx context.Context) error {
	if err := l.Locate(""); err != nil {
		return err
	}
	if !l.Remote() && l.Fresh() {
		return l.Missing(nil)
	}
	if err := l.Reach(ctx); err != nil {
		return err
	}
	return l.There(ctx)
}

func (l *LogCommands) logs(ctx context.Context, q api.ActionQuery) error {
	n, err := l.print(ctx, &q)
	if err == nil && n == 0 {
		return l.noActions(ctx, q)
	}
	return err
}

// print prints the actions of a query, the newest last, and moves the query behind them. It returns
// their number.
func (l *LogCommands) print(ctx context.Context, q *api.ActionQuery) (int, error) {
	list, err := l.Home.Actions(ctx, l.Env, *q)
	if err != nil {
		return 0, err
	}
	slices.Reverse(list)
	for i := range list {
		if err := l.Actions.Whole(ctx, &list[i]); err != nil {
			return 0, err
		}
		if l.JSON {
			l.Line(list[i])
		}
	}
	if !l.JSON {
		l.Actions.All(list)
	}
	for i := range list {
		q.After = max(q.After, list[i].ID)
	}
	return len(list), nil
}

// noActions reports an empty list to people. If the list is empty because the resource does not
// exist, noActions returns an error.
func (l *LogCommands) noActions(ctx context.Context, q api.ActionQuery) error {
	some, err := l.Home.Actions(ctx, l.Env, api.ActionQuery{Limit: 1, Resource: q.Resource})
	if err != nil {
		return err
	}
	if len(some) == 0 && q.Resource != "" {
		if _, err := l.Home.Resource(ctx, l.Env, q.Resource); err != nil {
			return err
		}
	}
	if !l.JSON {
		l.sayNoActions(ctx, q, len(some) > 0)
	}
	return nil
}

// sayNoActions explains an empty list; done reports that the environment has actions.
func (l *LogCommands) sayNoActions(ctx context.Context, q api.ActionQuery, done bool) {
	if p, err := l.Home.Progress(ctx, l.Env); err == nil && p.Last == 0 {
		l.Say(neverExported, l.Env)
		return
	}
	only := api.ActionQuery{Limit: q.Limit, Notable: q.Notable, Resource: q.Resource}
	if !done {
		l.Say("no actions yet; `southbound status` shows scheduled resources")
		return
	}
	switch {
	case q == only && q.Notable:
		l.Say("no changes and no failures; `southbound logs --all` shows every run")
	default:
		l.None("action matches", q != api.ActionQuery{Limit: q.Limit})
	}
}
