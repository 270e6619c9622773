// Command destroy removes the resources of a stack that were made outside of it. They are the
// queues of agents, and the mappings by which Lambda polls them. It has to run before the stack is
// deleted. Without --yes it only lists them. docs/design/provision.md explains how it finds them.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"southbound/shared/aws/provision"
	"southbound/shared/fault"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		if hint := fault.HintOf(err); hint != "" {
			fmt.Fprintln(os.Stderr, "hint:", hint)
		}
		os.Exit(1) // there is nothing to clean up
	}
}

func run(ctx context.Context, args []string, env func(string) string, out io.Writer) error {
	var t provision.Target
	flags := flag.NewFlagSet("destroy", flag.ContinueOnError)
	flags.StringVar(&t.Prefix, "prefix", env("SOUTHBOUND_PREFIX"), "output Prefix of the stack")
	flags.StringVar(&t.Function, "function", env("SOUTHBOUND_HANDLER"),
		"output HandlerFunction of the stack")
	flags.StringVar(&t.Python, "python-function", env("SOUTHBOUND_PYTHON_HANDLER"),
		"output PythonFunction of the stack, if it has one")
	flags.StringVar(&t.DeadLetters, "dead-letters", env("SOUTHBOUND_DEAD_LETTERS"),
		"output DeadLetters of the stack")
	flags.StringVar(&t.Endpoint, "endpoint", env("SOUTHBOUND_ENDPOINT"),
		"of an emulator; empty: AWS")
	yes := flags.Bool("yes", false, "remove the listed objects; without it, only list them")
	if err := flags.Parse(args); err != nil {
		return fault.Wrap(fault.Usage, "read flags", err)
	}
	p, err := provision.Open(ctx, t)
	if err != nil {
		return err
	}
	find := p.List
	if *yes {
		find = p.Destroy
	}
	queues, err := find(ctx)
	for _, q := range queues { // of an interrupted run: the queues that were removed
		if e := json.NewEncoder(out).Encode(q); e != nil {
			return fault.Wrap(fault.KindOf(e), "write", e)
		}
	}
	return err
}
