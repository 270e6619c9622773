// Package chunk defines the format in which resources are transferred: chunks, of which an edit of
// the model changes few. The receiver checks every chunk, and never trusts one.
package chunk

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"slices"
	"sync/atomic"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/deploy/version"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/internal/declared"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Resources are transferred in chunks: zstd of one encoded resource a line, sorted by id. A chunk
// has the resources whose hashed ids begin with the same bits, as many bits as make the chunk small
// enough. A resource that is added, changed or removed changes one chunk.
//
// Each chunk costs the server a request to read, so chunks are large; they are read as streams.
const (
	maxResources = 32768
	maxBytes     = 16 << 20 // before compression
	// maxPacked and MaxUnpacked bound a received file. A chunk that holds a single huge resource is
	// larger than maxBytes.
	maxPacked   = 64 << 20
	MaxUnpacked = 256 << 20
	maxBits     = 60
)

// Packed is the transferred form of a model.
type Packed struct {
	Chunks []state.Blob
	Agents *state.Blob // nil: the model describes none
	Places *state.Blob // nil: the places of the resources are not known
	Order  []int32     // of the resources in the chunks: their place in the model
}

// packer splits resources into chunks.
type packer struct {
	resources []resource.Resource
	hashes    []uint64
	enc       *zstd.Encoder
	out       Packed
}

// Pack makes the chunks of a model. Besides the model, memory holds all compressed chunks, and one
// uncompressed.
func Pack(m *model.Model) (Packed, error) {
	enc, err := newEncoder()
	if err != nil {
		return Packed{}, fault.Wrap(fault.Internal, "pack resources", err)
	}
	p := &packer{resources: m.Resources, enc: enc, hashes: make([]uint64, len(m.Resources))}
	all := make([]int32, len(m.Resources))
	for i := range all {
		h := fnv.New64a()
		_, _ = h.Write([]byte(m.Resources[i].ID))
		p.hashes[i], all[i] = h.Sum64(), int32(i) // far fewer than 2^31
	}
	if err := p.split(all, 0); err != nil {
		return Packed{}, err
	}
	if len(m.Agents) > 0 {
		var text []byte
		for i := range m.Agents {
			line, err := m.Agents[i].MarshalJSON()
			if err != nil {
				return Packed{}, err // already a fault
			}
			text = append(append(text, line...), '\n')
		}
		b := Blob(enc.EncodeAll(text, nil))
		p.out.Agents = &b
	}
	if places := version.PlacesOf(m); len(places) > 0 {
		b := Blob(enc.EncodeAll(version.PlacesText(places), nil))
		p.out.Places = &b
	}
	return p.out, nil
}

func newEncoder() (*zstd.Encoder, error) {
	return zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest),
		zstd.WithEncoderConcurrency(1))
}

// split makes one chunk of resources whose hashes begin with the same bits, or splits them in two
// parts.
func (p *packer) split(of []int32, bits int) error {
	if len(of) == 0 {
		return nil
	}
	if len(of) <= maxResources || bits == maxBits {
		slices.SortFunc(of, func(a, b int32) int {
			return cmp.Compare(p.resources[a].ID, p.resources[b].ID)
		})
		text, err := p.encode(of, bits)
		if err != nil || text != nil {
			if err == nil {
				p.out.Chunks = append(p.out.Chunks, Blob(p.enc.EncodeAll(text, nil)))
				p.out.Order = append(p.out.Order, of...)
			}
			return err
		}
	}
	zeros, ones := of[:0], make([]int32, 0, len(of)/2)
	for _, i := range of {
		if p.hashes[i]>>(63-bits)&1 == 0 {
			zeros = append(zeros, i)
		} else {
			ones = append(ones, i)
		}
	}
	if err := p.split(zeros, bits+1); err != nil {
		return err
	}
	return p.split(ones, bits+1)
}

// encode returns the lines of a chunk; nil if they exceed the limit of a chunk and can be split.
func (p *packer) encode(of []int32, bits int) ([]byte, error) {
	text := make([]byte, 0, 200*len(of))
	for _, i := range of {
		line, err := p.resources[i].Encode()
		if err != nil {
			return nil, err // already a fault
		}
		text = append(append(text, line...), '\n')
		if len(text) > maxBytes && len(of) > 1 && bits < maxBits {
			return nil, nil
		}
	}
	return text, nil
}

// Blob is a file with these bytes.
func Blob(data []byte) state.Blob {
	sum := sha256.Sum256(data)
	return state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(data)), Data: data}
}

// Reader reads chunks that a client has sent. It validates everything in them.
type Reader struct {
	files state.Files
	types *model.Checker
	wrong func(resource.Agent) []diag.Problem // returns the problems of an agent
	room  atomic.Int64                        // bytes that may still be unpacked
}

// NewReader returns a reader of stored files; wrong returns the problems of an agent.
func NewReader(
	files state.Files, types *schema.Registry, wrong func(resource.Agent) []diag.Problem,
) *Reader {
	u := &Reader{files: files, wrong: wrong,
		types: model.NewChecker(types, nil, declared.NewCache(types), files)}
	u.room.Store(maxModel)
	return u
}

// maxModel bounds the encoded resources of one export.
const maxModel = 2 << 30

// unpackers is how many chunks are read at the same time.
const unpackers = 4

// Resources returns the resources of all chunks, in order.
func (u *Reader) Resources(ctx context.Context, hashes []string) ([]resource.Resource, error) {
	parts := make([][]resource.Resource, len(hashes))
	reads, within := errgroup.WithContext(ctx)
	types := u.types.In(ctx) // the types that resources bring
	reads.SetLimit(unpackers)
	for i := range hashes {
		reads.Go(func() (err error) {
			if within.Err() == nil {
				parts[i], err = u.chunk(within, types, hashes[i])
			}
			return err
		})
	}
	err := reads.Wait()
	if err = cmp.Or(err, types.Err()); err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "", err)
	}
	return slices.Concat(parts...), nil
}

// chunk returns the resources of one chunk.
func (u *Reader) chunk(
	ctx context.Context, types *model.Checker, hash string,
) ([]resource.Resource, error) {
	text, err := u.open(ctx, hash)
	if err != nil {
		return nil, err
	}
	defer text.Close()
	return readChunk(types, hash, text)
}

// readChunk reads the lines of a chunk. Any text that this program would not have written is
// Invalid.
func readChunk(types *model.Checker, hash string, text io.Reader) ([]resource.Resource, error) {
	var out []resource.Resource
	for in := bufio.NewReaderSize(text, 64<<10); ; {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return out, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, badChunk(hash, len(out)+1, err)
		}
		r, err := resource.Decode(bytes.TrimSuffix(line, []byte("\n")))
		if err == nil {
			err = checkResource(types, r)
		}
		if err != nil {
			return nil, badChunk(hash, len(out)+1, err)
		}
		out = append(out, *r)
	}
}

func badChunk(hash string, line int, err error) error {
	return &fault.Error{Kind: fault.Invalid, Op: fmt.Sprintf("read chunk %.12s, line %d", hash,
		line), Err: err, Hint: fault.HintOf(err)}
}

// Agents returns the agents of a file of them.
func (u *Reader) Agents(ctx context.Context, hash string) ([]resource.Agent, error) {
	text, err := u.text(ctx, hash)
	if err != nil {
		return nil, err
	}
	return readAgents(hash, text, u.wrong)
}

func readAgents(
	hash string, text []byte, wrong func(resource.Agent) []diag.Problem,
) ([]resource.Agent, error) {
	var out []resource.Agent
	names := map[string]bool{}
	for line := range bytes.Lines(text) {
		var a resource.Agent
		err := json.Unmarshal(line, &a)
		if err == nil {
			err = checkAgent(a, names, wrong)
		}
		if err != nil {
			return nil, badChunk(hash, len(out)+1, err)
		}
		names[a.Name] = true
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b resource.Agent) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// Places returns the places of a file of them.
func (u *Reader) Places(ctx context.Context, hash string) (version.Places, error) {
	text, err := u.text(ctx, hash)
	if err != nil {
		return nil, err
	}
	return version.ParsePlaces(text)
}

// text reads a stored file and decompresses it.
func (u *Reader) text(ctx context.Context, hash string) ([]byte, error) {
	src, err := u.open(ctx, hash)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	text, err := io.ReadAll(src)
	return text, fault.Wrap(fault.Invalid, fmt.Sprintf("read chunk %.12s", hash), err)
}

// open reads a stored file to its end, verifies its hash, and returns the file for decompression.
// The caller closes it.
func (u *Reader) open(ctx context.Context, hash string) (*unpacked, error) {
	src, err := u.files.Open(ctx, hash)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read chunk", err)
	}
	defer func() { _ = src.Close() }()
	raw, err := io.ReadAll(io.LimitReader(src, maxPacked+1))
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "read chunk", err)
	}
	if len(raw) > maxPacked {
		return nil, fault.New(fault.Invalid, "read chunk", "%.12s is larger than %d bytes", hash,
			maxPacked)
	}
	out, err := unpack(raw, &u.room)
	return out, fault.Wrap(fault.Invalid, fmt.Sprintf("read chunk %.12s", hash), err)
}

// unpacked is a file that is decompressed as it is read, to MaxUnpacked bytes.
type unpacked struct {
	*zstd.Decoder
	left int64
	room *atomic.Int64 // shared by all files
}

// unpack returns a streaming decompressor of raw. Without streaming, data in many frames would be
// copied once for each frame.
func unpack(raw []byte, room *atomic.Int64) (*unpacked, error) {
	dec, err := zstd.NewReader(bytes.NewReader(raw), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxMemory(MaxUnpacked))
	if err != nil {
		return nil, err // callers add the operation
	}
	return &unpacked{dec, MaxUnpacked, room}, nil
}

// Read implements io.Reader.
func (u *unpacked) Read(p []byte) (int, error) {
	n, err := u.Decoder.Read(p)
	if u.left -= int64(n); u.left < 0 {
		return 0, zstd.ErrDecoderSizeExceeded
	}
	if u.room.Add(-int64(n)) < 0 {
		return 0, fault.New(fault.Invalid, "read chunks",
			"the resources are larger than %d bytes", maxModel)
	}
	return n, err // io.EOF must stay itself
}
