package remote

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"southbound/shared/fault"
)

// kind is the kind of a frame.
type kind byte

// The frames. The comment of each names its sender.
const (
	kindHello    kind = iota + 1 // both, first: hello
	kindPing                     // both: nothing in it; it shows that the sender lives
	kindCall                     // engine: call, followed by its items
	kindItem                     // engine: item
	kindCancel                   // engine: cancel
	kindData                     // engine: data, a requested piece of a file
	kindAnswer                   // machine: answer, to one item
	kindDone                     // machine: done, behind all answers of a call
	kindLog                      // machine: logged
	kindChanged                  // machine: changed
	kindFact                     // machine: named
	kindSecret                   // machine: named
	kindOpen                     // machine: open, a file that a handler reads
	kindMore                     // machine: more, of that file
	kindProvider                 // machine: named, the provider that serves a run and why
	kindOverride                 // machine: named, the change of a run
	kindFound                    // machine: found, one thing that exists
	kindKeep                     // machine: keep; the engine sends data without bytes when it is stored
)

const (
	maxFrame  = 16 << 20  // bytes of a frame
	pieceSize = 256 << 10 // bytes of a file in one frame
	window    = 4         // pieces of a file on their way to one reader
	headSize  = 5
)

// frameReader reads frames. It enforces the size limits before it uses data of a peer.
type frameReader struct {
	r    *bufio.Reader
	body bytes.Buffer
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, 64<<10)}
}

// next returns the next frame; its body is valid until the next call. io.EOF is the end between two
// frames. fault.Damaged is a frame that no peer of ours sends.
func (f *frameReader) next() (kind, []byte, error) {
	var head [headSize]byte
	if _, err := io.ReadFull(f.r, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[:4])
	if size > maxFrame {
		return 0, nil, fault.New(fault.Damaged, "read frame",
			"a frame of %d bytes, and the maximum is %d", size, maxFrame).
			WithHint("%s", hintHostile)
	}
	k := kind(head[4])
	if k < kindHello || k > kindKeep {
		return 0, nil, fault.New(fault.Damaged, "read frame", "a frame of the unknown kind %d", k)
	}
	if f.body.Cap() > 1<<20 {
		f.body = bytes.Buffer{} // a large buffer is not kept
	}
	f.body.Reset()
	// The buffer grows with the received bytes, not with the announced size.
	if n, err := io.CopyN(&f.body, f.r, int64(size)); err != nil {
		if err == io.EOF && n < int64(size) { // of CopyN itself
			err = io.ErrUnexpectedEOF
		}
		return 0, nil, err
	}
	return k, f.body.Bytes(), nil
}

// frameWriter writes frames, for any number of goroutines.
type frameWriter struct {
	mu  sync.Mutex
	w   *bufio.Writer
	err error
}

func newFrameWriter(w io.Writer) *frameWriter {
	return &frameWriter{w: bufio.NewWriterSize(w, 64<<10)}
}

// frame is one frame to send.
type frame struct {
	kind kind
	body any // nil: none
}

// encoded is a frame ready to be sent.
type encoded struct {
	kind kind
	body []byte
}

// encode encodes frames. fault.Full is one that is too large.
func encode(frames ...frame) ([]encoded, error) {
	out := make([]encoded, len(frames))
	for i, f := range frames {
		out[i].kind = f.kind
		if f.body == nil {
			continue
		}
		var err error
		if out[i].body, err = marshal(f.body); err != nil {
			return nil, err
		}
		if len(out[i].body) > maxFrame {
			return nil, fault.New(fault.Full, "send to the machine",
				"it has %d bytes, and at most %d go over a connection", len(out[i].body), maxFrame).
				WithHint("upload it as a file")
		}
	}
	return out, nil
}

// send writes frames in one go and flushes them.
func (f *frameWriter) send(frames ...frame) error {
	enc, err := encode(frames...)
	if err != nil {
		return err
	}
	return f.write(enc, true)
}

// write writes encoded frames, and flushes them if flush is set.
func (f *frameWriter) write(frames []encoded, flush bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range frames {
		var head [headSize]byte
		binary.BigEndian.PutUint32(head[:4], uint32(len(e.body))) // bounded by encode
		head[4] = byte(e.kind)
		if f.err == nil {
			_, f.err = f.w.Write(head[:])
		}
		if f.err == nil {
			_, f.err = f.w.Write(e.body)
		}
	}
	if f.err == nil && flush {
		f.err = f.w.Flush()
	}
	return f.err
}
