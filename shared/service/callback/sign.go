package callback

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/shared/fault"
	"southbound/shared/resource"
)

// Secrets resolves the keys of callbacks.
type Secrets interface {
	// Resolve returns the value of a secret, and its version.
	Resolve(ctx context.Context, s resource.Secret) (value, version string, err error)
}

// The headers of a signed call.
const (
	TimeHeader      = "Southbound-Timestamp" // seconds since 1970, as text
	SignatureHeader = "Southbound-Signature" // see Signature
)

// minKey is the minimum length of a key in bytes. A shorter key could be guessed from one call.
const minKey = 16

// keySources are the prefixes of secrets that a callback may name as its key. If callers could name
// any secret, they could probe for secrets, and guess weak ones from signatures.
func keySources() []string {
	return []string{
		"env:CALLBACK_", "ssm:/southbound/callbacks/", "secretsmanager:southbound/callbacks/",
	}
}

// checkKey rejects a key that a callback may not name.
func checkKey(source string) error {
	covers := func(item string) bool { return resource.Covers(item, source) }
	if source == "" || slices.ContainsFunc(keySources(), covers) {
		return nil
	}
	return bad("the secret does not begin with one of %s", strings.Join(keySources(), ", ")).
		WithHint("name the secret that holds the key, such as env:CALLBACK_SHOP")
}

// Signature returns the signature of a call: "v1=" and a hexadecimal HMAC-SHA256. The signed text
// is the value of TimeHeader, a dot, and the body.
func Signature(key []byte, at string, body []byte) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(at + "."))
	m.Write(body)
	return "v1=" + hex.EncodeToString(m.Sum(nil))
}

// sign returns the headers with the signature of a body; none for a callback without a key.
func sign(
	ctx context.Context, secrets Secrets, source string, now time.Time, body []byte,
) (http.Header, error) {
	if source == "" {
		return nil, nil
	}
	if secrets == nil {
		return nil, fault.New(fault.Unsupported, "sign call", "keys of callbacks are not resolved here")
	}
	key, _, err := secrets.Resolve(ctx, resource.Secret{Source: source})
	if err != nil {
		return nil, err
	}
	if len(key) < minKey {
		return nil, fault.New(fault.Invalid, "sign call", "the key %s has less than %d bytes", source,
			minKey).WithHint("use a random one: openssl rand -hex 32")
	}
	at := strconv.FormatInt(now.Unix(), 10)
	return http.Header{
		TimeHeader: {at}, SignatureHeader: {Signature([]byte(key), at, body)},
	}, nil
}
