//go:build servers

package sql

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/transport"
	conn "southbound/shared/transport/postgresql"
)

// TestServerOfThisMachine manages a server through an agent that is its machine: by the socket, as
// whoever runs it.
func TestServerOfThisMachine(t *testing.T) {
	t.Setenv("PGHOST", own.dir)
	var sessions conn.Sessions
	defer sessions.Close()
	admin, err := sessions.Connect(t.Context(), options(nil))
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	run := func(statement string) {
		t.Helper()
		if err := admin.Do(context.WithoutCancel(t.Context()), "", func(pg *pgconn.PgConn) error {
			return do(context.WithoutCancel(t.Context()), pg, statement)
		}); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE ROLE " + ident(own.runner) + " SUPERUSER LOGIN")
	defer run("DROP ROLE " + ident(own.runner))
	for _, step := range []struct {
		why    string
		purged bool
		change diff.Change
	}{
		{"a role that is missing", false, diff.Created},
		{"a role that is there", false, diff.NoChange},
		{"a role that is to go", true, diff.Purged}, {"a role that is gone", true, diff.NoChange},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		c := providertest.NewHost(transport.Local{}).Context(ctx, provider.Options{})
		r := provider.Resource{ID: "sql::Role[db1,name=by_socket]", Type: "sql::Role",
			Purged:     step.purged,
			Attributes: map[string]any{"name": "by_socket", "login": false, "owned": "refuse"}}
		change, err := applied(c, r)
		cancel()
		if err != nil || change != step.change {
			t.Errorf("%s: %s, %v", step.why, change, err)
		}
	}
}

// applied brings a role to what is wanted.
func applied(ctx *provider.Context, r provider.Resource) (diff.Change, error) {
	obs, err := role{}.Read(ctx, provider.ReadRequest{Resource: r})
	switch {
	case err != nil || r.Purged != obs.Exists && obs.Exists:
		return diff.NoChange, err
	case r.Purged && !obs.Exists:
		return diff.NoChange, nil
	case r.Purged:
		_, err = role{}.Delete(ctx, provider.DeleteRequest{Resource: r})
		return diff.Purged, err
	}
	_, err = role{}.Create(ctx, provider.CreateRequest{Resource: r})
	return diff.Created, err
}

// TestNoServerOfThisMachine wants it said where it was looked for.
func TestNoServerOfThisMachine(t *testing.T) {
	t.Parallel()
	if _, err := conn.Here([]string{t.TempDir()}); !fault.Is(err, fault.Unavailable) ||
		fault.HintOf(err) == "" {
		t.Errorf("got %v", err)
	}
}
