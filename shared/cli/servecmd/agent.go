package servecmd

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"

	"southbound/shared/api"
	"southbound/shared/aws/compiles"
	stack "southbound/shared/aws/home"
	"southbound/shared/aws/logs"
	"southbound/shared/aws/queue"
	"southbound/shared/aws/worker"
	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/cli/output"
	"southbound/shared/cli/usage"
	"southbound/shared/fault"
	"southbound/shared/lang/python"
	"southbound/shared/local"
	"southbound/shared/patience"
)

// AgentRunner is agent run: it serves an agent of the AWS home.
type AgentRunner struct {
	*output.Console
	*home.Location
	*home.Program
	Docs  *input.Documents
	Conns *home.Connections
}

// AgentCommand makes the command agent, which serves agents of the AWS home that no function can
// reach.
func (a *AgentRunner) AgentCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "agent", Short: "Serve AWS agents from this machine",
		Args: usage.Subcommand, RunE: usage.Help, Example: "  southbound agent run web1"}
	cmd.AddCommand(a.agentRunCommand())
	return cmd
}

func (a *AgentRunner) agentRunCommand() *cobra.Command {
	settings := map[string]*string{}
	run := &cobra.Command{
		Use: "run NAME", Short: "Serve the queue of an agent until stopped",
		Long: "run serves an agent that no function reaches: one with the transport local on " +
			"this machine, or one inside a private network. It listens on the agent's queue " +
			"and works with the same claims as a function. When it is stopped, it finishes " +
			"running calls and leaves the rest scheduled. The outputs of the stack give the " +
			"names; credentials are found as by every AWS tool. Python handlers run in the " +
			"virtual environment of the working directory (.env), or in the one that " +
			"SOUTHBOUND_PYTHON names.",
		Example: "  southbound agent run web1 --environment production --table T --bucket B " +
			"--prefix P\n  SOUTHBOUND_TABLE=T SOUTHBOUND_BUCKET=B SOUTHBOUND_PREFIX=P southbound " +
			"agent run web1",
		Args: usage.ExactArgs(1, "one agent"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.Settle(""); err != nil {
				return err
			}
			c, err := stack.FromEnv(func(name string) string {
				if flag := settings[name]; flag != nil && *flag != "" {
					return *flag
				}
				return os.Getenv(name)
			})
			if err != nil {
				return err
			}
			return a.serveAgent(cmd.Context(), c, args[0])
		},
	}
	for _, f := range []struct{ flag, variable, what string }{
		{"table", stack.EnvTable, "table of the stack"},
		{"bucket", stack.EnvBucket, "bucket of the stack"},
		{"prefix", stack.EnvPrefix, "prefix of the names of the stack's queues"},
		{"log-queue", stack.EnvLogQueue,
			"URL of the stack's log queue; without it the sweep logs actions"},
		{"compile-queue", stack.EnvCompile,
			"URL of the stack's compile queue; without it the sweep continues orders"},
	} {
		value := new(string)
		settings[f.variable] = value
		run.Flags().StringVar(value, f.flag, "", f.what+" ("+f.variable+")")
	}
	return run
}

// logTimeout bounds how long notifying the log may hold up a lane.
const logTimeout = 5 * time.Second

// serveAgent serves an agent until ctx ends.
func (a *AgentRunner) serveAgent(ctx context.Context, c stack.Config, agent string) error {
	log := a.agentLog()
	pack := python.NewPack(python.PackOptions{Find: a.Docs.FindPython})
	defer pack.Close()
	c.Code = pack
	sets := &compiles.Sets{Log: log}
	c.Sets = sets.Add
	h, err := a.openRunner(ctx, &c, log)
	if err != nil {
		return err
	}
	if _, err := h.State.Env(ctx, a.Env); err != nil { // report wrong credentials or names early
		return err
	}
	server := &worker.Server{Engine: h.Engine, Notifier: h.Notifier, Clock: h.Engine.Clock,
		Operation: h.Operation(), Log: log,
		Exists: (&worker.Index{State: h.State, Work: h.Engine.AgentsWithWork}).Exists,
		Ran: func(ctx context.Context, r worker.Run) {
			notifyLog(ctx, h.Logs, r, log)
			ctx, cancel := patience.WithTimeout(context.WithoutCancel(ctx), logTimeout)
			defer cancel()
			sets.Flush(ctx, r.Env)
		}}
	sets.Finder = h.OrderFinder()
	service := api.New(api.Config{Engine: h.Engine, Agent: a.Packs.Check, Jobs: h.State})
	runner := &worker.Runner{Server: server, Env: a.Env, Agent: agent,
		Part: func(ctx context.Context, part string) error {
			return service.Work(ctx, a.Env, part, time.Time{})
		},
		Offered: func(ctx context.Context) ([]string, error) {
			return service.Offered(ctx, a.Env, agent)
		},
		Queue: func(ctx context.Context) (*queue.Listener, error) {
			url, err := h.Queues.URL(ctx, a.Env, agent)
			return &queue.Listener{API: h.SQS, URL: url}, err
		},
		Work: func(ctx context.Context) ([]string, error) { return h.Engine.AgentsWithWork(ctx, a.Env) }}
	a.Say("serving agent %s of environment %s; stop with Ctrl-C", agent, a.Env)
	err = runner.Serve(ctx)
	a.Say("stopped: results are recorded, the rest stays scheduled")
	return err
}

// openRunner opens the AWS home for serving agents from this machine.
func (a *AgentRunner) openRunner(
	ctx context.Context, c *stack.Config, log *slog.Logger,
) (*stack.Home, error) {
	if err := os.MkdirAll(a.Data, 0o700); err != nil {
		// it has access to the key for the versions of secrets
		return nil, fault.Wrap(fault.Unavailable, "make data directory", err)
	}
	own := &local.Home{Dir: a.Data}
	own.ForClients()
	c.Definitions, c.Packs, c.Log, c.Machine = a.Definitions, a.Packs, log, own.Secrets()
	c.Connector = a.Conns.Connector
	return stack.Open(ctx, *c)
}

// notifyLog makes the log store the actions that an agent has committed. A failure does no harm, as
// the sweep stores them later.
func notifyLog(ctx context.Context, notifier *logs.Notifier, r worker.Run, log *slog.Logger) {
	if notifier == nil || r.Out.Ran == 0 {
		return
	}
	ctx, cancel := patience.WithTimeout(context.WithoutCancel(ctx), logTimeout)
	defer cancel()
	if err := notifier.Notify(ctx, r.Env, r.Agent); err != nil {
		log.WarnContext(ctx, "the log was not notified", "environment", r.Env, "agent", r.Agent,
			"error", err.Error())
	}
}

// agentLog writes to standard error: JSON lines with --json, text otherwise.
func (a *AgentRunner) agentLog() *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText(
		[]byte(cmp.Or(os.Getenv("SOUTHBOUND_LOG_LEVEL"), "info"))); err != nil {
		level = slog.LevelInfo
	}
	if a.Quiet {
		level = max(level, slog.LevelWarn)
	}
	options := &slog.HandlerOptions{Level: level}
	if a.JSON {
		return slog.New(slog.NewJSONHandler(a.Err, options))
	}
	return slog.New(slog.NewTextHandler(a.Err, options))
}
