package ssh

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"southbound/shared/fault"
	"southbound/shared/provider"
)

// attempts records which credentials a login has sent to the machine.
type attempts struct{ password bool }

// sending returns a callback that records that the password was sent.
func (a *attempts) sending(password string) func() (string, error) {
	return func() (string, error) {
		a.password = true
		return password, nil
	}
}

// methods returns the ways to log in, and a function to call after the login.
func (h *hop) methods(a *attempts) ([]ssh.AuthMethod, func(), error) {
	fallback := h.key == "" && h.keyFile == "" && h.password == ""
	held := &agentKeys{wanted: h.agent}
	signers, err := h.named(held)
	if err != nil {
		held.close()
		return nil, nil, err
	}
	if h.agent != nil && *h.agent || h.agent == nil && fallback {
		all, err := held.all()
		if err != nil && h.agent != nil {
			held.close()
			return nil, nil, err
		}
		signers = append(signers, all...)
	}
	if fallback && h.agent == nil {
		signers = append(signers, defaultKeys()...)
	}
	var methods []ssh.AuthMethod
	if signers = withoutTwins(signers); len(signers) > 0 {
		methods = append(methods, ssh.PublicKeys(signers...))
	}
	if h.password != "" {
		methods = append(methods, ssh.PasswordCallback(a.sending(h.password)),
			ssh.KeyboardInteractive(
				func(_, _ string, questions []string, _ []bool) ([]string, error) {
					if len(questions) > 1 {
						return nil, errors.New("the machine asks for more than a password")
					}
					if len(questions) == 1 {
						a.password = true
					}
					return []string{h.password}[:len(questions)], nil
				}))
	}
	if len(methods) == 0 {
		held.close()
		return nil, nil, provider.Errorf(provider.Terminal, "%w",
			fault.New(fault.Denied, "connect", "there is no key and no password for %s", h.host).
				WithHint("add key_file, key or password, or run ssh-agent"))
	}
	return methods, held.close, nil
}

// named returns the key that the options name, preceded by the key with its certificate.
func (h *hop) named(held *agentKeys) ([]ssh.Signer, error) {
	var signer ssh.Signer
	var err error
	certificate := h.certificate
	switch {
	case h.key != "":
		signer, err = h.signer([]byte(h.key), "key", nil, held)
	case h.keyFile != "":
		var path string
		if path, err = expand(h.keyFile); err != nil {
			return nil, err
		}
		text, failed := os.ReadFile(path)
		if failed != nil {
			return nil, provider.Errorf(provider.Terminal, "%w",
				&fault.Error{Kind: fault.NotFound, Op: "read key_file", Err: failed,
					Hint: "it is a path on the machine that connects"})
		}
		public, _ := os.ReadFile(path + ".pub")
		if signer, err = h.signer(text, "key_file", public, held); err != nil {
			return nil, err
		}
		if certificate == nil {
			certificate = certificateBeside(path)
		}
	}
	if signer == nil || err != nil {
		return nil, err
	}
	if certificate == nil || !bytes.Equal(certificate.Key.Marshal(), signer.PublicKey().Marshal()) {
		if h.certificate != nil {
			return nil, provider.Errorf(provider.Terminal, "%w",
				fault.New(fault.Invalid, "read certificate", "it is of another key"))
		}
		return []ssh.Signer{signer}, nil
	}
	certified, err := ssh.NewCertSigner(certificate, signer)
	if err != nil {
		return nil, provider.Errorf(provider.Terminal, "%w",
			fault.Wrap(fault.Invalid, "read certificate", err))
	}
	return []ssh.Signer{certified, signer}, nil
}

// certificateBeside returns the certificate at the path where ssh looks for that of a key; nil:
// there is none.
func certificateBeside(path string) *ssh.Certificate {
	text, err := os.ReadFile(path + "-cert.pub")
	if err != nil {
		return nil
	}
	key, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil
	}
	c, _ := key.(*ssh.Certificate)
	return c
}

// signer reads a private key. If the key is encrypted without a given passphrase, or if only the
// public half exists, ssh-agent signs with the key if it holds it; public is the public half, if it
// is known.
func (h *hop) signer(
	text []byte, option string, public []byte, held *agentKeys,
) (ssh.Signer, error) {
	fail := func(message, hint string) error {
		return provider.Errorf(provider.Terminal, "%w",
			fault.New(fault.Invalid, "read "+option, "%s", message).WithHint("%s", hint))
	}
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(bytes.Clone(text), '\n')
	}
	s, err := ssh.ParsePrivateKey(text)
	var locked *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &locked) && h.passphrase == "":
		if s := held.find(locked.PublicKey, public); s != nil {
			return s, nil
		}
		return nil, fail("the key is encrypted", "add passphrase, or load the key into ssh-agent")
	case errors.As(err, &locked):
		if s, err = ssh.ParsePrivateKeyWithPassphrase(text, []byte(h.passphrase)); err != nil {
			return nil, fail("the passphrase does not open the key", "see passphrase")
		}
	case err != nil:
		if s := held.find(nil, text); s != nil {
			return s, nil
		}
		if _, _, _, _, err := ssh.ParseAuthorizedKey(text); err == nil {
			return nil, fail("it is a public key, and ssh-agent does not hold the private one",
				"name the private key, or add it by ssh-add")
		}
		return nil, fail("it is not a private key",
			"it begins with -----BEGIN OPENSSH PRIVATE KEY-----")
	}
	return s, nil
}

// withoutTwins omits duplicate keys: a machine limits how many keys it is offered.
func withoutTwins(signers []ssh.Signer) []ssh.Signer {
	seen := map[string]bool{}
	var out []ssh.Signer
	for _, s := range signers {
		if name := string(s.PublicKey().Marshal()); !seen[name] {
			seen[name] = true
			out = append(out, s)
		}
	}
	return out
}

// agentKeys are the keys of the running ssh-agent, which is queried on first use, and signs until
// close.
type agentKeys struct {
	wanted *bool // the value of the option
	conn   net.Conn
}

// all returns all keys.
func (a *agentKeys) all() ([]ssh.Signer, error) {
	socket := os.Getenv("SSH_AUTH_SOCK")
	if socket == "" {
		return nil, provider.Errorf(provider.Terminal, "%w",
			fault.New(fault.Denied, "ask ssh-agent", "none runs").
				WithHint("start ssh-agent, or leave `agent` out"))
	}
	if a.conn == nil {
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return nil, fault.Wrap(fault.Unavailable, "ask ssh-agent", err)
		}
		a.conn = conn
	}
	signers, err := agent.NewClient(a.conn).Signers()
	return signers, fault.Wrap(fault.Unavailable, "ask ssh-agent", err)
}

// find returns the key whose public half is given in one of two forms; nil: ssh-agent does not hold
// it, or must not be used.
func (a *agentKeys) find(key ssh.PublicKey, text []byte) ssh.Signer {
	if a.wanted != nil && !*a.wanted {
		return nil
	}
	if key == nil {
		var err error
		if key, _, _, _, err = ssh.ParseAuthorizedKey(text); err != nil {
			return nil
		}
	}
	all, err := a.all()
	if err != nil {
		return nil
	}
	for _, s := range all {
		if bytes.Equal(s.PublicKey().Marshal(), key.Marshal()) {
			return s
		}
	}
	return nil
}

func (a *agentKeys) close() {
	if a.conn != nil {
		_ = a.conn.Close()
	}
}

// defaultKeys are the user's unencrypted keys that ssh would try.
func defaultKeys() []ssh.Signer {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	var out []ssh.Signer
	for _, name := range []string{"id_ed25519", "id_ecdsa", "id_rsa"} {
		text, err := os.ReadFile(filepath.Join(home, ".ssh", name))
		if err != nil {
			continue
		}
		if s, err := ssh.ParsePrivateKey(text); err == nil {
			out = append(out, s)
		}
	}
	return out
}
