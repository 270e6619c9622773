package lsp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
)

// Bounds of what a client sends.
const (
	maxLine    = 4 << 10 // of a header, in bytes
	maxHeaders = 32
	maxBody    = 128 << 20 // a text of the largest size, with all its characters escaped
)

// frames are messages on a stream: headers, an empty line, a body. It is a channel.Channel. The one
// of the library takes a body of any size, and refuses types of content that clients do send.
type frames struct {
	in     *bufio.Reader
	out    io.Writer
	next   chan received
	closed chan struct{}
	once   sync.Once
}

// received is a message, or why there is none.
type received struct {
	body []byte
	err  error
}

// newFrames begins to read. That ends with the stream, or with Close and the message after it: a
// stream that others hold cannot be closed here.
func newFrames(in io.Reader, out io.Writer) *frames {
	f := &frames{
		in: bufio.NewReaderSize(in, maxLine), out: out,
		next: make(chan received), closed: make(chan struct{}),
	}
	go func() {
		for {
			body, err := f.read()
			select {
			case f.next <- received{body, err}:
			case <-f.closed:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return f
}

// Errors of requests that were cancelled: that of the library, which answers itself what is
// cancelled before it is begun, and that of the protocol.
const (
	notBegun  = `"error":{"code":-32097,"message":"context canceled"}`
	cancelled = `"error":{"code":-32800,"message":"cancelled"}`
)

// Send writes a message.
func (f *frames) Send(body []byte) error {
	// in a text the quotes would be escaped
	body = bytes.ReplaceAll(body, []byte(notBegun), []byte(cancelled))
	head := "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n"
	_, err := f.out.Write(append([]byte(head), body...))
	return err
}

// Recv returns the next message.
func (f *frames) Recv() ([]byte, error) {
	select {
	case r := <-f.next:
		return r.body, r.err
	case <-f.closed:
		return nil, io.EOF
	}
}

// Close ends Recv as the end of the stream does. A server is stopped by this: the library's Stop
// may panic when a message comes in at the same time.
func (f *frames) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}

// read reads a message. One that is too large is passed over, and read as none: the client is told
// that it was not understood.
func (f *frames) read() ([]byte, error) {
	size, err := f.head()
	if err != nil {
		return nil, err
	}
	if size > maxBody {
		if _, err := io.CopyN(io.Discard, f.in, size); err != nil {
			return nil, err
		}
		return []byte("too large"), nil
	}
	var body bytes.Buffer // grows with what comes, not with what is promised
	if n, err := io.CopyN(&body, f.in, size); n < size {
		return nil, err
	}
	return body.Bytes(), nil
}

// head reads headers, and returns the size of the body.
func (f *frames) head() (int64, error) {
	size := int64(-1)
	for range maxHeaders {
		line, err := f.in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return 0, fmt.Errorf("a header is longer than %d bytes", maxLine)
		case err != nil && len(line) > 0:
			return 0, io.ErrUnexpectedEOF
		case err != nil:
			return 0, err
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			if size < 0 {
				return 0, errors.New("a message has no Content-Length")
			}
			return size, nil
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return 0, fmt.Errorf("%q is not a header", text)
		}
		if strings.EqualFold(name, "Content-Length") {
			size, err = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
			if err != nil || size < 0 {
				return 0, fmt.Errorf("%q is not a length", value)
			}
		}
	}
	return 0, fmt.Errorf("a message has more than %d headers", maxHeaders)
}
