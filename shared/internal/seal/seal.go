// Package seal encrypts the states that handlers keep: compressed by zstd, then sealed by
// AES-256-GCM, with the environment and the id of the resource as associated data. See
// docs/design/kept.md.
package seal

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/klauspost/compress/zstd"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// KeySize is the size of a key in bytes.
const KeySize = 32

// Key is a key of AES-256.
type Key [KeySize]byte

// NewKey returns a random key.
func NewKey() Key {
	var k Key
	_, _ = rand.Read(k[:]) // it never fails
	return k
}

// ParseKey reads a key in the form of Text: 64 hexadecimal digits, with spaces around.
func ParseKey(text string) (Key, error) {
	var k Key
	raw, err := hex.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != KeySize {
		return k, fault.New(fault.Invalid, "read the key of kept states",
			"a key has 64 hexadecimal digits").
			WithHint("make one with `openssl rand -hex 32`")
	}
	return Key(raw), nil
}

// Text returns the key as 64 hexadecimal digits.
func (k Key) Text() string { return hex.EncodeToString(k[:]) }

// The form of a sealed state: a byte for the form, the name of the key, the nonce, the ciphertext.
const (
	form     = 1
	nameSize = 8
	headSize = 1 + nameSize
)

// name identifies a key without a hint at its bytes.
func (k Key) name() []byte {
	sum := sha256.Sum256(append([]byte("southbound kept state "), k[:]...))
	return sum[:nameSize]
}

// Ring implements state.Sealer with keys that are read on first use.
type Ring struct {
	// Keys returns the keys: the first one seals, all of them open. It is called for each state
	// and keeps what it reads.
	Keys func(ctx context.Context) ([]Key, error)
}

// Seal implements state.Sealer.
func (r Ring) Seal(
	ctx context.Context, env string, id resource.ID, plain []byte,
) ([]byte, error) {
	keys, err := r.Keys(ctx)
	if err != nil {
		return nil, err
	}
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "compress kept state", err)
	}
	defer enc.Close()
	head := append([]byte{form}, keys[0].name()...)
	gcm, err := aead(keys[0])
	if err != nil {
		return nil, err
	}
	return gcm.Seal(head, nil, enc.EncodeAll(plain, nil), subject(head, env, id)), nil //nolint:gosec // it makes its nonce itself
}

// Open implements state.Sealer.
func (r Ring) Open(
	ctx context.Context, env string, id resource.ID, sealed []byte,
) ([]byte, error) {
	keys, err := r.Keys(ctx)
	if err != nil {
		return nil, err
	}
	if len(sealed) < headSize || sealed[0] != form {
		return nil, damaged(id)
	}
	head := sealed[:headSize:headSize]
	for _, k := range keys {
		if !bytes.Equal(k.name(), head[1:]) {
			continue
		}
		gcm, err := aead(k)
		if err != nil {
			return nil, err
		}
		packed, err := gcm.Open(nil, nil, sealed[headSize:], subject(head, env, id))
		if err != nil {
			return nil, damaged(id)
		}
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(state.MaxPlain))
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "read kept state", err)
		}
		defer dec.Close()
		plain, err := dec.DecodeAll(packed, nil)
		if err != nil {
			return nil, damaged(id)
		}
		return plain, nil
	}
	return nil, fault.New(fault.NotFound, "read kept state",
		"the state of %s was sealed by another key, %x", id, head[1:]).
		WithHint("restore that key from a backup; SOUTHBOUND_STATE_KEY may name several")
}

// KeyOf returns the name of the key that has sealed a state, in hexadecimal digits. It returns Damaged
// if the bytes are no sealed state.
func KeyOf(sealed []byte) (string, error) {
	if len(sealed) < headSize || sealed[0] != form {
		return "", fault.New(fault.Damaged, "read kept state", "these bytes are no sealed state").
			WithHint("use a file that `southbound state export` has written")
	}
	return hex.EncodeToString(sealed[1:headSize]), nil
}

// aead returns AES-256-GCM with random nonces, which are part of the ciphertext.
func aead(k Key) (cipher.AEAD, error) {
	block, err := aes.NewCipher(k[:])
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "use the key of kept states", err)
	}
	gcm, err := cipher.NewGCMWithRandomNonce(block)
	return gcm, fault.Wrap(fault.Internal, "use the key of kept states", err)
}

// subject returns the associated data of a sealed state.
func subject(head []byte, env string, id resource.ID) []byte {
	return []byte(string(head) + "\x00" + env + "\x00" + string(id))
}

func damaged(id resource.ID) error {
	return fault.New(fault.Damaged, "read kept state",
		"the state of %s is not as it was sealed, or belongs to another resource", id).
		WithHint("restore the database from a backup")
}
