//go:build servers

package sql

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/localstack/server"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/schema"
	conn "southbound/shared/transport/postgresql"
)

// apply does what the engine does with one resource, once.
func apply(
	t *testing.T, d provider.Definition, c any, attrs m, purged bool,
) (diff.Change, map[string]diff.Diff, *providertest.Host, error) {
	t.Helper()
	registry, err := schema.NewRegistry(resolved(d).Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := registry.Type(d.Type.Name)
	full, problems := typ.Check(attrs)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r := provider.Resource{Type: typ.Name, Attributes: full, Purged: purged}
	host := providertest.NewHost(c)
	ctx := host.Context(t.Context(), provider.Options{})
	obs, err := d.Handler.Read(ctx, provider.ReadRequest{Resource: r})
	if err != nil {
		return "", nil, host, err
	}
	switch {
	case purged && obs.Exists:
		_, err = d.Handler.Delete(ctx, provider.DeleteRequest{Resource: r, Observed: obs})
		return diff.Purged, nil, host, err
	case purged:
		return diff.NoChange, nil, host, nil
	case !obs.Exists:
		_, err = d.Handler.Create(ctx, provider.CreateRequest{Resource: r})
		return diff.Created, nil, host, err
	}
	if canon, ok := d.Handler.(provider.Canonicaliser); ok {
		if full, err = canon.Canonicalise(full); err != nil {
			t.Fatal(err)
		}
	}
	diffs := diff.Compare(typ, full, obs.Attributes)
	if len(diffs) == 0 {
		return diff.NoChange, nil, host, nil
	}
	_, err = d.Handler.Update(ctx, provider.UpdateRequest{Resource: r, Observed: obs,
		Changes: diffs})
	return diff.Updated, diffs, host, err
}

// passwordStep is an apply by an agent's user, after something else was done.
type passwordStep struct {
	c      *conn.Conn
	before string
	change diff.Change
}

// TestPasswords logs in with the clients of PostgreSQL itself, so that a password is what they take
// for it, and sees drift.
func TestPasswords(t *testing.T) {
	t.Parallel()
	c := connect(t, &conn.Sessions{}, nil)
	must(t, c, "", "CREATE ROLE pw_admin LOGIN CREATEROLE PASSWORD 'adm'")
	lesser := connect(t, &conn.Sessions{}, m{"user": "pw_admin", "password": "adm"})
	bin, err := server.PostgreSQL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, password := range []string{"plain", `q'uo"te\ $1`, "pä ß\u00a0w", "ﬁ ligature ²",
		"soft\u00adhyphen", "\x07bell", "ü"} {
		attrs := m{"name": "pw_user", "password": password, "comment": "x"}
		first := diff.Updated
		if i == 0 {
			first = diff.Created
		}
		steps := []passwordStep{{c, "", first}, {c, "", diff.NoChange}, {lesser, "", diff.NoChange},
			{c, "ALTER ROLE pw_user PASSWORD 'drift'", diff.Updated},
			{lesser, "ALTER ROLE pw_user PASSWORD 'drift'", diff.Updated},
			{c, "", diff.NoChange}, {lesser, "ALTER ROLE pw_user PASSWORD NULL", diff.Updated},
			{c, "", diff.NoChange}}
		if i > 0 {
			steps = steps[:2]
		}
		for _, step := range steps {
			if step.before != "" {
				must(t, c, "", step.before)
			}
			if change, diffs, host, err := apply(t, Role(), step.c, attrs, false); err != nil ||
				change != step.change || strings.Contains(host.Output(), password+" ") {
				t.Errorf("%q: %q after %q, %v, %v, %v", password, change, step.before, diffs, err,
					host.Lines())
			}
		}
		psql := exec.CommandContext(t.Context(), filepath.Join(bin, "psql"), "-X", "-h",
			"127.0.0.1", "-p", own.port, "-U", "pw_user", "-d", "postgres", "-Atc",
			"SELECT current_user")
		psql.Env = append(os.Environ(), "PGPASSWORD="+password, "LC_ALL=C.UTF-8",
			"PGCLIENTENCODING=UTF8")
		if out, err := psql.CombinedOutput(); err != nil ||
			strings.TrimSpace(string(out)) != "pw_user" {
			t.Errorf("%q: psql says %s (%v)", password, out, err)
		}
	}
	v, err := newVerifier("given")
	if err != nil {
		t.Fatal(err)
	}
	for _, expected := range []diff.Change{diff.Updated, diff.NoChange} {
		if change, _, _, err := apply(t, Role(), c, m{"name": "pw_user", "password": v},
			false); change != expected || err != nil {
			t.Errorf("a verifier: %q, %v", change, err)
		}
	}
	if right, _ := c.Login(t.Context(), "pw_user", "given"); !right {
		t.Error("the password of a verifier does not log in")
	}
}

// TestOwned pins what becomes of what a role owns.
func TestOwned(t *testing.T) {
	t.Parallel()
	c := connect(t, &conn.Sessions{}, nil)
	must(t, c, "", "CREATE ROLE heir", "CREATE DATABASE owned_there", "CREATE TABLE t (a int)")
	for _, policy := range []string{ownedRefuse, ownedReassign, ownedDrop} {
		must(t, c, "", `CREATE ROLE "own""er"`, `CREATE DATABASE "owned ""db" OWNER "own""er"`,
			`GRANT SELECT ON t TO "own""er"`)
		must(t, c, "owned_there", `CREATE TABLE public.it (a int)`,
			`ALTER TABLE public.it OWNER TO "own""er"`)
		attrs := m{"name": `own"er`, "owned": policy}
		if policy == ownedReassign {
			attrs["reassign_to"] = "heir"
		}
		if policy == ownedDrop { // databases are never dropped
			if _, _, _, err := apply(t, Role(), c, attrs,
				true); provider.ClassOf(err) != provider.NeedsChange {
				t.Errorf("a database was dropped with its owner: %v", err)
			}
			must(t, c, "", `ALTER DATABASE "owned ""db" OWNER TO heir`)
		}
		change, _, _, err := apply(t, Role(), c, attrs, true)
		if policy == ownedRefuse {
			if provider.ClassOf(err) != provider.NeedsChange ||
				!strings.Contains(err.Error(), "owned") {
				t.Errorf("%s: %v", policy, err)
			}
			_, _, _, err = apply(t, Role(), c, m{"name": `own"er`, "owned": ownedReassign,
				"reassign_to": "heir"}, true)
		} else if change != diff.Purged {
			t.Errorf("%s: %q, %v", policy, change, err)
		}
		if err != nil {
			t.Fatalf("%s: %v", policy, err)
		}
		is, err := ask(t.Context(), c, "owned_there",
			"SELECT tableowner FROM pg_tables WHERE tablename = 'it'")
		if want := map[string]string{ownedRefuse: "heir", ownedReassign: "heir",
			ownedDrop: ""}[policy]; is != want || err != nil {
			t.Errorf("%s: the table is %q's, expected %q", policy, is, want)
		}
		must(t, c, "owned_there", "DROP TABLE IF EXISTS public.it")
		must(t, c, "", `DROP DATABASE "owned ""db"`)
	}
}

// TestDatabaseInUse pins that connections are ended only where that is said.
func TestDatabaseInUse(t *testing.T) {
	t.Parallel()
	c := connect(t, &conn.Sessions{}, nil)
	must(t, c, "", "CREATE DATABASE busy", "CREATE TABLE kept (a int)")
	err := c.Do(t.Context(), "busy", func(*pgconn.PgConn) error {
		if _, _, _, err := apply(t, Database(), c, m{"name": "busy"},
			true); provider.ClassOf(err) != provider.Retryable ||
			!strings.Contains(err.Error(), "force: true") {
			t.Errorf("in use: %v", err)
		}
		if change, _, _, err := apply(t, Database(), c, m{"name": "busy", "force": true},
			true); change != diff.Purged || err != nil {
			t.Errorf("forced: %q, %v", change, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if _, _, _, err := apply(t, Database(), c, m{"name": "postgres"},
		true); provider.ClassOf(err) != provider.NeedsChange {
		t.Errorf("the server's own database: %v", err)
	}
	for name, c2 := range map[string]struct {
		d     provider.Definition
		attrs m
		class provider.Class
	}{
		"an owner that is not there": {Database(), m{"name": "edge", "owner": "nobody there"},
			provider.Retryable},
		"an encoding that is none": {Database(), m{"name": "edge", "encoding": "UTF9"},
			provider.NeedsChange},
		"a locale that is none": {Database(),
			m{"name": "edge", "locale": "C'; DROP TABLE kept; --"}, provider.NeedsChange},
		"an extension that is none": {Database(),
			m{"name": "edge2", "extensions": []any{`x"; DROP TABLE kept; --`}},
			provider.NeedsChange},
		"a group that is not there": {Role(),
			m{"name": "edge", "member_of": []any{"nobody there"}}, provider.Retryable},
		"a comment that cannot be stored": {Role(), m{"name": "edge", "comment": "a\x00b"},
			provider.NeedsChange},
		"an agent of this machine": {Role(), m{"name": "edge"}, provider.NeedsChange},
	} {
		var with any = c
		if strings.Contains(name, "agent") {
			with = "no server"
		}
		if _, _, _, err := apply(t, c2.d, with, c2.attrs, false); err == nil ||
			provider.ClassOf(err) != c2.class {
			t.Errorf("%s: %v is %s, expected %s", name, err, provider.ClassOf(err), c2.class)
		}
	}
	if there, err := ask(t.Context(), c, "",
		"SELECT count(*) FROM pg_roles WHERE rolname = 'edge'"); there != "0" || err != nil {
		t.Errorf("half a role was made: %s, %v", there, err)
	}
	if there, err := ask(t.Context(), c, "", "SELECT count(*) FROM kept"); there != "0" ||
		err != nil {
		t.Errorf("a name became a statement: %v", err)
	}
}

// TestRefused pins what is said of servers that cannot be used.
func TestRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options m
		guarded bool
		kind    fault.Kind
		class   provider.Class
	}{
		"a wrong password": {m{"password": "wr0ng s3cr3t"}, false, fault.Denied,
			provider.Terminal},
		"nobody knows it": {m{"tls": "full"}, false, fault.Denied, provider.Terminal},
		"another name": {m{"tls": "full", "ca": own.ca, "host": "localhost"}, false,
			fault.Denied, provider.Terminal},
		"nobody there":      {m{"port": int64(1)}, false, fault.Unavailable, provider.Retryable},
		"a guarded process": {nil, true, fault.Denied, provider.Terminal},
	} {
		conn := connect(t, &conn.Sessions{Guarded: c.guarded}, c.options)
		if err := conn.Verify(t.Context()); !fault.Is(err, c.kind) ||
			strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, _, err := apply(t, Role(), conn, m{"name": "edge"}, false); err == nil ||
			provider.ClassOf(err) != c.class || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("%s: %v is %s", name, err, provider.ClassOf(err))
		}
	}
	for name, options := range map[string]m{"with a certificate that is checked": {"tls": "full",
		"ca": own.ca}, "with any": {"tls": "encrypt"}} {
		c := connect(t, &conn.Sessions{}, options)
		if on, err := ask(t.Context(), c, "",
			"SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"); on != "t" || err != nil {
			t.Errorf("%s: TLS is %q, %v", name, on, err)
		}
	}
	if facts, err := connect(t, &conn.Sessions{}, nil).Facts(t.Context()); err != nil ||
		facts["postgresql.version"] == "" {
		t.Errorf("facts are %v, %v", facts, err)
	}
}

// counted counts the queries of a connection.
type counted struct {
	net.Conn
	n *atomic.Int64
}

// Write implements net.Conn; see cut.
func (c counted) Write(b []byte) (int, error) {
	if len(b) > 0 && (b[0] == 'Q' || b[0] == 'P') {
		c.n.Add(1)
	}
	return c.Conn.Write(b)
}

// TestRolesAreListedTogether pins that a list asks no more often the more roles there are, and tells
// of each what it is a member of.
func TestRolesAreListedTogether(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	wrap := func(in net.Conn) net.Conn { return counted{in, &n} }
	c := connect(t, &conn.Sessions{Wrap: wrap}, nil)
	must(t, c, "", `CREATE ROLE "listed b"`, `CREATE ROLE "listed a"`,
		`CREATE ROLE "listed one" IN ROLE "listed b", "listed a"`,
		`CREATE ROLE "listed two" IN ROLE "listed one"`)
	lister, _ := provider.As[provider.Lister](Role().Handler)
	groups := map[any]any{}
	n.Store(0)
	err := lister.List(providertest.NewHost(c).Context(t.Context(), provider.Options{}),
		func(f provider.Found) error {
			groups[f.Attributes["name"]] = f.Attributes["member_of"]
			return nil
		})
	for name, want := range map[string][]any{"listed a": {}, "listed b": {},
		"listed one": {"listed a", "listed b"}, "listed two": {"listed one"}} {
		if got, is := groups[name]; !is || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is a member of %v, want %v", name, got, want)
		}
	}
	if asked := n.Load(); err != nil || asked != 2 {
		t.Errorf("%d queries for %d roles, %v", asked, len(groups), err)
	}
}
