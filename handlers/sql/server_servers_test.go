//go:build servers

package sql

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"southbound/localstack/server"
	"southbound/shared/provider/providertest"
	conn "southbound/shared/transport/postgresql"
)

// own is the PostgreSQL server of this package's tests.
var own struct {
	dir, port, ca string
	runner        string // the user who runs it
}

const admin = "adm1n s3cr3t"

func TestMain(m *testing.M) {
	code, err := withServer(m.Run)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// withServer runs f while there is a server, on a socket in a folder of its own and on a port of
// the loopback.
func withServer(f func() int) (code int, err error) {
	ctx := context.Background()
	bin, err := server.PostgreSQL(ctx)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp(inMemory(), "pg")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	as, err := server.Unprivileged(dir)
	if err != nil {
		return 0, err
	}
	own.dir = dir
	if own.port, err = freePort(); err != nil {
		return 0, err
	}
	kept, err := derive(admin, []byte(rand.Text()), 1) // cheap: there are a thousand logins
	if err != nil {
		return 0, err
	}
	password := []byte(kept.String())
	if err := os.WriteFile(filepath.Join(dir, "password"), password, 0o644); err != nil {
		return 0, err
	}
	if err := certificate(dir, as); err != nil {
		return 0, err
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-U", "postgres",
		"-A", "scram-sha-256", "--pwfile", filepath.Join(dir, "password"), "-E", "UTF8",
		"--locale=C", "-N")
	initdb.SysProcAttr, initdb.Dir = as, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("initdb: %w\n%s", err, out)
	}
	if err := letIn(filepath.Join(data, "pg_hba.conf"), as); err != nil {
		return 0, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return 0, err
	}
	defer log.Close()
	run := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "-D", data, "-k", dir, "-h",
		"127.0.0.1", "-p", own.port, "-F", "-c", "log_statement=all",
		"-c", "shared_buffers=16MB", "-c", "synchronous_commit=off", "-c", "full_page_writes=off",
		"-c", "max_connections=60", "-c", "ssl=on", "-c",
		"ssl_cert_file="+filepath.Join(dir, "cert"), "-c",
		"ssl_key_file="+filepath.Join(dir, "key"), "-c", "autovacuum=off")
	run.SysProcAttr, run.Dir, run.Stderr = as, dir, log
	run.Cancel = func() error { return run.Process.Signal(syscall.SIGINT) }
	if err := run.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = run.Process.Signal(syscall.SIGINT)
		_ = run.Wait()
	}()
	if err := ready(ctx); err != nil {
		text, _ := os.ReadFile(log.Name())
		return 0, fmt.Errorf("%w\n%s", err, text)
	}
	return f(), nil
}

// inMemory returns a directory that is kept in memory, "" when there is none with room enough. Each
// database is three hundred files, and there are dozens.
func inMemory() string {
	const (
		dir   = "/dev/shm"
		tmpfs = 0x01021994
		room  = 2 << 30
	)
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil || fs.Type != tmpfs ||
		fs.Bavail*uint64(fs.Bsize) < room {
		return ""
	}
	return dir
}

// letIn lets who runs the server in by its socket, as distributions do.
func letIn(rules string, as *syscall.SysProcAttr) error {
	uid := os.Getuid()
	if as.Credential != nil {
		uid = int(as.Credential.Uid)
	}
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return err
	}
	own.runner = u.Username
	text, err := os.ReadFile(rules)
	if err != nil {
		return err
	}
	text = append([]byte("local all "+own.runner+" peer\n"), text...)
	return os.WriteFile(rules, text, 0o600) // it is there, and stays whose it is
}

// certificate makes the server's certificate, which signs itself, and its key.
func certificate(dir string, as *syscall.SysProcAttr) error {
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	of := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &k.PublicKey, k)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		return err
	}
	own.ca = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	if err := errors.Join(os.WriteFile(filepath.Join(dir, "cert"), []byte(own.ca), 0o600),
		os.WriteFile(filepath.Join(dir, "key"), key, 0o600)); err != nil || as.Credential == nil {
		return err
	}
	uid, gid := int(as.Credential.Uid), int(as.Credential.Gid)
	return errors.Join(os.Chown(filepath.Join(dir, "cert"), uid, gid),
		os.Chown(filepath.Join(dir, "key"), uid, gid))
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}

// ready waits for the server.
func ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	var sessions conn.Sessions
	defer sessions.Close()
	c, err := sessions.Connect(ctx, options(nil))
	if err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if err = c.Verify(ctx); err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return err
		}
	}
}

// options are those of an agent for the server, over its port.
func options(more map[string]any) map[string]any {
	port, _ := strconv.ParseInt(own.port, 10, 64)
	out := map[string]any{"host": "127.0.0.1", "port": port, "password": admin, "tls": "none"}
	for k, v := range more {
		out[k] = v
	}
	return out
}

// connect returns a connection.
func connect(t *testing.T, sessions *conn.Sessions, more map[string]any) *conn.Conn {
	t.Helper()
	c, err := sessions.Connect(t.Context(), options(more))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sessions.Close() })
	return c
}

// cutter stops before one query, and all after it.
type cutter struct{ providertest.Stopper }

type cut struct {
	net.Conn
	c *cutter
}

func (c *cutter) wrap(n net.Conn) net.Conn { return &cut{n, c} }

// Write implements net.Conn. Messages that begin with Q or P are queries; those of a login are let
// through.
func (n *cut) Write(b []byte) (int, error) {
	if len(b) > 0 && (b[0] == 'Q' || b[0] == 'P') {
		if err := n.c.Before(); err != nil {
			_ = n.Conn.Close()
			return 0, err
		}
	}
	return n.Conn.Write(b)
}
