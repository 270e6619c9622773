package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/crypto/ssh/knownhosts"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/transport/remote"
)

// dial logs in to the last of hops through all before. Closing the answer closes all.
func (s *settings) dial(ctx context.Context) (*chain, error) {
	c := &chain{}
	for i := range s.hops {
		h := &s.hops[i]
		if err := c.extend(ctx, h, time.Duration(s.connectTimeout)*time.Second); err != nil {
			c.close()
			if i < len(s.hops)-1 {
				return nil, wrapClass(err, "through "+h.host)
			}
			return nil, err
		}
	}
	return c, nil
}

// wrapClass puts words before an error and keeps its class.
func wrapClass(err error, words string) error {
	return provider.Errorf(provider.ClassOf(err), "%s: %w", words, err)
}

// chain is logins, each through the one before.
type chain struct {
	clients []*ssh.Client
	heard   *remote.Pulse // of the last
}

// heardConn knows when it was read from last.
type heardConn struct {
	net.Conn
	heard *remote.Pulse
}

// Read implements net.Conn.
func (c *heardConn) Read(b []byte) (int, error) { return c.heard.Read(b) }

func (c *chain) last() *ssh.Client { return c.clients[len(c.clients)-1] }

// close closes the first login first: the others go through it, and closing them politely waits for a network that may be gone.
func (c *chain) close() {
	for _, client := range c.clients {
		_ = client.Close()
	}
}

// extend logs in to one more machine.
func (c *chain) extend(ctx context.Context, h *hop, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	keys, err := h.hostKeyCheck()
	if err != nil {
		return err
	}
	methods, closeAgent, err := h.methods()
	if err != nil {
		return err
	}
	defer closeAgent()
	name, err := h.login()
	if err != nil {
		return err
	}
	conf := &ssh.ClientConfig{User: name, Auth: methods, HostKeyCallback: keys.check, HostKeyAlgorithms: keys.algorithms, ClientVersion: "SSH-2.0-Southbound"}
	address := net.JoinHostPort(h.host, strconv.FormatInt(h.port, 10))
	var raw net.Conn
	if len(c.clients) == 0 {
		raw, err = (&net.Dialer{KeepAlive: 30 * time.Second}).DialContext(ctx, "tcp", address)
	} else {
		raw, err = c.last().DialContext(ctx, "tcp", address)
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, "connect to "+address, err)
	}
	heard := remote.NewPulse(raw, 0)
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	conn, channels, requests, err := ssh.NewClientConn(&heardConn{raw, heard}, address, conf)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = raw.Close()
		return h.loginError(ctx, address, name, err, keys)
	}
	c.clients, c.heard = append(c.clients, ssh.NewClient(conn, channels, requests)), heard
	return nil
}

// loginError says why a login failed, and whether it may pass.
func (h *hop) loginError(ctx context.Context, address, name string, err error, keys *hostKeys) error {
	op := "log in to " + address
	terminal := func(kind fault.Kind, hint, format string, args ...any) error {
		return provider.Errorf(provider.Terminal, "%w", fault.New(kind, op, format, args...).WithHint("%s", hint))
	}
	switch text := err.Error(); {
	case keys.problem != nil:
		return keys.problem
	case ctx.Err() != nil:
		return fault.New(fault.Unavailable, op, "no answer within the time given")
	// The second is how the library says that the machine refused to ask anything.
	case strings.Contains(text, "unable to authenticate"), strings.Contains(text, "unexpected message type 51"):
		return terminal(fault.Denied, "see user, key_file, key, password and agent; `ssh -v` from here shows what the machine takes",
			"the machine does not let %q in: %s", name, strings.TrimPrefix(text, "ssh: handshake failed: "))
	case strings.Contains(text, "no common algorithm"):
		return terminal(fault.Unsupported, "update the ssh server there", "%s", text)
	}
	return fault.Wrap(fault.Unavailable, op, err)
}

// login returns the user to log in as.
func (h *hop) login() (string, error) {
	if h.user != "" {
		return h.user, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", provider.Errorf(provider.Terminal, "%w", fault.New(fault.Invalid, "connect", "it is not known who this is").WithHint("add user"))
	}
	return u.Username, nil
}

// methods returns the ways to log in, and what is to be called when it is done.
func (h *hop) methods() ([]ssh.AuthMethod, func(), error) {
	var signers []ssh.Signer
	done := func() {}
	switch {
	case h.key != "":
		s, err := h.signer([]byte(h.key), "key")
		if err != nil {
			return nil, done, err
		}
		signers = append(signers, s)
	case h.keyFile != "":
		path, err := expand(h.keyFile)
		if err != nil {
			return nil, done, err
		}
		text, err := os.ReadFile(path) //nolint:gosec // named by the document
		if err != nil {
			return nil, done, provider.Errorf(provider.Terminal, "%w", &fault.Error{Kind: fault.NotFound, Op: "read key_file", Err: err, Hint: "it is a path on the machine that connects"})
		}
		s, err := h.signer(text, "key_file")
		if err != nil {
			return nil, done, err
		}
		signers = append(signers, s)
	}
	usual := h.key == "" && h.keyFile == "" && h.password == ""
	var methods []ssh.AuthMethod
	if h.agent != nil && *h.agent || h.agent == nil && usual {
		fromAgent, closeAgent, err := agentSigners()
		if err != nil && h.agent != nil {
			return nil, done, err
		}
		signers, done = append(signers, fromAgent...), closeAgent
	}
	if usual && h.agent == nil {
		signers = append(signers, usualKeys()...)
	}
	if len(signers) > 0 {
		methods = append(methods, ssh.PublicKeys(signers...))
	}
	if h.password != "" {
		methods = append(methods, ssh.Password(h.password), ssh.KeyboardInteractive(func(_, _ string, questions []string, _ []bool) ([]string, error) {
			if len(questions) > 1 {
				return nil, errors.New("the machine asks for more than a password")
			}
			return []string{h.password}[:len(questions)], nil
		}))
	}
	if len(methods) == 0 {
		return nil, done, provider.Errorf(provider.Terminal, "%w", fault.New(fault.Denied, "connect", "there is no key and no password for %s", h.host).
			WithHint("add key_file, key or password, or run ssh-agent"))
	}
	return methods, done, nil
}

// signer reads a private key.
func (h *hop) signer(text []byte, option string) (ssh.Signer, error) {
	fail := func(message, hint string) error {
		return provider.Errorf(provider.Terminal, "%w", fault.New(fault.Invalid, "read "+option, "%s", message).WithHint("%s", hint))
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(bytes.Clone(text), '\n')
	}
	s, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked) && h.passphrase == "":
		return nil, fail("the key is encrypted", "add passphrase, or let ssh-agent hold the key")
	case errors.As(err, &locked):
		if s, err = ssh.ParsePrivateKeyWithPassphrase(text, []byte(h.passphrase)); err != nil {
			return nil, fail("the passphrase does not open the key", "see passphrase")
		}
	case err != nil:
		return nil, fail("it is no private key", "it begins with -----BEGIN OPENSSH PRIVATE KEY-----")
	}
	return s, nil
}

// agentSigners returns the keys of the running ssh-agent, which signs while it is not closed.
func agentSigners() ([]ssh.Signer, func(), error) {
	socket := os.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, func() {}, provider.Errorf(provider.Terminal, "%w", fault.New(fault.Denied, "ask ssh-agent", "none runs").WithHint("start ssh-agent, or leave `agent` out"))
	}
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).Dial("unix", socket)
	if err != nil {
		return nil, func() {}, fault.Wrap(fault.Unavailable, "ask ssh-agent", err)
	}
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		_ = conn.Close()
		return nil, func() {}, fault.Wrap(fault.Unavailable, "ask ssh-agent", err)
	}
	return signers, func() { _ = conn.Close() }, nil
}

// usualKeys are those that ssh would try: of the user, and not encrypted.
func usualKeys() []ssh.Signer {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	var out []ssh.Signer
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		text, err := os.ReadFile(filepath.Join(home, ".ssh", name)) //nolint:gosec // the user's own
		if err != nil {
			continue
		}
		if s, err := ssh.ParsePrivateKey(text); err == nil {
			out = append(out, s)
		}
	}
	return out
}

// hostKeys holds a machine to the keys that it is known by.
type hostKeys struct {
	check      ssh.HostKeyCallback
	algorithms []string // of the keys that are known, so that the machine shows one of those
	problem    error    // why the key was refused
}

// hostKeyCheck returns the check of the key of a machine. There is always one.
func (h *hop) hostKeyCheck() (*hostKeys, error) {
	k := &hostKeys{}
	refuse := func(hint, format string, args ...any) error {
		k.problem = provider.Errorf(provider.Terminal, "%w", fault.New(fault.Denied, "log in to "+h.host, format, args...).WithHint("%s", hint))
		return k.problem
	}
	if len(h.hostKeys) > 0 {
		for _, key := range h.hostKeys {
			k.algorithms = append(k.algorithms, algorithmsOf(key.Type())...)
		}
		k.check = func(_ string, _ net.Addr, key ssh.PublicKey) error {
			for _, want := range h.hostKeys {
				if bytes.Equal(want.Marshal(), key.Marshal()) {
					return nil
				}
			}
			return refuse("someone may stand between; compare with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` there, and correct host_key only when that is it",
				"the machine shows another key than host_key: %s %s", key.Type(), ssh.FingerprintSHA256(key))
		}
		return k, nil
	}
	path, err := expand(orElse(h.knownHosts, "~/.ssh/known_hosts"))
	if err != nil {
		return nil, err
	}
	known, err := knownhosts.New(path)
	if err != nil {
		return nil, provider.Errorf(provider.Terminal, "%w", (&fault.Error{Kind: fault.Denied, Op: "read known_hosts", Err: err}).
			WithHint("add host_key, or the line of `ssh-keyscan -p %d %s` to %s once it has been compared with the key on the machine", h.port, h.host, path))
	}
	address := net.JoinHostPort(h.host, strconv.FormatInt(h.port, 10))
	k.algorithms = knownAlgorithms(known, address)
	k.check = func(address string, remote net.Addr, key ssh.PublicKey) error {
		err := known(address, remote, key)
		var unknown *knownhosts.KeyError
		var revoked *knownhosts.RevokedError
		shown := key.Type() + " " + ssh.FingerprintSHA256(key)
		switch {
		case err == nil:
			return nil
		case errors.As(err, &revoked):
			return refuse("it was revoked: nobody may use it any more", "the machine shows a key that %s revokes: %s", path, shown)
		case errors.As(err, &unknown) && len(unknown.Want) > 0:
			return refuse(fmt.Sprintf("someone may stand between; ask who runs the machine whether it has a new key, and only then correct line %d of %s", unknown.Want[0].Line, unknown.Want[0].Filename),
				"the machine shows another key than is known of it: %s", shown)
		}
		return refuse(fmt.Sprintf("compare it with the key on the machine, then add it to %s, or as host_key", path), "the key of the machine is not known: %s", shown)
	}
	return k, nil
}

// knownAlgorithms returns the algorithms of the keys that are known of an address, by asking for a key that it cannot have.
func knownAlgorithms(known ssh.HostKeyCallback, address string) []string {
	var unknown *knownhosts.KeyError
	if err := known(address, &net.TCPAddr{IP: net.IPv4zero}, noKey{}); !errors.As(err, &unknown) {
		return nil
	}
	var out []string
	for _, want := range unknown.Want {
		out = append(out, algorithmsOf(want.Key.Type())...)
	}
	return out
}

// algorithmsOf returns the algorithms by which a type of key is used.
func algorithmsOf(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{keyType}
}

// noKey is a public key that nobody has.
type noKey struct{}

// Type implements ssh.PublicKey.
func (noKey) Type() string { return "none" }

// Marshal implements ssh.PublicKey.
func (noKey) Marshal() []byte { return []byte("none") }

// Verify implements ssh.PublicKey.
func (noKey) Verify([]byte, *ssh.Signature) error { return io.EOF }

// expand replaces ~ by the user's directory.
func expand(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", provider.Errorf(provider.Terminal, "%w", fault.Wrap(fault.Invalid, "find the user's directory", err))
	}
	return filepath.Join(home, rest), nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
