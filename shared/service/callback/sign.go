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

// minKey is how many bytes a key has at least. A shorter one could be guessed from one call.
const minKey = 16

// keySources are the secrets that a callback may name as its key. A caller who could name any secret
// would learn which ones exist, and could guess the value of a weak one from a signature.
func keySources() []string {
	return []string{
		"env:CALLBACK_", "ssm:/southbound/callbacks/", "secretsmanager:southbound/callbacks/",
	}
}

// checkKey refuses a key that a callback may not name.
func checkKey(source string) error {
	covers := func(item string) bool { return resource.Covers(item, source) }
	if source == "" || slices.ContainsFunc(keySources(), covers) {
		return nil
	}
	return bad("the secret does not begin with one of %s", strings.Join(keySources(), ", ")).
		WithHint("name the secret that holds the key, such as env:CALLBACK_SHOP")
}

// Signature returns the signature of a call: "v1=" and the HMAC-SHA256, in hexadecimal digits, of the
// text of TimeHeader, a point, and the body.
func Signature(key []byte, at string, body []byte) string {
	m := hmac.New(sha256.New, key)
	m.Write([]byte(at + "."))
	m.Write(body)
	return "v1=" + hex.EncodeToString(m.Sum(nil))
}

// sign returns the headers that sign a body at a time; none for a callback without a key.
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
