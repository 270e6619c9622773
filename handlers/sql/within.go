package sql

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/shared/provider"
	conn "southbound/shared/transport/postgresql"
)

// inDatabase reads a thing of a database, over a connection to it.
type inDatabase func(ctx *provider.Context, pg *pgconn.PgConn, r provider.Resource) (
	provider.Observation, error)

// within reads resources in databases, over one connection for each database. A missing database
// has no things, and neither, for a purge, has one that is being dropped.
func within(ctx context.Context, items []provider.BatchRead, read inDatabase) []provider.Reading {
	out := make([]provider.Reading, len(items))
	byDatabase := map[string][]int{}
	for i := range items {
		name := text(items[i].Resource, "database")
		byDatabase[name] = append(byDatabase[name], i)
	}
	for name, group := range byDatabase {
		c, err := connection(items[group[0]].Context)
		if err == nil {
			err = c.Do(ctx, name, func(pg *pgconn.PgConn) error {
				for _, i := range group {
					out[i].Observation, out[i].Err = read(items[i].Context.With(ctx), pg,
						items[i].Resource)
				}
				return nil
			})
		}
		if is(err, undefinedDatabase) {
			continue
		}
		half := beingDropped(ctx, c, name, err)
		for _, i := range group {
			switch {
			case err == nil, half && items[i].Resource.Purged:
			case half:
				out[i].Err = provider.Errorf(provider.Retryable, "connect to the database %s: %w",
					name, errDropping)
			default:
				out[i].Err = failure("connect to the database "+name, err)
			}
		}
	}
	return out
}

// beingDropped reports whether a connection was rejected because the database is being dropped, or
// because a drop of it was interrupted.
func beingDropped(ctx context.Context, c *conn.Conn, database string, err error) (half bool) {
	if !is(err, objectNotInState) { // the code also means that a database accepts no connections
		return false
	}
	_ = c.Do(ctx, "", func(pg *pgconn.PgConn) error { // after a failure, the first error is better
		rows, err := query(ctx, pg,
			"SELECT FROM pg_catalog.pg_database WHERE datname = $1 AND datconnlimit = $2::int",
			database, strconv.Itoa(dropping))
		half = len(rows) == 1
		return err
	})
	return half
}

const (
	collisions = 8 // how often conflicting statements are attempted
	// the first pause between two attempts; each later one is twice as long
	collision = 20 * time.Millisecond
)

// change runs statements in a database, in one transaction if there are several. Two concurrent
// changes of the same thing, such as the privileges on a database, conflict in the server. The
// server fails one of them, and change retries that one.
func change(ctx context.Context, c *conn.Conn, database string, statements ...string) error {
	for pause, try := collision, 1; ; try++ {
		err := c.Do(ctx, database, func(pg *pgconn.PgConn) error {
			return do(ctx, pg, statements...)
		})
		if try == collisions || !collided(err) {
			return err
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return ctx.Err()
		}
		pause *= 2
	}
}

// collided reports whether statements failed because another transaction changed the same thing.
func collided(err error) bool {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) {
		return false
	}
	return slices.Contains([]string{serializationFailure, deadlock}, refused.Code) ||
		refused.Code == internalError && strings.HasPrefix(refused.Routine, "simple_heap_")
}
