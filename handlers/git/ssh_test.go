package git

import (
	"crypto/ed25519"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"

	"southbound/shared/diff"
	"southbound/shared/provider"
)

// newKey makes a key pair.
func newKey(t *testing.T) (private string, public ssh.Signer) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(block)), signer
}

// serveGit is an ssh server that runs the git commands of who shows the right key.
func serveGit(t *testing.T, host, allowed ssh.Signer) (addr string) {
	t.Helper()
	config := &ssh.ServerConfig{
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if string(key.Marshal()) != string(allowed.PublicKey().Marshal()) {
				return nil, fmt.Errorf("another key")
			}
			return nil, nil
		}}
	config.AddHostKey(host)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go session(c, config)
		}
	}()
	return l.Addr().String()
}

// session runs one command.
func session(c net.Conn, config *ssh.ServerConfig) {
	defer c.Close()
	_, channels, requests, err := ssh.NewServerConn(c, config)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for ch := range channels {
		channel, asked, err := ch.Accept()
		if err != nil {
			return
		}
		for r := range asked {
			if r.Type != "exec" {
				_ = r.Reply(r.Type == "env", nil)
				continue
			}
			_ = r.Reply(true, nil)
			var line struct{ Command string }
			_ = ssh.Unmarshal(r.Payload, &line)
			cmd := exec.Command("sh", "-c", line.Command)
			cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
			in, _ := cmd.StdinPipe()
			go func() {
				buf := make([]byte, 4096)
				for {
					n, err := channel.Read(buf)
					_, _ = in.Write(buf[:n])
					if err != nil {
						_ = in.Close()
						return
					}
				}
			}()
			status := uint32(0)
			if cmd.Run() != nil {
				status = 1
			}
			_, _ = channel.SendRequest("exit-status", false,
				ssh.Marshal(struct{ S uint32 }{status}))
			_ = channel.Close()
		}
	}
}

// TestKey clones over ssh with a key that is in no file.
func TestKey(t *testing.T) {
	source, dir := origin(t), t.TempDir()
	t.Setenv("TMPDIR", t.TempDir())
	_, host := newKey(t)
	private, signer := newKey(t)
	other, _ := newKey(t)
	addr := serveGit(t, host, signer)
	_, port, _ := net.SplitHostPort(addr)
	known := "[127.0.0.1]:" + port + " " +
		strings.TrimSpace(string(ssh.MarshalAuthorizedKey(host.PublicKey())))
	g, path := newRig(t), filepath.Join(dir, "x")
	attrs := map[string]any{"path": path, "source": "ssh://deploy@" + addr + source,
		"revision": "main", "ssh_key": private, "known_hosts": known}
	g.Must(attrs, diff.Created)
	has(t, path+"/b/c", "two\n")
	_, stranger := newKey(t)
	attrs["known_hosts"] = "[127.0.0.1]:" + port + " " +
		strings.TrimSpace(string(ssh.MarshalAuthorizedKey(stranger.PublicKey())))
	g.Fails(attrs, false, provider.Terminal, "refuses who asks")
	attrs["known_hosts"], attrs["ssh_key"] = known, other
	g.Fails(attrs, false, provider.Terminal, "refuses who asks")
	attrs["ssh_key"] = "no key"
	g.Fails(attrs, false, provider.NeedsChange, "not a private key")
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "southbound-git-*"))
	if err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
}

// TestAnotherUserGetsNoLogins pins that git as another user has none of the logins of this process.
func TestAnotherUserGetsNoLogins(t *testing.T) {
	for _, name := range []string{"GIT_SSH_COMMAND", "SSH_AUTH_SOCK"} {
		t.Setenv(name, "own")
	}
	t.Setenv("HTTPS_PROXY", "http://me:own@proxy")
	t.Setenv("NO_PROXY", "10.0.0.1")
	for _, who := range []*syscall.Credential{nil, {Uid: 65534}} {
		g := &client{who: who}
		env := strings.Join(g.environment(), "\n")
		if n := strings.Count(env, "own"); who == nil && n != 3 || who != nil && n != 0 ||
			!strings.Contains(env, "NO_PROXY=10.0.0.1") {
			t.Errorf("as %v:\n%s", who, env)
		}
	}
}
