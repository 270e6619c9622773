package kept

import (
	"archive/zip"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	stdjson "encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json"

	"southbound/shared/api/exports"
	"southbound/shared/api/files"
	"southbound/shared/api/results"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/internal/declared"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// MayBePlan reports whether a file that begins with head may be a kept plan, or another zip file.
func MayBePlan(head []byte) bool { return bytes.HasPrefix(head, []byte("PK\x03\x04")) }

// Read reads a plan of size bytes and checks all its entries. It returns Damaged or Foreign for a file
// that is not a complete plan. The returned model reads its files from the argument from, which must
// stay open as long as they are needed. The function wrong returns the problems of an agent, as
// Config.Agent does.
func Read(
	ctx context.Context, from io.ReaderAt, size int64, types *schema.Registry,
	wrong func(resource.Agent) []diag.Problem,
) (*Plan, error) {
	k := &keptReader{from: from}
	if err := k.open(size); err != nil {
		return nil, err
	}
	if err := k.header(); err != nil {
		return nil, err
	}
	if err := k.entries(ctx); err != nil {
		return nil, err
	}
	h := &k.head
	x, err := exports.Unbundle(ctx, k, types, wrong, h.Bundle)
	if err != nil {
		return nil, &fault.Error{Kind: fault.Damaged, Op: "read plan", Err: err,
			Hint: fault.HintOf(err)}
	}
	if x.Expect == "" || x.Limits != nil {
		return nil, damagedPlan("it does not name the state that it was made from")
	}
	x.Model.Where, x.Model.WhereAgent = nil, nil
	x.Model.Files = make(map[string]state.Blob, len(h.Files))
	for _, hash := range h.Files {
		z := k.blobs[hash]
		if z == nil {
			return nil, damagedPlan("the file %.12q is not in it", hash)
		}
		// bounded before
		x.Model.Files[hash] = state.Blob{Hash: hash, Size: int64(z.UncompressedSize64),
			Open: z.Open}
	}
	return &Plan{Made: h.Made, Program: h.Program, Environment: h.Environment, Home: h.Home,
		HomeID: h.HomeID, Project: h.Project, Last: h.Last, Released: h.Released,
		Compare: deploy.CompareOptions{Read: h.Read, Whole: h.Whole}, Export: x,
		Planned: k.planned}, nil
}

func damagedPlan(format string, args ...any) *fault.Error {
	return fault.New(fault.Damaged, "read plan", format, args...).
		WithHint("make the plan again; the file was truncated or changed")
}

func foreignPlan() error {
	return fault.New(fault.Foreign, "read plan", "this zip file is not a plan").
		WithHint("create a plan with `southbound plan PATH --out FILE`")
}

// keptReader reads a plan. It also serves the files for the reader of chunks.
type keptReader struct {
	state.Files // only Open and Get are implemented
	from        io.ReaderAt
	zip         *zip.Reader
	head        keptPlan
	blobs       map[string]*zip.File
	planned     []deploy.PlannedChange
}

// Open implements state.Files.
func (k *keptReader) Open(_ context.Context, hash string) (io.ReadCloser, error) {
	z := k.blobs[hash]
	if z == nil {
		return nil, damagedPlan("the chunk %.12q is not in it", hash)
	}
	r, err := z.Open()
	return r, fault.Wrap(fault.Damaged, "read plan", err)
}

// Get implements state.Files, for declarations of types.
func (k *keptReader) Get(ctx context.Context, hashes []string) ([][]byte, error) {
	out := make([][]byte, len(hashes))
	for i, hash := range hashes {
		in, err := k.Open(ctx, hash)
		if err != nil {
			return nil, err
		}
		out[i], err = io.ReadAll(io.LimitReader(in, declared.MaxBytes+1))
		if err = errors.Join(err, in.Close()); err != nil {
			return nil, damagedPlan("the file %.12q cannot be read: %v", hash, err)
		}
	}
	return out, nil
}

// endSize is the size of the end of a zip file without a comment.
const endSize = 22

// open reads the directory of the file, after it has checked the directory's size.
func (k *keptReader) open(size int64) error {
	end := make([]byte, min(size, endSize))
	if _, err := k.from.ReadAt(end, size-int64(len(end))); err != nil && !errors.Is(err, io.EOF) {
		return fault.Wrap(fault.Unavailable, "read plan", err)
	}
	if len(end) < endSize || !bytes.HasPrefix(end, []byte("PK\x05\x06")) {
		return damagedPlan("its end is missing")
	}
	count := int64(binary.LittleEndian.Uint16(end[10:]))
	directory, at := int64(binary.LittleEndian.Uint32(end[12:])),
		int64(binary.LittleEndian.Uint32(end[16:]))
	if count > maxKeptEntries || directory > maxKeptDirectory {
		return fault.New(fault.Unsupported, "read plan", "it has more than %d files",
			maxKeptEntries-2).WithHint("make a plan of a part of the documents")
	}
	if at+directory+endSize != size {
		return damagedPlan("its directory is not where it should be")
	}
	var err error
	if k.zip, err = zip.NewReader(k.from, size); err != nil {
		return damagedPlan("its directory cannot be read: %v", err)
	}
	return nil
}

// header reads the first entry.
func (k *keptReader) header() error {
	if len(k.zip.File) == 0 || k.zip.File[0].Name != keptHeader {
		return foreignPlan()
	}
	text, err := k.read(k.zip.File[0], maxKeptHeader)
	if err != nil {
		return err
	}
	var format struct {
		Format int `json:"southbound_plan"`
	}
	switch err := stdjson.Unmarshal(text, &format); {
	case err != nil || format.Format < 1:
		return foreignPlan()
	case format.Format > keptFormat:
		return fault.New(fault.Foreign, "read plan",
			"it has format %d, and this program knows formats up to %d", format.Format, keptFormat).
			WithHint("apply it with the program that made it")
	}
	if err := json.Unmarshal(text, &k.head, json.RejectUnknownMembers(true)); err != nil {
		return damagedPlan("%s cannot be read: %v", keptHeader, err)
	}
	if !wire.ValidEnvironment(k.head.Environment) {
		return damagedPlan("it names no environment")
	}
	return nil
}

// read returns the bytes of an entry, at most so many.
func (k *keptReader) read(z *zip.File, limit int64) ([]byte, error) {
	r, err := z.Open()
	if err != nil {
		return nil, damagedPlan("%.100q cannot be read: %v", z.Name, err)
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(io.LimitReader(r, limit+1))
	switch {
	case err != nil:
		return nil, damagedPlan("%.100q cannot be read: %v", z.Name, err)
	case int64(len(b)) > limit:
		return nil, fault.New(fault.Unsupported, "read plan", "%.100q has more than %d bytes",
			z.Name, limit)
	}
	return b, nil
}

// entries checks that the other entries are exactly those that the first one names, and reads the
// shown changes.
func (k *keptReader) entries(ctx context.Context) error {
	want := make(map[string]files.FileSize, len(k.head.Blobs)+1)
	total := k.head.Shown.Size
	for _, b := range k.head.Blobs {
		if !wire.ValidHash(b.Hash) || b.Size < 0 || b.Size > files.MaxSize {
			return damagedPlan("%.12q is not a SHA-256, or its size is out of bounds", b.Hash)
		}
		want[keptBlobs+b.Hash] = b
		total += b.Size
	}
	if total > maxKept || k.head.Shown.Size > maxKeptShown {
		return fault.New(fault.Unsupported, "read plan", "it has more than %d bytes",
			int64(maxKept))
	}
	want[keptShown] = k.head.Shown
	k.blobs = make(map[string]*zip.File, len(k.head.Blobs))
	for _, z := range k.zip.File[1:] {
		b, named := want[z.Name]
		if !named {
			return damagedPlan("%.100q is unexpected, or occurs twice", z.Name)
		}
		delete(want, z.Name)
		if err := k.check(ctx, z, b); err != nil {
			return err
		}
		if hash, is := strings.CutPrefix(z.Name, keptBlobs); is {
			k.blobs[hash] = z
		}
	}
	for name := range want {
		return damagedPlan("%.100q is missing", name)
	}
	return nil
}

// check compares the bytes of an entry with their expected size and hash.
func (k *keptReader) check(ctx context.Context, z *zip.File, want files.FileSize) error {
	if err := context.Cause(ctx); err != nil {
		return fault.Wrap(fault.Unknown, "read plan", err)
	}
	if int64(z.UncompressedSize64) != want.Size { // a wrong size is negative at worst
		return damagedPlan("%.100q has another size than it should", z.Name)
	}
	r, err := z.Open()
	if err != nil {
		return damagedPlan("%.100q cannot be read: %v", z.Name, err)
	}
	defer func() { _ = r.Close() }()
	sum := sha256.New()
	in := io.TeeReader(io.LimitReader(r, want.Size+1), sum)
	if z.Name == keptShown {
		err = k.shown(in)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	if err != nil {
		return damagedPlan("%.100q cannot be read: %v", z.Name, err)
	}
	if hex.EncodeToString(sum.Sum(nil)) != want.Hash {
		return damagedPlan("%.100q has changed", z.Name)
	}
	return nil
}

// shown reads the shown changes.
func (k *keptReader) shown(r io.Reader) error {
	dec := stdjson.NewDecoder(bufio.NewReader(r))
	dec.UseNumber()
	for {
		var w results.PlannedChange
		err := dec.Decode(&w)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err // the caller adds the operation
		}
		k.planned = append(k.planned, deploy.PlannedChange(w))
	}
}
