package disk

import (
	"bytes"
	"context"
	"errors"
	"hash"
	"io"
	"sync"
)

var Buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// ReadUpTo reads n bytes into buf, fewer if the file ends earlier.
func ReadUpTo(f File, buf []byte, n int) (int, error) {
	got, err := io.ReadFull(f, buf[:n])
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return got, err
}

// sameBytes reports whether two files have equal contents.
func sameBytes(ctx context.Context, a, b File) (bool, error) {
	buf := Buffers.Get().(*[]byte)
	defer Buffers.Put(buf)
	half := len(*buf) / 2
	one, two := (*buf)[:half], (*buf)[half:2*half]
	for {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		n, err := ReadUpTo(a, one, half)
		if err != nil {
			return false, err
		}
		m, err := ReadUpTo(b, two, half)
		if err != nil || n != m || !bytes.Equal(one[:n], two[:m]) {
			return false, err
		}
		if n < half {
			return true, nil
		}
	}
}

// Pump copies src to its end into dst, which may be nil, and h, which may be nil, and stops when
// ctx is over.
func Pump(
	ctx context.Context, dst io.Writer, h hash.Hash, src io.Reader, buf []byte,
) (total int64, err error) {
	for {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := src.Read(buf)
		total += int64(n)
		if h != nil {
			_, _ = h.Write(buf[:n]) // never fails
		}
		if dst != nil && n > 0 {
			if _, err := dst.Write(buf[:n]); err != nil {
				return total, err
			}
		}
		if errors.Is(err, io.EOF) {
			return total, nil
		}
		if err != nil {
			return total, err
		}
	}
}
