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

// Limits of messages from a client.
const (
	maxLine    = 4 << 10 // of a header, in bytes
	maxHeaders = 32
	maxBody    = 128 << 20 // a text of maximum size with all characters escaped
)

// frames are messages on a stream: headers, an empty line, a body. It implements channel.Channel.
// The library's own channel accepts a body of any size, and rejects content types that clients
// send.
type frames struct {
	in     *bufio.Reader
	out    io.Writer
	next   chan received
	closed chan struct{}
	once   sync.Once
}

// received is a message, or the error of reading it.
type received struct {
	body []byte
	err  error
}

// newFrames starts to read. Reading ends with the stream, or after Close with the next message,
// since the caller owns the stream and this package cannot close it.
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

// Errors of canceled requests. notBegun is the library's own answer to a request that is canceled
// before it starts; cancelled is the error of the protocol.
const (
	notBegun  = `"error":{"code":-32097,"message":"context canceled"}`
	cancelled = `"error":{"code":-32800,"message":"cancelled"}`
)

// Send writes a message.
func (f *frames) Send(body []byte) error {
	// inside a JSON string, the quotes would be escaped
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

// Close ends Recv as the end of the stream does. The server is stopped this way, since the
// library's Stop may panic if a message arrives at the same time.
func (f *frames) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}

// read reads a message. It discards a message that is too large, and returns an invalid one
// instead, so that the client gets a parse error.
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
	var body bytes.Buffer // grows with the received bytes, not with the announced size
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
