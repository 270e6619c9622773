// Package transport connects agents with the places of their resources, by the name of their
// transport.
//
//	agent's options ── options (as declared) ── Secrets ── Connector.Connect ─┬─ Local
//	                                                                          ├─ ssh, over remote
//	                                                                          ├─ http, postgresql, aws
//	                                                                          └─ one of a pack (Packs)
//
// Agents with the same options share a session, which outlives their runs (package pool); Close of
// a connection returns it. Handlers of things on a machine run there: package remote starts this
// program on the machine, where ServeMachine answers, and forwards the calls of the engine.
package transport

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport/aws"
	"southbound/shared/transport/http"
	"southbound/shared/transport/internal/options"
	"southbound/shared/transport/postgresql"
	"southbound/shared/transport/ssh"
)

// The names of transports.
const (
	NameLocal = "local"
	NameSSH   = "ssh"
	NameHTTP  = "http"
	NameAWS   = "aws"

	NamePostgreSQL = "postgresql"

	// NameFunction is the transport of handlers in Python that a function of the AWS home runs.
	NameFunction = "function"
)

// Names returns the names of all transports.
func Names() []string {
	return []string{NameLocal, NameSSH, NameHTTP, NamePostgreSQL, NameAWS, NameFunction}
}

// Local is the connection of an agent with the transport local: the machine on which the handlers
// run.
type Local struct{}

// Function is the connection of an agent with the transport function: the function that runs the
// handlers.
type Function struct{}

// Secrets resolves references to secrets in the options of agents; state.Secrets implements it.
type Secrets interface {
	Resolve(ctx context.Context, s resource.Secret) (value, version string, err error)
}

// Connector opens the connections of agents. It implements state.Connector and is safe for
// concurrent use.
type Connector struct {
	// Local reports that this process runs on the machine of the agents with the transport local,
	// so that it may serve them.
	Local bool
	// Function reports that this process is a function with Python, so that it may serve agents
	// with the transport function.
	Function bool
	// AWS holds the sessions of agents with the transport aws; nil: this process serves none. Its
	// creator closes it.
	AWS *aws.Sessions
	// HTTP holds the sessions of agents with the transport http; nil: this process serves none. Its
	// creator closes it.
	HTTP *http.Sessions
	// SSH holds the logins of agents with the transport ssh; nil: this process serves none. Its
	// creator closes it.
	SSH *ssh.Sessions
	// PostgreSQL holds the sessions of agents with the transport postgresql; nil: this process
	// serves none. Its creator closes it.
	PostgreSQL *postgresql.Sessions
	// Packs are the transports that the program's pack brings.
	Packs Packs
	// Secrets resolves secrets in options; nil: options must have none.
	Secrets Secrets
}

// ConnectLimit implements state.ConnectLimiter. A login may have to use bastions and to upload a
// program to the machine. For an API or a server, the limit follows from its options. The other
// transports only read secrets.
func (c *Connector) ConnectLimit(a resource.Agent) time.Duration {
	const margin = 10 * time.Second
	switch a.Transport {
	case NameSSH:
		return ssh.Wait + margin
	case NameHTTP:
		return http.Wait(a.Options) + margin
	case NamePostgreSQL:
		return postgresql.Wait(a.Options) + margin
	}
	if b, ok := c.Packs.byName[a.Transport]; ok {
		return b.limit(margin) + margin
	}
	return margin
}

// Connect implements state.Connector. The result is a Local, an *aws.Conn, an *http.Conn, an
// *ssh.Conn or a *postgresql.Conn, which the caller closes, or the connection of a pack. The error
// is Unsupported if this process does not serve the transport, and Invalid if the options are
// wrong. Other errors are those of the transport, such as Denied or Unavailable.
func (c *Connector) Connect(ctx context.Context, a resource.Agent) (any, error) {
	switch {
	case a.Transport == "" || a.Transport == NameLocal:
		if !c.Local {
			return nil, fault.New(fault.Unsupported, "connect",
				"nothing here is the machine of the agent").
				WithHint("on that machine, run `southbound agent run %s`", a.Name)
		}
		return Local{}, nil
	case a.Transport == NameFunction && c.Function:
		return Function{}, nil
	case a.Transport == NameAWS && c.AWS != nil:
		options, err := c.options(ctx, a, nil)
		if err != nil {
			return nil, err
		}
		conn, err := c.AWS.Connect(ctx, a.Name, options)
		if err != nil {
			return nil, err
		}
		return conn, nil
	case a.Transport == NameHTTP && c.HTTP != nil:
		options, secrets, err := c.optionsAndSecrets(ctx, a, nil)
		if err != nil {
			return nil, err
		}
		conn, err := c.HTTP.Connect(ctx, options, secrets)
		if err != nil {
			return nil, err
		}
		return conn, nil
	case a.Transport == NameSSH && c.SSH != nil:
		options, err := c.options(ctx, a, nil)
		if err != nil {
			return nil, err
		}
		conn, err := c.SSH.Connect(ctx, options)
		if err != nil {
			return nil, err
		}
		return conn, nil
	case a.Transport == NamePostgreSQL && c.PostgreSQL != nil:
		options, err := c.options(ctx, a, nil)
		if err != nil {
			return nil, err
		}
		conn, err := c.PostgreSQL.Connect(ctx, options)
		if err != nil {
			return nil, err
		}
		return conn, nil
	case a.Transport == NameFunction:
		return nil, fault.New(fault.Unsupported, "connect",
			"only the Python function of a stack serves agents with the transport function").
			WithHint("deploy the stack with the parameter Python, or give the agent the " +
				"transport local")
	case a.Transport == NameAWS:
		return nil, fault.New(fault.Unsupported, "connect",
			"this process serves no agents with the transport aws")
	}
	if b, ok := c.Packs.byName[a.Transport]; ok {
		options, err := c.options(ctx, a, b.options)
		if err != nil {
			return nil, err
		}
		return b.connect(ctx, a.Name, options)
	}
	return nil, fault.New(fault.Unsupported, "connect",
		"this process serves no agents with the transport %q", a.Transport).
		WithHint("there are %s", strings.Join(c.names(), ", "))
}

// names are the transports that this process serves.
func (c *Connector) names() []string {
	var out []string
	if c.Local {
		out = append(out, NameLocal)
	}
	if c.AWS != nil {
		out = append(out, NameAWS)
	}
	if c.HTTP != nil {
		out = append(out, NameHTTP)
	}
	if c.SSH != nil {
		out = append(out, NameSSH)
	}
	if c.Function {
		out = append(out, NameFunction)
	}
	if c.PostgreSQL != nil {
		out = append(out, NamePostgreSQL)
	}
	return append(out, slices.Sorted(maps.Keys(c.Packs.byName))...)
}

// options returns the options of an agent with secrets resolved. A transport of a pack has declared
// how its options take the texts of secrets; the others trim line ends themselves.
func (c *Connector) options(
	ctx context.Context, a resource.Agent, declared *schema.Compiled,
) (map[string]any, error) {
	out, _, err := c.optionsAndSecrets(ctx, a, declared)
	return out, err
}

// optionsAndSecrets is options, and returns the values of the secrets too.
func (c *Connector) optionsAndSecrets(
	ctx context.Context, a resource.Agent, declared *schema.Compiled,
) (out map[string]any, secrets []string, err error) {
	text := func(s resource.Secret) (string, error) {
		if c.Secrets == nil {
			return "", noReference()
		}
		value, _, err := c.Secrets.Resolve(ctx, s)
		secrets = append(secrets, value)
		return value, err
	}
	out = map[string]any{}
	for name, v := range a.Options {
		if declared != nil {
			if o, ok := declared.Attribute(name); ok {
				if v, _, err = o.WithSecrets(v, text); err != nil {
					return nil, nil, err
				}
			}
		}
		resolve := func(edit func(string) string) func(any) (any, error) {
			return func(ref any) (any, error) {
				if s, ok := ref.(resource.Secret); ok {
					value, err := text(s)
					return edit(value), err
				}
				return nil, noReference()
			}
		}
		whole := func(value string) string { return value }
		out[name], err = resource.WalkParts(v, resolve(whole), resolve(schema.CutLineEnd))
		if err != nil {
			return nil, nil, err
		}
	}
	return out, secrets, nil
}

func noReference() error {
	return fault.New(fault.Invalid, "connect",
		"the options of the agent hold a reference that has no meaning there")
}

// Check returns the problems of an agent's options, for the author of a document; Attribute of a
// problem names the option. Options that are references are not resolved yet and are accepted.
func Check(a resource.Agent) []diag.Problem { return check(a, Names()) }

// check is Check in a program with transports of these names.
func check(a resource.Agent, names []string) []diag.Problem {
	var problems []diag.Problem
	switch a.Transport {
	case NameLocal:
		problems = options.Unknown(NameLocal, a.Options, nil)
	case NameFunction:
		problems = options.Unknown(NameFunction, a.Options, nil)
	case NameAWS:
		problems = aws.Check(a.Options)
	case NameHTTP:
		problems = http.Check(a.Options)
	case NameSSH:
		problems = ssh.Check(a.Options)
	case NamePostgreSQL:
		problems = postgresql.Check(a.Options)
	default:
		hint := "there are " + strings.Join(names, ", ")
		if similar := schema.Nearest(a.Transport, names); similar != "" {
			hint = fmt.Sprintf("did you mean %q?", similar)
		}
		problems = []diag.Problem{{Attribute: "transport",
			Message: fmt.Sprintf("there is no transport %q", a.Transport), Hint: hint}}
	}
	slices.SortStableFunc(problems, func(a, b diag.Problem) int {
		return strings.Compare(a.Attribute, b.Attribute)
	})
	return problems
}
