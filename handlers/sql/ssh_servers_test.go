//go:build servers

package sql

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"southbound/shared/buildtest"
	conn "southbound/shared/transport/postgresql"
	"southbound/shared/transport/ssh/sshtest"
)

// TestOverSSH manages a server as people do: the agent is its machine, which is reached by a real
// sshd, and the program that was put there connects by the socket. The server is told by the system
// who asks (peer), so no password is anywhere. Nothing is changed the second time, and what drifts
// is repaired.
func TestOverSSH(t *testing.T) {
	var sessions conn.Sessions
	defer sessions.Close()
	admin := connect(t, &sessions, nil)
	run := func(statement string) {
		t.Helper()
		ctx := context.WithoutCancel(t.Context())
		if err := admin.Do(ctx, "", func(pg *pgconn.PgConn) error {
			return do(ctx, pg, statement)
		}); err != nil {
			t.Fatal(err)
		}
	}
	run("CREATE ROLE " + ident(own.runner) + " SUPERUSER LOGIN")
	defer run("DROP ROLE " + ident(own.runner))
	dir := t.TempDir()
	bin, site := buildtest.Program(t, buildtest.Southbound), filepath.Join(dir, "site.yaml")
	machine := sshtest.Start(t, sshtest.Self(t), "SetEnv "+sshtest.NoStart+" PGHOST="+own.dir+"\n")
	document := fmt.Sprintf(`southbound: 1
agents:
  db1: {transport: ssh, host: 127.0.0.1, port: %d, user: %s, key_file: %s, host_key: %q, directory: %s}
defaults: {agent: db1}
resources:
  - {type: sql::Role, attributes: {name: over_ssh, login: true, owned: refuse}, purged: PURGED}
  - {type: sql::Database, attributes: {name: over_ssh, owner: OWNER, force: true}, purged: PURGED}
`, machine.Port, machine.Login, machine.User.File, machine.Host.Public, filepath.Join(dir, "there"))
	for _, step := range []struct {
		why, purged, drift, says string
	}{
		{"what is missing is created", "false", "", "2 changed"},
		{"what is there stays as it is", "false", "", "0 changed"},
		{"what drifts is repaired", "false", "ALTER ROLE over_ssh NOLOGIN", "1 repaired"},
		{"what is to go is dropped", "true", "", "2 changed"},
	} {
		if step.drift != "" {
			run(step.drift)
		}
		owner := map[string]string{"false": "over_ssh", "true": own.runner}[step.purged]
		text := strings.NewReplacer("PURGED", step.purged, "OWNER", owner).Replace(document)
		if err := os.WriteFile(site, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), bin, "apply", site, "--data",
			filepath.Join(dir, "data"), "--no-color", "--yes")
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil || !strings.Contains(said.String(), step.says) {
			t.Fatalf("%s: %v, no %q in\n%s", step.why, err, step.says, said.String())
		}
	}
}
