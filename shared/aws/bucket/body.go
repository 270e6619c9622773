package bucket

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// seekable is the interface that the SDK requires to send a body again.
type seekable interface {
	io.ReadSeeker
	io.Closer
}

// bodyOf returns the bytes of a blob, and their number, after comparing them with the blob's hash.
// It reads a stream once to check it. Each transmission opens the stream again, so that no file is
// held in memory.
func bodyOf(b *state.Blob) (seekable, int64, error) {
	if b.Open == nil {
		if sum := sha256.Sum256(b.Data); hex.EncodeToString(sum[:]) != b.Hash {
			return nil, 0, otherBytes(b.Hash)
		}
		return nopCloser{bytes.NewReader(b.Data)}, int64(len(b.Data)), nil
	}
	r, err := b.Open()
	if err != nil {
		return nil, 0, readError(err)
	}
	sum := sha256.New()
	n, err := io.Copy(sum, r)
	if e := r.Close(); err == nil {
		err = e
	}
	if err != nil {
		return nil, 0, readError(err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != b.Hash {
		return nil, 0, otherBytes(b.Hash)
	}
	return &reopened{open: b.Open, size: n}, n, nil
}

func readError(err error) error {
	if fault.KindOf(err) != fault.Unknown {
		return err
	}
	return fault.Wrap(fault.Unavailable, "read file to store", err)
}

type nopCloser struct{ *bytes.Reader }

func (nopCloser) Close() error { return nil }

// reopened makes a stream that can only be read from its beginning seekable. It supports seeks to
// the beginning and the end, as the SDK does.
type reopened struct {
	open func() (io.ReadCloser, error)
	size int64
	at   int64
	r    io.ReadCloser
	pos  int64 // of r
}

// Read implements io.Reader.
func (s *reopened) Read(p []byte) (int, error) {
	if s.r == nil || s.pos != s.at {
		if err := s.reopen(); err != nil {
			return 0, err
		}
	}
	n, err := s.r.Read(p)
	s.at += int64(n)
	s.pos = s.at
	return n, err // io.EOF must not be wrapped
}

func (s *reopened) reopen() error {
	if err := s.Close(); err != nil {
		return err
	}
	r, err := s.open()
	if err != nil {
		return readError(err)
	}
	s.r, s.pos = r, s.at
	if s.at == 0 {
		return nil
	}
	_, err = io.CopyN(io.Discard, r, s.at)
	if errors.Is(err, io.EOF) {
		return nil // the next read returns io.EOF
	}
	return err
}

// Seek implements io.Seeker.
func (s *reopened) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.at
	case io.SeekEnd:
		offset += s.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	s.at = offset
	return offset, nil
}

// Close implements io.Closer.
func (s *reopened) Close() error {
	if s.r == nil {
		return nil
	}
	err := s.r.Close()
	s.r = nil
	return err
}
