// Package handler is the function behind the queues of agents. It runs the scheduled resources of
// the lanes that were notified. An asynchronous invoke with a job compares a version or an export
// with reality, for the API function, which has no handlers.
package handler

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"

	"southbound/functions/internal/run"
	"southbound/shared/aws/home"
	"southbound/shared/aws/queue"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/transport"
	awstransport "southbound/shared/transport/aws"
	httptransport "southbound/shared/transport/http"
	"southbound/shared/transport/postgresql"
	"southbound/shared/transport/remote"
	"southbound/shared/transport/ssh"
)

// programs is the folder in which a layer has programs for machines of another architecture, see
// remote.Programs.
const programs = "/opt/southbound"

// Main starts the function with handlers and serves events. If an agent with the transport ssh has
// copied this program to its machine, Main serves the machine's end of the connection there.
func Main(definitions []provider.Definition) {
	if len(os.Args) == 2 && os.Args[1] == transport.MachineArgument {
		if err := transport.ServeMachine(context.Background(), definitions, "function", os.Stdin,
			os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	run.Main(func(ctx context.Context) (any, error) {
		f := &function{}
		var err error
		f.Function, err = run.Begin(ctx, definitions, func(c *home.Config) {
			c.Leave, c.Count, c.Sets = elsewhere(c.Packs), f.count, f.sets.Add
			if c.Python.Function != "" && os.Getenv(envName) == c.Python.Function {
				f.python = newPack(&c.Python, os.Getenv)
				c.Leave, c.Code = c.Packs.ByRunner, f.python
			}
			// An agent without a role is served with the permissions of the function, which the
			// stack's HandlerPolicy defines.
			c.Connector = func(known state.Secrets) state.Connector { return connector(c, known, f.python != nil) }
		})
		if err != nil {
			return nil, err
		}
		f.prepare()
		return func(ctx context.Context, event json.RawMessage) (any, error) {
			return f.handle(ctx, event)
		}, nil
	})
}

// envName is the variable of Lambda with the name of the function.
const envName = "AWS_LAMBDA_FUNCTION_NAME"

// elsewhere returns a function that reports whether the function leaves an agent to a runner or to the
// Python function.
func elsewhere(packs transport.Packs) func(a resource.Agent) bool {
	return func(a resource.Agent) bool { return packs.ByRunner(a) || queue.InFunction(a) }
}

// connector returns the connector of agents of a function.
func connector(c *home.Config, known state.Secrets, python bool) *transport.Connector {
	// On AWS, the function's own addresses lead to its runtime, so handlers must not connect to
	// them.
	guarded := c.Endpoint == ""
	return &transport.Connector{Function: python, AWS: &awstransport.Sessions{Reserved: []string{c.Bucket, c.Table},
		Endpoint: c.Endpoint},
		HTTP:       &httptransport.Sessions{Guarded: guarded},
		PostgreSQL: &postgresql.Sessions{Guarded: guarded},
		SSH: &ssh.Sessions{Function: true, Guarded: guarded,
			Programs: &remote.Programs{Dir: cmp.Or(os.Getenv("SOUTHBOUND_PROGRAMS"), programs)}},
		Packs: c.Packs, Secrets: known}
}
