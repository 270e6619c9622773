package git

import (
	"errors"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"southbound/shared/provider"
)

// keyring offers a private key to ssh through a socket, as ssh-agent does, so that no file contains
// the key.
type keyring struct {
	dir      string
	listener net.Listener
}

// offer starts serving the key to the user git runs as. The caller closes it.
func offer(g *client) (*keyring, error) {
	raw, err := ssh.ParseRawPrivateKey([]byte(g.sshKey))
	if err != nil {
		// the error may contain a part of the key
		return nil, provider.Errorf(provider.NeedsChange,
			"ssh_key is not a private key without a passphrase")
	}
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: raw}); err != nil {
		return nil, provider.Errorf(provider.NeedsChange,
			"ssh_key is of a kind that cannot be used: %w", err)
	}
	dir, err := os.MkdirTemp("", "southbound-git-")
	if err != nil {
		return nil, provider.Errorf(provider.Retryable,
			"make a place for the socket of the key: %w", err)
	}
	k := &keyring{dir: dir}
	if k.listener, err = net.Listen("unix", k.socket()); err == nil && g.knownHosts != "" {
		err = os.WriteFile(k.hosts(), []byte(g.knownHosts+"\n"), 0o600)
	}
	if g.who != nil && err == nil {
		for _, path := range []string{k.socket(), k.hosts(), dir} {
			// the directory last: until then no other user can reach it
			if e := os.Lchown(path, int(g.who.Uid), int(g.who.Gid)); e != nil &&
				!errors.Is(e, os.ErrNotExist) {
				err = e
			}
		}
	}
	if err != nil {
		k.close()
		return nil, provider.Errorf(provider.Retryable, "offer the key to ssh: %w", err)
	}
	go k.serve(ring)
	return k, nil
}

func (k *keyring) socket() string { return filepath.Join(k.dir, "agent") }

func (k *keyring) hosts() string { return filepath.Join(k.dir, "known_hosts") }

// serve answers until the listener is closed.
func (k *keyring) serve(ring agent.Agent) {
	for {
		c, err := k.listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			_ = agent.ServeAgent(ring, c) // it ends when the client disconnects
		}()
	}
}

func (k *keyring) close() {
	if k.listener != nil {
		_ = k.listener.Close()
	}
	_ = os.RemoveAll(k.dir)
}

// environment passes ssh the key, and the host keys that it accepts.
func (k *keyring) environment(g *client) []string {
	command := "ssh -oBatchMode=yes -oIdentityFile=none -oStrictHostKeyChecking=yes"
	if g.knownHosts != "" {
		command += " -oUserKnownHostsFile=" + k.hosts()
	}
	return []string{"SSH_AUTH_SOCK=" + k.socket(), "GIT_SSH_COMMAND=" + command}
}
