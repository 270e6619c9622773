package sql

import (
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/xdg-go/stringprep"
)

// verifier is the stored form of a password in a server (RFC 5802, with SHA-256).
type verifier struct {
	iterations              int
	salt, stored, serverKey []byte
}

const (
	scramPrefix   = "SCRAM-SHA-256$"
	iterations    = 4096 // the server's default
	maxIterations = 10_000_000
)

// parseVerifier reads SCRAM-SHA-256$<iterations>:<salt>$<StoredKey>:<ServerKey>.
func parseVerifier(s string) (v verifier, ok bool) {
	s, ok = strings.CutPrefix(s, scramPrefix)
	head, tail, both := strings.Cut(s, "$")
	count, salt, a := strings.Cut(head, ":")
	stored, server, b := strings.Cut(tail, ":")
	if !ok || !both || !a || !b {
		return v, false
	}
	var err [4]error
	v.iterations, err[0] = strconv.Atoi(count)
	v.salt, err[1] = base64.StdEncoding.DecodeString(salt)
	v.stored, err[2] = base64.StdEncoding.DecodeString(stored)
	v.serverKey, err[3] = base64.StdEncoding.DecodeString(server)
	return v, err == [4]error{} && v.iterations > 0 && v.iterations <= maxIterations &&
		len(v.salt) > 0 && len(v.stored) == sha256.Size && len(v.serverKey) == sha256.Size
}

// String returns the verifier in the server's form.
func (v verifier) String() string {
	b := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("%s%d:%s$%s:%s", scramPrefix, v.iterations, b(v.salt), b(v.stored),
		b(v.serverKey))
}

// derive returns the verifier of a password.
func derive(password string, salt []byte, iterations int) (verifier, error) {
	// A password that cannot be prepared is used unchanged, as servers and clients do.
	if prepared, err := stringprep.SASLprep.Prepare(password); err == nil {
		password = prepared
	}
	salted, err := pbkdf2.Key(sha256.New, password, salt, iterations, sha256.Size)
	if err != nil {
		return verifier{}, err
	}
	mac := func(text string) []byte {
		m := hmac.New(sha256.New, salted)
		m.Write([]byte(text))
		return m.Sum(nil)
	}
	stored := sha256.Sum256(mac("Client Key"))
	return verifier{iterations, salt, stored[:], mac("Server Key")}, nil
}

// newVerifier returns the verifier of a password, which may itself be a verifier.
func newVerifier(password string) (string, error) {
	if _, ok := parseVerifier(password); ok {
		return password, nil
	}
	salt := make([]byte, 16)
	_, _ = rand.Read(salt) // never fails
	v, err := derive(password, salt, iterations)
	return v.String(), err
}

// verifies reports whether a stored verifier belongs to a password.
func verifies(kept, password string) bool {
	if _, ok := parseVerifier(password); ok {
		return subtle.ConstantTimeCompare([]byte(kept), []byte(password)) == 1
	}
	v, ok := parseVerifier(kept)
	if !ok {
		return false
	}
	mine, err := derive(password, v.salt, v.iterations)
	return err == nil && subtle.ConstantTimeCompare(mine.stored, v.stored) == 1
}
