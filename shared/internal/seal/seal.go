// Package seal encrypts bytes at rest, such as the states that handlers keep and issued credentials:
// compressed by zstd, then sealed by AES-256-GCM with their subject as associated data. See
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

// Box seals bytes for a subject, such as a resource or a lease: they are compressed, and open for the
// same subject only. Its keys are read on first use.
type Box struct {
	// Keys returns the keys: the first one seals, all of them open. It is called for each use and
	// keeps what it reads.
	Keys func(ctx context.Context) ([]Key, error)
}

// Seal returns bytes in a form that only Open reads, for the same subject.
func (b Box) Seal(ctx context.Context, subject string, plain []byte) ([]byte, error) {
	keys, err := b.Keys(ctx)
	if err != nil {
		return nil, err
	}
	return sealBy(keys[0], subject, plain)
}

// sealBy seals bytes by a key.
func sealBy(key Key, subject string, plain []byte) ([]byte, error) {
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "seal", err)
	}
	defer enc.Close()
	head := append([]byte{form}, key.name()...)
	gcm, err := aead(key)
	if err != nil {
		return nil, err
	}
	return gcm.Seal(head, nil, enc.EncodeAll(plain, nil), associated(head, subject)), nil //nolint:gosec // it makes its nonce itself
}

// Open returns the bytes in a result of Seal, at most state.MaxPlain. It returns Damaged if the result
// was changed or belongs to another subject, and NotFound if its key is not known.
func (b Box) Open(ctx context.Context, subject string, sealed []byte) ([]byte, error) {
	keys, err := b.Keys(ctx)
	if err != nil {
		return nil, err
	}
	return openBy(keys, subject, sealed)
}

// openBy opens sealed bytes by one of keys.
func openBy(keys []Key, subject string, sealed []byte) ([]byte, error) {
	if len(sealed) < headSize || sealed[0] != form {
		return nil, errDamaged()
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
		packed, err := gcm.Open(nil, nil, sealed[headSize:], associated(head, subject))
		if err != nil {
			return nil, errDamaged()
		}
		dec, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxMemory(state.MaxPlain))
		if err != nil {
			return nil, fault.Wrap(fault.Internal, "open sealed bytes", err)
		}
		defer dec.Close()
		plain, err := dec.DecodeAll(packed, nil)
		if err != nil {
			return nil, errDamaged()
		}
		return plain, nil
	}
	return nil, fault.New(fault.NotFound, "open sealed bytes", "they were sealed by another key, %x",
		head[1:])
}

func errDamaged() error {
	return fault.New(fault.Damaged, "open sealed bytes",
		"they are not as they were sealed, or belong to another subject")
}

// associated returns the associated data of sealed bytes.
func associated(head []byte, subject string) []byte {
	return []byte(string(head) + "\x00" + subject)
}

// Ring implements state.Sealer: its subjects are resources of environments.
type Ring struct {
	// Keys are those of Box.
	Keys func(ctx context.Context) ([]Key, error)
}

// subjectOf returns the subject of the state of a resource.
func subjectOf(env string, id resource.ID) string { return env + "\x00" + string(id) }

// Seal implements state.Sealer.
func (r Ring) Seal(
	ctx context.Context, env string, id resource.ID, plain []byte,
) ([]byte, error) {
	return Box(r).Seal(ctx, subjectOf(env, id), plain)
}

// Open implements state.Sealer.
func (r Ring) Open(
	ctx context.Context, env string, id resource.ID, sealed []byte,
) ([]byte, error) {
	keys, err := r.Keys(ctx)
	if err != nil {
		return nil, err
	}
	plain, err := openBy(keys, subjectOf(env, id), sealed)
	switch fault.KindOf(err) {
	case fault.Damaged:
		return nil, fault.New(fault.Damaged, "read kept state",
			"the state of %s is not as it was sealed, or belongs to another resource", id).
			WithHint("restore the database from a backup")
	case fault.NotFound:
		name, _ := KeyOf(sealed) // which has a name, since another key was looked for
		return nil, fault.New(fault.NotFound, "read kept state",
			"the state of %s was sealed by another key, %s", id, name).
			WithHint("restore that key from a backup; SOUTHBOUND_STATE_KEY may name several")
	}
	return plain, err
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
