package aws

import (
	"crypto/sha256"
	"errors"
	"io"
	"strings"

	"southbound/shared/fault"
	"southbound/shared/provider"
)

// body is the content of an object: a text, or uploaded bytes that are streamed, and opened again
// if they have to be sent again.
type body struct {
	ctx  *provider.Context
	hash string // of uploaded bytes; "" for a text
	sum  []byte // SHA-256
	size int64
	text *strings.Reader
	at   int64 // the offset of the next Read
	open io.ReadCloser
	pos  int64 // the offset of open
}

func textBody(s string) *body {
	sum := sha256.Sum256([]byte(s))
	return &body{sum: sum[:], size: int64(len(s)), text: strings.NewReader(s)}
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.text != nil {
		n, err := b.text.ReadAt(p, b.at)
		b.at += int64(n)
		if n > 0 {
			err = nil
		}
		return n, err
	}
	if b.open == nil || b.pos != b.at {
		if err := b.reopen(); err != nil {
			return 0, err
		}
	}
	n, err := b.open.Read(p)
	b.at += int64(n)
	b.pos = b.at
	return n, err
}

// reopen opens the uploaded bytes and skips those before at.
func (b *body) reopen() error {
	if err := b.Close(); err != nil {
		return err
	}
	r, err := b.ctx.Files().Open(b.ctx, b.hash)
	if fault.Is(err, fault.NotFound) {
		return provider.Errorf(provider.NeedsChange, "the uploaded bytes %s are gone; export again",
			b.hash)
	}
	if err != nil {
		return provider.Errorf(provider.Retryable, "open uploaded bytes: %w", err)
	}
	b.open, b.pos = r, b.at
	if s, ok := r.(io.Seeker); ok {
		_, err = s.Seek(b.at, io.SeekStart)
		return err
	}
	if _, err = io.CopyN(io.Discard, r, b.at); errors.Is(err, io.EOF) {
		return nil // the next read returns the error
	}
	return err
}

// Seek implements io.Seeker, which the SDK needs to measure a body and to send it again.
func (b *body) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += b.at
	case io.SeekEnd:
		offset += b.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	b.at = offset
	return offset, nil
}

// Close implements io.Closer. A later Read opens the body again.
func (b *body) Close() error {
	if b.open == nil {
		return nil
	}
	err := b.open.Close()
	b.open = nil
	return err
}
