// Package sql manages databases and roles of PostgreSQL servers, through agents with the transport
// postgresql, or through agents that are the machine of the server.
//
// Only attributes that a resource sets are compared and changed. Names and texts are part of
// statements only in quoted form, and passwords never: the server receives the verifier that it
// would store.
package sql

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/transport"
	conn "southbound/shared/transport/postgresql"
)

// transports are the transports of agents with a server for the types of this package: the server
// itself, or the server of a machine.
func transports() []string {
	return []string{transport.NamePostgreSQL, transport.NameLocal, transport.NameSSH}
}

// connection returns the agent's connection to its server, or a connection to the server of this
// machine if the agent is a machine. It may be used until the call of the handler ends.
func connection(ctx *provider.Context) (*conn.Conn, error) {
	switch t := ctx.Transport().(type) {
	case *conn.Conn:
		return t, nil
	case transport.Local:
		c, back, err := provider.Borrow(ctx, provider.Key{Name: "the server of this machine"},
			provider.Keep{},
			func(*provider.Context) (*conn.Conn, error) { return conn.Here(conn.Directories()) },
			func(c *conn.Conn) { _ = c.Close() })
		context.AfterFunc(ctx, back)
		if err != nil {
			return nil, failure("connect to the server of this machine", err)
		}
		return c, nil
	}
	return nil, provider.Errorf(provider.NeedsChange,
		"the agent's transport does not reach PostgreSQL; describe it as {transport: postgresql, "+
			"host: ...}")
}

// nameType is the data type of names of roles and databases.
const nameType = `Pattern[/\A[^\x00]{1,63}\z/]`

// validNames reports names that the server would truncate.
func validNames(attrs map[string]any, names ...string) []diag.Problem {
	var out []diag.Problem
	for _, n := range names {
		if s, _ := attrs[n].(string); len(s) > 63 {
			out = append(out,
				diag.Problem{Attribute: n,
					Message: "the name is longer than 63 bytes, and the server would cut it off",
					Hint:    "shorten it"})
		}
	}
	return out
}

// ident quotes a name.
func ident(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// literal quotes a text, independent of the server's interpretation of backslashes.
func literal(text string) string {
	out := "'" + strings.ReplaceAll(text, "'", "''") + "'"
	if strings.Contains(out, `\`) {
		out = " E" + strings.ReplaceAll(out, `\`, `\\`)
	}
	return out
}

// printable rejects texts that no statement can contain.
func printable(texts ...string) error {
	for _, t := range texts {
		if strings.Contains(t, "\x00") || !utf8.ValidString(t) {
			return provider.Errorf(provider.NeedsChange,
				"a text holds a NUL or is not UTF-8, which PostgreSQL does not take")
		}
	}
	return nil
}

// query returns the rows of a query with text parameters; a nil value is NULL.
func query(ctx context.Context, pg *pgconn.PgConn, sql string, args ...string) ([][][]byte, error) {
	values := make([][]byte, len(args))
	for i, a := range args {
		values[i] = []byte(a)
	}
	res := pg.ExecParams(ctx, sql, values, nil, nil, nil).Read()
	return res.Rows, res.Err
}

// do runs statements, in one transaction if there are several.
func do(ctx context.Context, pg *pgconn.PgConn, statements ...string) error {
	if len(statements) == 0 {
		return nil
	}
	_, err := pg.Exec(ctx, strings.Join(statements, ";\n")).ReadAll()
	return err
}

// The error codes with special handling.
const (
	duplicateDatabase    = "42P04"
	duplicateObject      = "42710"
	duplicateSchema      = "42P06"
	undefinedDatabase    = "3D000"
	undefinedObject      = "42704"
	insufficientRight    = "42501"
	dependentObjects     = "2BP01"
	objectInUse          = "55006"
	objectNotInState     = "55000"
	activeTransaction    = "25001"
	uniqueViolation      = "23505"
	invalidPassword      = "28P01"
	invalidAuthorization = "28000"
	serializationFailure = "40001"
	deadlock             = "40P01"
	internalError        = "XX000"
)

// is reports whether the server answered with one of the codes.
func is(err error, codes ...string) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && slices.Contains(codes, refused.Code)
}

// failure classifies an error.
func failure(doing string, err error) error {
	if err == nil {
		return nil
	}
	class, hint := classOf(err)
	text := conn.Text(err)
	if hint != "" {
		text += "; " + hint
	}
	out := provider.Errorf(class, "%s: %s", doing, text)
	if fault.Is(err, fault.Unavailable) {
		return provider.With(out, err) // so that a plan shows that the server does not exist
	}
	return out
}

// classOf returns the class and the hint that follow from an error.
func classOf(err error) (class provider.Class, hint string) {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		switch {
		case provider.ClassOf(err) != provider.Retryable:
			return provider.ClassOf(err), ""
		case fault.Is(err, fault.Denied):
			return provider.Terminal, fault.HintOf(err)
		case fault.Is(err, fault.Invalid):
			return provider.NeedsChange, fault.HintOf(err)
		}
		return provider.Retryable, ""
	}
	switch refused.Code {
	case insufficientRight:
		return provider.Terminal, "check the permissions of the agent's user"
	case invalidPassword, invalidAuthorization:
		return provider.Terminal,
			"see the user and the password of the agent, and pg_hba.conf of the server"
	case objectInUse, activeTransaction, objectNotInState, uniqueViolation:
		return provider.Retryable, ""
	case dependentObjects:
		return provider.NeedsChange, ""
	case undefinedObject, undefinedDatabase: // for example a role that is being created
		return provider.Retryable, ""
	}
	switch refused.Code[:min(2, len(refused.Code))] {
	case "42", "22", "23", "0A", "0L", "3F", "3D":
		return provider.NeedsChange, ""
	case "28":
		return provider.Terminal, ""
	}
	return provider.Retryable, ""
}

// text returns the value of a text attribute, "" for any other value.
func text(r provider.Resource, name string) string {
	s, _ := r.Attributes[name].(string)
	return s
}

// texts returns the value of an attribute that is a list of texts; ok is false if it is not set.
func texts(attrs map[string]any, name string) (out []string, ok bool) {
	list, ok := attrs[name].([]any)
	for _, v := range list {
		s, _ := v.(string)
		out = append(out, s)
	}
	return out, ok
}

// withSet returns a copy of attributes with a list of names sorted and without duplicates. The
// order of the list has no meaning.
func withSet(attrs map[string]any, name string) map[string]any {
	out := maps.Clone(attrs)
	if names, ok := texts(attrs, name); ok {
		slices.Sort(names)
		out[name] = list(slices.Compact(names))
	}
	return out
}

// list converts texts to a value.
func list(in []string) []any {
	out := make([]any, len(in))
	for i, s := range in {
		out[i] = s
	}
	return out
}

// batch reads resources one after the other over one connection.
func batch(
	ctx context.Context, items []provider.BatchRead, read func(ctx *provider.Context, c *conn.Conn,
		pg *pgconn.PgConn, r provider.Resource) (provider.Observation, error),
) []provider.Reading {
	out := make([]provider.Reading, len(items))
	if len(items) == 0 {
		return out
	}
	c, err := connection(items[0].Context)
	if err == nil {
		err = c.Do(ctx, "", func(pg *pgconn.PgConn) error {
			for i := range items {
				out[i].Observation, out[i].Err = read(items[i].Context.With(ctx), c, pg,
					items[i].Resource)
			}
			return nil
		})
		err = failure("connect", err)
	}
	for i := range out {
		if err != nil {
			out[i].Err = err
		}
	}
	return out
}

// reread returns the current attributes of a thing, of type what, during a change. The error of
// a missing thing is retryable, since it may be created again.
func reread(
	ctx *provider.Context, h provider.BatchReader, what string, r provider.Resource,
) (map[string]any, error) {
	have, err := provider.ReadOne(ctx, h, provider.ReadRequest{Resource: r})
	if err == nil && !have.Exists {
		err = provider.Errorf(provider.Retryable, "the %s %s disappeared while it was changed", what,
			text(r, "name"))
	}
	return have.Attributes, err
}
