//go:build servers

package vault_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"southbound/localstack/server"
	"southbound/shared/fault"
	"southbound/shared/internal/secretsource/vault"
)

// bao is a server of OpenBao.
type bao struct {
	*server.OpenBao
	url string
}

func startBao(t *testing.T) bao {
	t.Helper()
	b, err := server.StartOpenBao(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return bao{b, b.URL}
}

func (b bao) must(t *testing.T, method, path string, body any) map[string]any {
	t.Helper()
	out, code := b.Send(method, path, b.Root, body)
	if code >= 300 || code == 0 {
		t.Fatalf("%s %s: %d, %v", method, path, code, out)
	}
	return out
}

// token returns a new token with a policy.
func (b bao) token(t *testing.T, rules string, options map[string]any) string {
	t.Helper()
	b.must(t, "PUT", "sys/policies/acl/p", map[string]any{"policy": rules})
	options["policies"] = []string{"p"}
	out := b.must(t, "POST", "auth/token/create", options)
	auth, _ := out["auth"].(map[string]any)
	token, _ := auth["client_token"].(string)
	return token
}

func (b bao) put(t *testing.T, path string, fields map[string]any) {
	t.Helper()
	mount, name, _ := strings.Cut(path, "/")
	b.must(t, "POST", mount+"/data/"+name, map[string]any{"data": fields})
}

// settings sets the variables of a client, and unsets the others.
func settings(t *testing.T, of map[string]string) {
	t.Helper()
	for _, name := range []string{"ADDR", "TOKEN", "NAMESPACE", "ROLE_ID", "SECRET_ID", "CACERT",
		"APPROLE_PATH"} {
		t.Setenv("BAO_"+name, "") // t.Setenv restores it
		_ = os.Unsetenv("BAO_" + name)
		t.Setenv("VAULT_"+name, of[name])
	}
	t.Setenv("VAULT_MAX_RETRIES", "0")
}

const readShop = `path "secret/data/shop/*" { capabilities = ["read"] }
path "old/shop" { capabilities = ["read"] }
path "database/creds/app" { capabilities = ["read"] }`

// kept implements vault.Leases in memory.
type kept struct {
	mu  sync.Mutex
	all map[string][]byte
}

func (k *kept) Load(name string) ([]byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.all[name], nil
}

func (k *kept) Save(name string, b []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all[name] = b
	return nil
}

// TestKV pins what is read of KV engines, and what is said when it is not.
func TestKV(t *testing.T) {
	b := startBao(t)
	b.put(t, "secret/shop/db", map[string]any{"password": "s3cr3t-1", "port": 5432, "list": []int{1}})
	b.put(t, "secret/shop/db", map[string]any{"password": "s3cr3t-2", "port": 5432})
	b.put(t, "secret/shop/gone", map[string]any{"password": "s3cr3t-3"})
	b.must(t, "DELETE", "secret/data/shop/gone", nil)
	b.put(t, "secret/bank/db", map[string]any{"password": "s3cr3t-4"})
	b.must(t, "POST", "old/shop", map[string]any{"password": "s3cr3t-5"})
	settings(t, map[string]string{"ADDR": b.url, "TOKEN": b.token(t, readShop, map[string]any{})})
	r := &vault.Reader{}
	for _, test := range []struct {
		name, version string
		want          vault.Value
		kind          fault.Kind
		says          string
	}{
		{"secret/shop/db#password", "", vault.Value{"s3cr3t-2", "2"}, "", ""},
		{"secret/shop/db#password", "1", vault.Value{"s3cr3t-1", "1"}, "", ""},
		{"secret/shop/db#port", "", vault.Value{"5432", "2"}, "", ""},
		{"secret/shop/db#list", "1", vault.Value{"[1]", "1"}, "", ""},
		{"old/shop#password", "", vault.Value{"s3cr3t-5", ""}, "", ""},
		{"old/shop#password", "1", vault.Value{}, fault.Invalid, "old/shop has no versions"},
		{"secret/shop/db#none", "", vault.Value{}, fault.NotFound, "has no field none"},
		{"secret/shop/none#a", "", vault.Value{}, fault.NotFound, "no secret at secret/shop/none"},
		{"secret/shop/db#password", "9", vault.Value{}, fault.NotFound, "no secret at"},
		{"secret/shop/gone#password", "", vault.Value{}, fault.NotFound,
			"version 1 of secret/shop/gone was deleted"},
		{"secret/bank/db#password", "", vault.Value{}, fault.Denied,
			"secret/bank/db: the policy of the token does not permit it"},
		{"nowhere/db#password", "", vault.Value{}, fault.Denied, "nowhere/db: the policy"},
	} {
		got, err := r.Read(t.Context(), test.name, test.version)
		if got != test.want || fault.KindOf(err) != test.kind {
			t.Errorf("%s, version %q: %v, %v (%s)", test.name, test.version, got, err, fault.KindOf(err))
		}
		if err != nil && (!strings.Contains(err.Error(), test.says) || fault.HintOf(err) == "" ||
			strings.Contains(err.Error()+fault.HintOf(err), "s3cr3t")) {
			t.Errorf("%s: the error is %v (%s), want %q", test.name, err, fault.HintOf(err), test.says)
		}
	}
}

// TestUnset pins what is said when no server or no login is configured, or when there is no server.
func TestUnset(t *testing.T) {
	for says, of := range map[string]map[string]string{
		"no server is configured": {"TOKEN": "x"},
		"no login is configured":  {"ADDR": "http://127.0.0.1:1"},
		"cannot be reached":       {"ADDR": "http://127.0.0.1:1", "TOKEN": "x"},
		"settings of the client":  {"ADDR": "http://127.0.0.1:1", "TOKEN": "x", "CACERT": "/none"},
	} {
		settings(t, of)
		_, err := (&vault.Reader{}).Read(t.Context(), "secret/a#b", "")
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(fault.HintOf(err), "VAULT_") {
			t.Errorf("%v: %v (%s), want %q", of, err, fault.HintOf(err), says)
		}
	}
}

// TestTokens pins that a token that has expired is replaced once with AppRole, that one from a
// variable is an error that says so, and that a token is renewed while it is used.
func TestTokens(t *testing.T) {
	b := startBao(t)
	b.put(t, "secret/shop/db", map[string]any{"password": "s3cr3t"})
	once := b.token(t, readShop, map[string]any{"ttl": "1h"})
	b.must(t, "POST", "auth/approle/role/r", map[string]any{"token_policies": "p", "token_ttl": "1h"})
	id := func(path, name string, method string) string {
		data, _ := b.must(t, method, path, nil)["data"].(map[string]any)
		text, _ := data[name].(string)
		return text
	}
	role := id("auth/approle/role/r/role-id", "role_id", "GET")
	secret := id("auth/approle/role/r/secret-id", "secret_id", "POST")
	revokeAll := func() {
		b.must(t, "PUT", "sys/leases/revoke-prefix/auth/approle", nil)
	}

	settings(t, map[string]string{"ADDR": b.url, "ROLE_ID": role, "SECRET_ID": secret})
	r := &vault.Reader{}
	read := func() error {
		got, err := r.Read(t.Context(), "secret/shop/db#password", "")
		if err == nil && got.Text != "s3cr3t" {
			err = fmt.Errorf("it is %q", got.Text)
		}
		return err
	}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	revokeAll()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := read(); err != nil {
				t.Errorf("after the token was revoked: %v", err)
			}
		})
	}
	wg.Wait()
	b.must(t, "DELETE", "auth/approle/role/r", nil)
	revokeAll()
	if err := read(); !fault.Is(err, fault.Denied) ||
		!strings.Contains(err.Error(), "the login with AppRole at auth/approle failed") {
		t.Errorf("without the role: %v", err)
	}

	settings(t, map[string]string{"ADDR": b.url, "TOKEN": once})
	r = &vault.Reader{}
	if err := read(); err != nil {
		t.Fatal(err)
	}
	b.must(t, "POST", "auth/token/revoke", map[string]any{"token": once})
	if err := read(); !fault.Is(err, fault.Denied) || strings.Contains(err.Error(), once) ||
		!strings.Contains(err.Error(), "it has expired or was revoked") ||
		!strings.Contains(fault.HintOf(err), "VAULT_ROLE_ID") {
		t.Errorf("an expired token: %v (%s)", err, fault.HintOf(err))
	}

	long := b.token(t, readShop, map[string]any{"ttl": "1h", "renewable": true})
	settings(t, map[string]string{"ADDR": b.url, "TOKEN": long})
	r = &vault.Reader{}
	renewed := func() bool {
		data, _ := b.must(t, "POST", "auth/token/lookup", map[string]any{"token": long})["data"].(map[string]any)
		return data["last_renewal"] != nil
	}
	if err := read(); err != nil || renewed() {
		t.Errorf("it is renewed too early: %v", err)
	}
	r.HalfIsOver()
	if err := read(); err != nil || !renewed() {
		t.Errorf("half of its time is over, and it was not renewed: %v", err)
	}
}

// TestSealed pins that a sealed server is told from one that fails, and can be tried again.
func TestSealed(t *testing.T) {
	b := startBao(t)
	b.put(t, "secret/shop/db", map[string]any{"password": "s3cr3t"})
	settings(t, map[string]string{"ADDR": b.url, "TOKEN": b.token(t, readShop, map[string]any{})})
	r := &vault.Reader{}
	if _, err := r.Read(t.Context(), "secret/shop/db#password", ""); err != nil {
		t.Fatal(err)
	}
	b.must(t, "PUT", "sys/seal", nil)
	_, err := r.Read(t.Context(), "secret/shop/db#password", "")
	if !fault.Is(err, fault.Unavailable) || !strings.Contains(err.Error(), "is sealed") ||
		!strings.Contains(fault.HintOf(err), "unseal it") {
		t.Errorf("sealed: %v (%s)", err, fault.HintOf(err))
	}
}

// TestCredentials pins that the credentials of a database are issued once and used until their time
// is nearly over, for all fields together, and that others are issued when they were revoked.
func TestCredentials(t *testing.T) {
	b := startBao(t)
	dsn := startPostgreSQL(t)
	b.must(t, "POST", "sys/mounts/database", map[string]any{"type": "database"})
	for range 3000 { // until the database has started
		_, code := b.Send("POST", "database/config/db", b.Root, map[string]any{
			"plugin_name": "postgresql-database-plugin", "allowed_roles": "app", "connection_url": dsn})
		if code < 300 {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.must(t, "POST", "database/roles/app", map[string]any{"db_name": "db", "default_ttl": "1h",
		"creation_statements": []string{
			`CREATE ROLE "{{name}}" LOGIN PASSWORD '{{password}}' VALID UNTIL '{{expiration}}'`}})
	settings(t, map[string]string{"ADDR": b.url, "TOKEN": b.token(t, readShop, map[string]any{})})

	leases := &kept{all: map[string][]byte{}}
	pair := func() string {
		r := &vault.Reader{Leases: leases} // another process
		user, err := r.Read(t.Context(), "database/creds/app#username", "")
		if err != nil {
			t.Fatal(err)
		}
		password, err := r.Read(t.Context(), "database/creds/app#password", "")
		if err != nil || user.Text == "" || password.Text == "" || user.Version+password.Version != "" {
			t.Fatalf("%v, %v, %v", user, password, err)
		}
		return user.Text + " " + password.Text
	}
	first := pair()
	if pair() != first {
		t.Error("each process gets credentials of its own")
	}
	b.must(t, "PUT", "sys/leases/revoke-prefix/database/creds/app", nil)
	second := pair()
	if second == first {
		t.Error("revoked credentials are still given out")
	}
	if got, err := (&vault.Reader{}).Read(t.Context(), "database/creds/app#username", ""); err != nil ||
		got.Text != "" {
		t.Errorf("credentials were issued for a check: %v, %v", got, err)
	}
}

// startPostgreSQL starts a server and returns its address with the login of its owner.
func startPostgreSQL(t *testing.T) string {
	t.Helper()
	bin, err := server.PostgreSQL(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "southbound-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as, err := server.Unprivileged(dir)
	if err != nil {
		t.Fatal(err)
	}
	password := filepath.Join(dir, "pw")
	if err := os.WriteFile(password, []byte("owner"), 0o644); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	initdb := exec.CommandContext(t.Context(), filepath.Join(bin, "initdb"), "-U", "owner", "-A",
		"scram-sha-256", "--pwfile", password, "-D", data, "--no-sync")
	initdb.SysProcAttr, initdb.Dir = as, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v, %s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	_ = l.Close()
	cmd := exec.Command(filepath.Join(bin, "postgres"), "-D", data, "-p", port, "-h", "127.0.0.1",
		"-k", dir, "-F")
	cmd.SysProcAttr, cmd.Dir = as, dir
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGQUIT); _ = cmd.Wait() })
	return "postgresql://owner:owner@127.0.0.1:" + port + "/postgres?sslmode=disable"
}
