package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"strconv"

	known "github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"southbound/shared/fault"
	"southbound/shared/provider"
)

// hostKeys verifies a machine's key against the known ones.
type hostKeys struct {
	check      ssh.HostKeyCallback
	algorithms []string // of the known keys, so that the machine presents one of them
	problem    error    // why the key was refused
}

// hostKeyCheck returns the check of a machine's key. There is always a check.
func (h *hop) hostKeyCheck() (*hostKeys, error) {
	k := &hostKeys{}
	refuse := func(hint, format string, args ...any) error {
		k.problem = provider.Errorf(provider.Terminal, "%w",
			fault.New(fault.Denied, "log in to "+h.host, format, args...).WithHint("%s", hint))
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
			return refuse(
				"compare the key with `ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub` on the "+
					"machine, and correct host_key only if they are equal: an attacker may "+
					"intercept the connection",
				"the machine shows another key than host_key: %s %s", key.Type(),
				ssh.FingerprintSHA256(key))
		}
		return k, nil
	}
	path, err := expand(orElse(h.knownHosts, "~/.ssh/known_hosts"))
	if err != nil {
		return nil, err
	}
	db, err := known.NewDB(path)
	if err != nil {
		return nil, provider.Errorf(provider.Terminal, "%w",
			(&fault.Error{Kind: fault.Denied, Op: "read known_hosts", Err: err}).
				WithHint("add host_key, or the line of `ssh-keyscan -p %d %s` to %s once it has "+
					"been "+
					"compared with the key on the machine", h.port, h.host, path))
	}
	// As ssh does: a machine that is unknown with its port is looked up without it.
	address, plain := net.JoinHostPort(h.host, strconv.FormatInt(h.port, 10)),
		net.JoinHostPort(h.host, "22")
	if len(db.HostKeys(address)) == 0 {
		address = plain
	}
	if len(db.HostKeys(address)) == 0 {
		k.algorithms = plainAlgorithms() // algorithms of keys that can be added to the file
	}
	for _, key := range db.HostKeys(address) {
		if key.Cert {
			// the type of the authority's key is not that of the certificates it signs
			k.algorithms = append(certificateAlgorithms(), k.algorithms...)
		} else {
			k.algorithms = append(k.algorithms, algorithmsOf(key.Type())...)
		}
	}
	check := db.HostKeyCallback()
	k.check = func(_ string, remote net.Addr, key ssh.PublicKey) error {
		err := check(address, remote, key)
		var unknown *knownhosts.KeyError
		var revoked *knownhosts.RevokedError
		shown := key.Type() + " " + ssh.FingerprintSHA256(key)
		switch {
		case err == nil:
			return nil
		case errors.As(err, &revoked):
			return refuse("the key was revoked and must no longer be used",
				"the machine shows a key that %s revokes: %s", path, shown)
		case isCertificate(key):
			return refuse(fmt.Sprintf("see the lines of %s that begin with @cert-authority", path),
				"the machine shows a certificate that does not hold: %v", err)
		case errors.As(err, &unknown) && len(unknown.Want) > 0:
			return refuse(
				fmt.Sprintf(
					"ask the administrator of the machine for its key, and correct line %d of %s "+
						"only if it is new: an attacker may intercept the connection", unknown.Want[0].Line,
					unknown.Want[0].Filename),
				"the machine shows another key than the known one: %s", shown)
		}
		return refuse(
			fmt.Sprintf("compare it with the key on the machine, then add it to %s, or as host_key",
				path), "the key of the machine is not known: %s", shown)
	}
	return k, nil
}

// algorithmsOf returns the algorithms for a type of key.
func algorithmsOf(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{keyType}
}

// plainAlgorithms are the algorithms with which a machine presents a key.
func plainAlgorithms() []string {
	return []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384,
		ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
}

// certificateAlgorithms are the algorithms with which a machine presents a certificate.
func certificateAlgorithms() []string {
	return []string{ssh.CertAlgoED25519v01, ssh.CertAlgoECDSA256v01, ssh.CertAlgoECDSA384v01,
		ssh.CertAlgoECDSA521v01, ssh.CertAlgoRSASHA512v01, ssh.CertAlgoRSASHA256v01}
}

func isCertificate(key ssh.PublicKey) bool {
	_, is := key.(*ssh.Certificate)
	return is
}
