package ssh

import (
	"context"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/provider"
	"southbound/shared/transport/internal/guard"
	"southbound/shared/transport/remote"
)

// dial logs in to the last of hops through all previous ones. Closing the result closes all.
func (s *settings) dial(ctx context.Context) (*chain, error) {
	c := &chain{}
	for i := range s.hops {
		h := &s.hops[i]
		if err := c.extend(ctx, h, time.Duration(s.connectTimeout)*time.Second,
			s.guarded); err != nil {
			c.close()
			if i < len(s.hops)-1 {
				return nil, wrapClass(err, "through "+h.host)
			}
			return nil, err
		}
	}
	return c, nil
}

// wrapClass prefixes an error with words and keeps its class.
func wrapClass(err error, words string) error {
	return provider.Errorf(provider.ClassOf(err), "%s: %w", words, err)
}

// chain is a series of logins, each through the previous one.
type chain struct {
	clients []*ssh.Client
	pulse   *remote.Pulse // of the last login
}

// activeConn records the time of its last read.
type activeConn struct {
	net.Conn
	pulse *remote.Pulse
}

// Read implements net.Conn.
func (c *activeConn) Read(b []byte) (int, error) { return c.pulse.Read(b) }

func (c *chain) last() *ssh.Client { return c.clients[len(c.clients)-1] }

// close closes the first login first: the others use it, and an orderly close of them could wait
// for a lost network.
func (c *chain) close() {
	for _, client := range c.clients {
		_ = client.Close()
	}
}

// extend logs in to one more machine.
func (c *chain) extend(ctx context.Context, h *hop, limit time.Duration, guarded bool) error {
	ctx, cancel := patience.WithTimeout(ctx, limit)
	defer cancel()
	keys, err := h.hostKeyCheck()
	if err != nil {
		return err
	}
	var seen attempts
	methods, closeAgent, err := h.methods(&seen)
	if err != nil {
		return err
	}
	defer closeAgent()
	name, err := h.login()
	if err != nil {
		return err
	}
	conf := &ssh.ClientConfig{User: name, Auth: methods, HostKeyCallback: keys.check,
		HostKeyAlgorithms: keys.algorithms, ClientVersion: "SSH-2.0-Southbound"}
	address := net.JoinHostPort(h.host, strconv.FormatInt(h.port, 10))
	var raw net.Conn
	if len(c.clients) == 0 {
		d := net.Dialer{KeepAlive: 30 * time.Second}
		if guarded {
			d.Control = guard.Control
		}
		raw, err = d.DialContext(ctx, "tcp", address)
	} else {
		raw, err = c.last().DialContext(ctx, "tcp", address)
	}
	if fault.Is(err, fault.Denied) {
		return provider.Errorf(provider.Terminal, "%w", err)
	}
	if err != nil {
		return fault.Wrap(fault.Unavailable, "connect to "+address, err)
	}
	pulse := remote.NewPulse(raw, 0)
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	conn, channels, requests, err := ssh.NewClientConn(&activeConn{raw, pulse}, address, conf)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		_ = raw.Close()
		return h.loginError(ctx, address, name, err, keys, seen)
	}
	c.clients, c.pulse = append(c.clients, ssh.NewClient(conn, channels, requests)), pulse
	return nil
}

// loginError returns why a login failed, classified as temporary or not.
func (h *hop) loginError(
	ctx context.Context, address, name string, err error, keys *hostKeys, seen attempts,
) error {
	op := "log in to " + address
	terminal := func(kind fault.Kind, hint, format string, args ...any) error {
		return provider.Errorf(provider.Terminal, "%w",
			fault.New(kind, op, format, args...).WithHint("%s", hint))
	}
	switch text := err.Error(); {
	case keys.problem != nil:
		return keys.problem
	case strings.Contains(text, "Too many authentication failures"):
		return terminal(fault.Denied,
			"name the right key by key_file; where ssh-agent holds it, key_file may be its "+
				"public half",
			"the machine rejected %q: too many keys were offered", name)
	case ctx.Err() != nil:
		return fault.New(fault.Unavailable, op, "no answer within the time given")
	case strings.Contains(text, "unable to authenticate"), strings.Contains(text, askedNothing):
		return terminal(fault.Denied,
			"see user, key_file, key, password and agent; `ssh -v` from here shows the methods that the "+
				"machine accepts",
			"the machine rejected %q: %s", name, seen.refusal(text))
	case strings.Contains(text, "no common algorithm"):
		return terminal(fault.Unsupported, "update the ssh server there", "%s", text)
	}
	return fault.Wrap(fault.Unavailable, op, err)
}

// askedNothing is the library's text if the machine refused to ask for credentials.
const askedNothing = "unexpected message type 51"

// refusal rewords the library's error for a rejected login.
func (a attempts) refusal(text string) string {
	text = strings.TrimPrefix(text, "ssh: handshake failed: ")
	if strings.Contains(text, askedNothing) {
		text = ""
	}
	switch {
	case a.password && text == "":
		return "it refuses the password"
	case a.password:
		return "it refuses the password (" + text + ")"
	case text == "":
		return "it does not ask for the password"
	}
	return text
}

// login returns the user to log in as.
func (h *hop) login() (string, error) {
	if h.user != "" {
		return h.user, nil
	}
	u, err := user.Current()
	if err != nil {
		return "", provider.Errorf(provider.Terminal, "%w",
			fault.New(fault.Invalid, "connect", "it is not known who this is").WithHint("add user"))
	}
	return u.Username, nil
}

// expand replaces ~ by the user's home directory.
func expand(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", provider.Errorf(provider.Terminal, "%w",
			fault.Wrap(fault.Invalid, "find the user's directory", err))
	}
	return filepath.Join(home, rest), nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}
