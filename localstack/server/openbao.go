package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os/exec"
	"syscall"
	"time"
)

// OpenBao is a server of OpenBao in memory, unsealed, with a KV engine of version 2 at secret/ and of
// version 1 at old/, and with logins by AppRole at approle.
type OpenBao struct {
	URL  string
	Root string // the token with all rights
	cmd  *exec.Cmd
}

// StartOpenBao installs OpenBao, unless it is installed, and starts a server. It returns the server
// when it answers. The caller closes it.
func StartOpenBao(ctx context.Context) (*OpenBao, error) {
	program, err := InstallOpenBao(ctx)
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := l.Addr().String()
	_ = l.Close()
	b := &OpenBao{URL: "http://" + address, Root: "root-of-tests"}
	var log bytes.Buffer
	b.cmd = exec.Command(program, "server", "-dev", "-dev-no-store-token",
		"-dev-root-token-id="+b.Root, "-dev-listen-address="+address)
	b.cmd.Stdout, b.cmd.Stderr = &log, &log
	b.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := b.cmd.Start(); err != nil {
		return nil, err
	}
	for range 3000 {
		if _, code := b.Send("GET", "secret/config", b.Root, nil); code == http.StatusOK {
			_, kv := b.Send("POST", "sys/mounts/old", b.Root, map[string]any{"type": "kv"})
			_, role := b.Send("POST", "sys/auth/approle", b.Root, map[string]any{"type": "approle"})
			if kv >= 300 || role >= 300 {
				err = fmt.Errorf("OpenBao answers %d and %d", kv, role)
				break
			}
			return b, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	b.Close()
	return nil, fmt.Errorf("OpenBao did not start: %v\n%s", err, log.String())
}

// Send sends a request and returns the answer and its status; the status is 0 if there is no answer.
func (b *OpenBao) Send(method, path, token string, body any) (map[string]any, int) {
	text, _ := json.Marshal(body)
	req, err := http.NewRequestWithContext(context.Background(), method, b.URL+"/v1/"+path,
		bytes.NewReader(text))
	if err != nil {
		return nil, 0
	}
	req.Header.Set("X-Vault-Token", token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, 0
	}
	defer res.Body.Close()
	out := map[string]any{}
	all, _ := io.ReadAll(res.Body)
	_ = json.Unmarshal(all, &out)
	return out, res.StatusCode
}

// Close ends the server.
func (b *OpenBao) Close() {
	_ = b.cmd.Process.Kill()
	_ = b.cmd.Wait()
}
