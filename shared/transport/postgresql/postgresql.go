// Package postgresql is the transport postgresql: agents that stand for a PostgreSQL server.
// Handlers get a Conn with connections to its databases.
//
// A session keeps a few connections to the agent's database, for agents with the same options. For
// any other database, each use opens a connection, since a kept one would prevent the database from
// being dropped. On the server's own machine all connections use its socket (machine), through
// which the system identifies the connecting user to the server (peer).
package postgresql

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/transport/internal/guard"
	"southbound/shared/transport/internal/pool"
)

// Conn is the connection of an agent. It is safe for concurrent use.
type Conn struct {
	session *session
	done    func()
	once    sync.Once
}

// Close returns the connection. It may be called more than once.
func (c *Conn) Close() error {
	c.once.Do(c.done)
	return nil
}

// Sessions keep the connections of agents across runs. The zero value is ready to use.
type Sessions struct {
	// Guarded refuses addresses of this machine and of its link; see package guard.
	Guarded bool
	// Wrap, if not nil, wraps network connections, for tests of handlers.
	Wrap func(net.Conn) net.Conn

	pool pool.Pool[string, *session]
}

// session is shared by agents with the same options: connections to the agent's database, for uses
// that need no particular one.
type session struct {
	settings *settings
	sessions *Sessions
	peer     int // the user that connects by a socket of this machine; see Here

	mu   sync.Mutex
	free []*pgconn.PgConn
}

const maxFree = 4 // number of idle connections that are kept

// Connect returns a connection for an agent with these options (references resolved). It connects
// at the first use; see Conn.Verify. The caller closes it.
func (s *Sessions) Connect(_ context.Context, options map[string]any) (*Conn, error) {
	key, err := pool.KeyOf(options)
	if err != nil {
		return nil, err
	}
	in, give, err := s.pool.Take(key, func() (*session, error) {
		set, err := parse(options)
		return &session{settings: set, sessions: s}, err
	})
	if err != nil {
		return nil, err
	}
	return &Conn{session: in, done: give}, nil
}

// Close closes the sessions and their connections.
func (s *Sessions) Close() error {
	s.pool.Close()
	return nil
}

// Close closes idle connections.
func (in *session) Close() {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, c := range in.free {
		shut(c)
	}
	in.free = nil
}

func shut(c *pgconn.PgConn) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = c.Close(ctx)
}

// config returns the configuration to connect to a database as a user. It ignores environment
// variables.
func (in *session) config(database, user, password string) (*pgconn.Config, error) {
	c, err := pgconn.ParseConfig("host=localhost user=postgres sslmode=disable passfile=/dev/null")
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "connect", err)
	}
	s := in.settings
	// at most 65535
	c.Host, c.Port, c.Database, c.User, c.Password = s.host, uint16(s.port), database, user,
		password
	if c.TLSConfig, err = s.tlsConfig(); err != nil {
		return nil, err
	}
	c.Fallbacks, c.ConnectTimeout = nil, 0
	c.RuntimeParams = map[string]string{"application_name": "southbound", "client_encoding": "UTF8",
		"standard_conforming_strings": "on", "DateStyle": "ISO", "TimeZone": "UTC"}
	dial := &net.Dialer{KeepAlive: 30 * time.Second}
	if in.sessions.Guarded {
		dial.Control = guard.Control
	}
	c.DialFunc = dial.DialContext
	if in.peer != 0 {
		c.DialFunc = dialAs(in.peer)
	}
	if wrap := in.sessions.Wrap; wrap != nil {
		c.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			n, err := dial.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return wrap(n), nil
		}
	}
	return c, nil
}

func (in *session) dial(
	ctx context.Context, database, user, password string, set func(*pgconn.Config),
) (*pgconn.PgConn, error) {
	c, err := in.config(database, user, password)
	if err != nil {
		return nil, err
	}
	if set != nil {
		set(c)
	}
	ctx, cancel := patience.WithTimeout(ctx, time.Duration(in.settings.timeout)*time.Second)
	defer cancel()
	pg, err := pgconn.ConnectConfig(ctx, c)
	if _, untrusted := errors.AsType[*tls.CertificateVerificationError](err); untrusted {
		e := &fault.Error{Kind: fault.Denied, Op: "connect", Err: err}
		return nil, e.WithHint(
			"give the agent the authority of the server's certificate in ca, and as host the " +
				"name that it has")
	}
	return pg, err
}

// Do calls f with a connection to a database, "" for the agent's own. f has the connection
// exclusively until it returns.
func (c *Conn) Do(ctx context.Context, database string, f func(*pgconn.PgConn) error) error {
	in := c.session
	if database != "" && database != in.settings.database {
		pg, err := in.dial(ctx, database, in.settings.user, in.settings.password, nil)
		if err != nil {
			return err
		}
		defer shut(pg) // a kept connection would prevent the database from being dropped
		return f(pg)
	}
	pg, err := in.take(ctx)
	if err != nil {
		return err
	}
	defer in.put(pg)
	return f(pg)
}

// take returns a working connection.
func (in *session) take(ctx context.Context) (*pgconn.PgConn, error) {
	for {
		in.mu.Lock()
		n := len(in.free)
		if n == 0 {
			in.mu.Unlock()
			return in.dial(ctx, in.settings.database, in.settings.user, in.settings.password, nil)
		}
		pg := in.free[n-1]
		in.free = in.free[:n-1]
		in.mu.Unlock()
		if !pg.IsClosed() && pg.CheckConn() == nil { //nolint:staticcheck // Ping costs a round trip
			return pg, nil
		}
		shut(pg)
	}
}

func (in *session) put(pg *pgconn.PgConn) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if pg.IsClosed() || pg.TxStatus() != 'I' || len(in.free) >= maxFree {
		shut(pg)
		return
	}
	in.free = append(in.free, pg)
}

// The codes of a rejected login.
const (
	invalidPassword      = "28P01"
	invalidAuthorization = "28000"
)

// Login reports whether a role can log in with a password. known is false if the server cannot
// verify passwords, for example because it does not ask for one.
func (c *Conn) Login(ctx context.Context, role, password string) (right, known bool) {
	pg, err := c.session.dial(ctx, c.session.settings.database, role, password,
		func(c *pgconn.Config) { c.RequireAuth = "scram-sha-256,md5,password" })
	if err == nil {
		shut(pg)
		return true, true
	}
	var refused *pgconn.PgError
	return false, errors.As(err, &refused) && refused.Code == invalidPassword
}

// Verify connects: nil if the server accepts the agent's login.
func (c *Conn) Verify(ctx context.Context) error {
	_, err := c.Facts(ctx)
	return err
}

// Facts returns facts about the server: postgresql.version.
func (c *Conn) Facts(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	err := c.Do(ctx, "", func(pg *pgconn.PgConn) error {
		out["postgresql.version"] = pg.ParameterStatus("server_version")
		return pg.Ping(ctx)
	})
	if err == nil {
		return out, nil
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok &&
		slices.Contains([]string{invalidPassword, invalidAuthorization}, refused.Code) {
		return nil, fault.New(fault.Denied, "connect", "%s", refused.Message).
			WithHint("see the user and the password of the agent, and pg_hba.conf of the server")
	}
	if k := fault.KindOf(err); k != fault.Unknown {
		return nil, err
	}
	return nil, fault.New(fault.Unavailable, "connect", "%s", Text(err))
}

// Text returns an error of a connection on one line.
func Text(err error) string {
	var refused *pgconn.PgError
	if errors.As(err, &refused) {
		out := refused.Message + " (SQLSTATE " + refused.Code + ")"
		if refused.Detail != "" {
			out += ": " + strings.Join(strings.Fields(refused.Detail), " ")
		}
		return out
	}
	return strings.Join(strings.Fields(err.Error()), " ")
}
