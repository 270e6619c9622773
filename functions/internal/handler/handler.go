// Package handler is the function behind the queues of agents: it runs what is scheduled in the
// lanes that were notified. An asynchronous invoke with a job compares a version or an export with
// reality, for the API function, which has no handlers.
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
	"southbound/shared/transport"
	awstransport "southbound/shared/transport/aws"
	httptransport "southbound/shared/transport/http"
	"southbound/shared/transport/postgresql"
	"southbound/shared/transport/remote"
	"southbound/shared/transport/ssh"
)

// programs is where a layer puts programs for machines of another kind than this function, see
// remote.Programs.
const programs = "/opt/southbound"

// Main begins the function with handlers and serves events. On a machine that an agent with the
// transport ssh reaches, where this program is put, it is the other end.
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
			c.Leave, c.Count, c.Sets = queue.ByRunner, f.count, f.sets.Add
			// An agent that names no role is served with the rights that the stack's HandlerPolicy
			// gives the function.
			c.Connector = func(known state.Secrets) state.Connector { return connector(c, known) }
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

// connector connects agents from a function.
func connector(c *home.Config, known state.Secrets) *transport.Connector {
	// What answers at a function's own addresses is its runtime, unless it runs on an emulator.
	guarded := c.Endpoint == ""
	return &transport.Connector{AWS: &awstransport.Sessions{Reserved: []string{c.Bucket, c.Table},
		Endpoint: c.Endpoint},
		HTTP:       &httptransport.Sessions{Guarded: guarded},
		PostgreSQL: &postgresql.Sessions{Guarded: guarded},
		SSH: &ssh.Sessions{Function: true, Guarded: guarded,
			Programs: &remote.Programs{Dir: cmp.Or(os.Getenv("SOUTHBOUND_PROGRAMS"), programs)}},
		Packs: c.Packs, Secrets: known}
}
