package fs

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"southbound/handlers/internal/disk"

	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"

	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// unit is one thing in an archive, in the archive's form.
type unit struct {
	name   string
	kind   string
	mode   fs.FileMode
	time   time.Time
	target string // of a link
	hard   string // the name of the file in the archive to which this is a hard link
	body   io.Reader
}

// spooled is an archive that can be read more than once.
type spooled struct {
	file   *os.File
	size   int64
	hash   string // SHA-256
	sha512 string
	format string
	limit  int64 // bytes that it may unpack to, including overhead
}

func (s *spooled) close() { _ = s.file.Close() }

// spool opens the archive of a resource: a file of the machine in place, an uploaded one as a copy
// without a name.
func spool(ctx *provider.Context, r provider.Resource) (*spooled, error) {
	s := &spooled{format: text(r, "format")}
	maxSize, _ := r.Attributes["max_size"].(int64)
	maxFiles, _ := r.Attributes["max_files"].(int64)
	const around = 4 << 10 // bytes of an archive per file besides its content
	s.limit = maxSize + min(maxFiles, 10_000_000)*around + 1<<20
	sums := map[string]hash.Hash{"sha256": sha256.New(), "sha512": sha512.New()}
	both := io.MultiWriter(sums["sha256"], sums["sha512"])
	var err error
	switch source := r.Attributes["source"].(type) {
	case string:
		if isURL(source) {
			if s.file, err = nameless(); err == nil {
				s.size, err = fetch(ctx, r, io.MultiWriter(both, spoolWriter{s.file}), s.limit)
			}
			break
		}
		s.file, err = openSource(source)
		if err == nil {
			s.size, err = copyAll(ctx, both, s.file)
		}
	case resource.File:
		if s.file, err = nameless(); err == nil {
			s.size, err = copyUploaded(ctx, io.MultiWriter(both, s.file), source)
		}
		if have := hex.EncodeToString(sums["sha256"].Sum(nil)); err == nil && have != source.Hash {
			err = provider.Errorf(provider.Terminal,
				"the uploaded bytes %s are damaged; upload them again", source.Hash)
		}
	default:
		err = provider.Errorf(provider.NeedsChange, "source is neither a path nor a file")
	}
	if err == nil {
		err = checksum(text(r, "checksum"), sums)
	}
	if err == nil && s.format == "" {
		s.format, err = s.guess()
	}
	if err != nil {
		if s.file != nil {
			s.close()
		}
		return nil, disk.Explain("read the archive", err)
	}
	s.hash, s.sha512 = hex.EncodeToString(sums["sha256"].Sum(nil)),
		hex.EncodeToString(sums["sha512"].Sum(nil))
	return s, nil
}

// nameless makes a temporary file for the copy of an archive, which is removed when it is closed.
func nameless() (*os.File, error) {
	f, err := os.CreateTemp("", "southbound-archive-")
	if err == nil {
		err = os.Remove(f.Name())
	}
	return f, err
}

// errSpool marks errors of writing the copy, in contrast to errors of its source.
var errSpool = errors.New("keep a copy of the archive")

type spoolWriter struct{ f *os.File }

// Write implements io.Writer.
func (w spoolWriter) Write(p []byte) (int, error) {
	n, err := w.f.Write(p)
	if err != nil {
		err = fmt.Errorf("%w: %w", errSpool, err)
	}
	return n, err
}

func copyAll(ctx context.Context, to io.Writer, from io.Reader) (int64, error) {
	buf := disk.Buffers.Get().(*[]byte)
	defer disk.Buffers.Put(buf)
	return disk.Pump(ctx, to, nil, from, *buf)
}

func copyUploaded(ctx *provider.Context, to io.Writer, f resource.File) (int64, error) {
	src, err := ctx.Files().Open(ctx, f.Hash)
	if fault.Is(err, fault.NotFound) {
		return 0, provider.Errorf(provider.NeedsChange,
			"the uploaded bytes %s are gone; export again", f.Hash)
	}
	if err != nil {
		return 0, provider.Errorf(provider.Retryable, "open uploaded bytes: %w", err)
	}
	defer src.Close()
	return copyAll(ctx, to, src)
}

func checksum(want string, sums map[string]hash.Hash) error {
	kind, sum, ok := strings.Cut(want, ":")
	if !ok {
		return nil
	}
	h := sums[kind]
	if h == nil {
		return provider.Errorf(provider.NeedsChange,
			"the checksum is neither sha256:… nor sha512:…")
	}
	if have := hex.EncodeToString(h.Sum(nil)); have != sum {
		return provider.Errorf(provider.NeedsChange,
			"the archive has the checksum %s:%s, not the desired one; it may be "+
				"another version, or damaged", kind, have)
	}
	return nil
}

// tarMagic is the offset of the word ustar in a tar file of any but the oldest kind.
const tarMagic = 257

// guess detects the format by the first bytes.
func (s *spooled) guess() (string, error) {
	head := make([]byte, 512)
	n, err := s.file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	head = head[:n]
	for _, m := range []struct{ magic, format string }{
		{"\x1f\x8b", "tar.gz"}, {"BZh", "tar.bz2"}, {"\xfd7zXZ\x00", "tar.xz"},
		{"\x28\xb5\x2f\xfd", "tar.zst"}, {"PK\x03\x04", "zip"}, {"PK\x05\x06", "zip"},
	} {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.format, nil
		}
	}
	if bytes.HasPrefix(head[min(n, tarMagic):], []byte("ustar")) {
		// also before a header that needs the next block, such as PAX or GNU
		return "tar", nil
	}
	if _, err := tar.NewReader(bytes.NewReader(head)).Next(); err == nil ||
		n == 512 && bytes.Count(head, []byte{0}) == 512 {
		return "tar", nil
	}
	return "", provider.Errorf(provider.NeedsChange,
		"the archive is neither tar, nor one of its compressed forms (gz, bz2, xz, zst), nor zip")
}

// each calls f for each thing in the archive, in its order.
func (s *spooled) each(ctx context.Context, f func(unit) error) error {
	raw := io.NewSectionReader(s.file, 0, s.size)
	if s.format == "zip" {
		return damaged(s.format, s.eachZip(raw, f))
	}
	r, done, err := s.decompress(raw)
	if err != nil {
		return damaged(s.format, err)
	}
	defer done()
	limited := &limiter{ctx: ctx, from: r, left: s.limit}
	return damaged(s.format, eachTar(limited, f))
}

// damaged explains errors of the reader of a format.
func damaged(format string, err error) error {
	if err == nil || provider.ClassOf(err) != provider.Retryable ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, new(*os.PathError)) || errors.Is(err, errOwn) {
		return err
	}
	return provider.Errorf(provider.NeedsChange,
		"the archive cannot be read as %s: %w; it may be damaged", format, err)
}

// errOwn marks errors of handling the parts of an archive, in contrast to errors of reading it.
var errOwn = errors.New("writing failed")

// limiter stops archives that unpack to unlimited data.
type limiter struct {
	ctx  context.Context
	from io.Reader
	left int64
}

// Read implements io.Reader.
func (l *limiter) Read(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err
	}
	if l.left <= 0 {
		return 0, refused("it unpacks to more than max_size and max_files allow")
	}
	n, err := l.from.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

const maxWindow = 128 << 20 // bytes of memory that unpacking may need

func (s *spooled) decompress(raw io.Reader) (r io.Reader, done func(), err error) {
	done = func() {}
	buffered := bufio.NewReaderSize(raw, 64<<10)
	switch s.format {
	case "tar.gz":
		r, err = gzip.NewReader(buffered)
	case "tar.bz2":
		r = bzip2.NewReader(buffered)
	case "tar.xz":
		r, err = xz.NewReader(buffered)
	case "tar.zst":
		var d *zstd.Decoder
		if d, err = zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderMaxWindow(maxWindow)); err == nil {
			r, done = d, d.Close
		}
	default:
		r = buffered
	}
	return r, done, err
}

func eachTar(r io.Reader, f func(unit) error) error {
	tr := tar.NewReader(r)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			_, err := io.Copy(io.Discard, r) // the checksum of compressed data is at its end
			return err
		}
		if err != nil {
			return err
		}
		// 9 bits
		u := unit{name: h.Name, mode: fs.FileMode(h.Mode) & 0o777, time: h.ModTime, body: tr}
		switch h.Typeflag {
		case tar.TypeReg, tar.TypeGNUSparse, tar.TypeCont:
			u.kind = kindFile
		case tar.TypeDir:
			u.kind = kindDir
			u.mode |= fs.FileMode(h.Mode & sticky) // keep it on world-writable directories
		case tar.TypeSymlink:
			u.kind, u.target = kindLink, h.Linkname
		case tar.TypeLink:
			u.kind, u.hard = kindFile, h.Linkname
		case tar.TypeXGlobalHeader:
			continue
		case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
			return refused("%q is a device or a pipe", h.Name)
		default:
			return refused("%q is of the kind %q, which is not known", h.Name, h.Typeflag)
		}
		if err := f(u); err != nil {
			return err
		}
	}
}

// sticky is the system's mode bit of a directory in which users may remove only their own entries.
const sticky = 0o1000

func (s *spooled) eachZip(raw *io.SectionReader, f func(unit) error) error {
	z, err := zip.NewReader(raw, s.size)
	if err != nil && !errors.Is(err, zip.ErrInsecurePath) {
		// entryName decides which names are rejected, not this library
		return err
	}
	for _, file := range z.File {
		if err := eachZipped(file, f); err != nil {
			return err
		}
	}
	return nil
}

func eachZipped(file *zip.File, f func(unit) error) error {
	u := unit{name: file.Name, mode: file.Mode() & 0o777, time: file.Modified}
	const encrypted = 1
	if file.Flags&encrypted != 0 {
		return refused("%q is encrypted", file.Name)
	}
	if u.mode == 0 { // made on a system without modes
		u.mode = 0o644
	}
	switch mode := file.Mode(); {
	case mode.IsDir():
		u.kind = kindDir
		if mode&fs.ModeSticky != 0 {
			u.mode |= sticky
		}
		return f(u)
	case mode.IsRegular():
		u.kind = kindFile
	case mode&fs.ModeSymlink != 0:
		u.kind = kindLink
	default:
		return refused("%q is a device or a pipe", file.Name)
	}
	body, err := file.Open()
	if err != nil {
		return err
	}
	defer body.Close()
	if u.kind == kindLink {
		target, err := io.ReadAll(io.LimitReader(body, disk.MaxTarget+1))
		if err != nil {
			return err
		}
		u.target = string(target)
	}
	u.body = body
	return f(u)
}

// inspect reads the archive to its end and returns its contents.
func (s *spooled) inspect(ctx context.Context, r provider.Resource) (*contents, error) {
	strip, _ := r.Attributes["strip"].(int64)
	c := &contents{at: map[string]int{}}
	c.maxFiles, _ = r.Attributes["max_files"].(int64)
	c.remaining, _ = r.Attributes["max_size"].(int64)
	maxSize := c.remaining
	err := s.each(ctx, func(u unit) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		name, err := entryName(u.name, strip)
		if err != nil {
			return err
		}
		e := entry{Name: name, Kind: u.kind, Mode: uint32(u.mode), Time: u.time.Unix()}
		switch {
		case u.kind == kindLink:
			if name == "" {
				return nil
			}
			e.Target, e.Mode, e.Time = u.target, 0, 0
			if err := validLink(name, u.target); err != nil {
				return err
			}
		case u.kind == kindDir:
			e.Time = 0
		case u.hard != "":
			hard, err := entryName(u.hard, strip)
			if err != nil {
				return err
			}
			i, known := c.at[hard]
			if name != "" && (!known || c.entries[i].Kind != kindFile) {
				return refused("%q is another name of %q, which does not stand before it", u.name,
					u.hard)
			}
			if known {
				e.Hash, e.Size = c.entries[i].Hash, c.entries[i].Size
				c.remaining -= e.Size
			}
		default:
			h := sha256.New()
			n, err := copyAll(ctx, h, io.LimitReader(u.body, c.remaining+1))
			if err != nil {
				return err
			}
			c.remaining -= n
			e.Hash, e.Size = hex.EncodeToString(h.Sum(nil)), n
		}
		if c.remaining < 0 {
			return refused("its files have more than %d bytes; raise max_size if that is right",
				maxSize)
		}
		if name == "" {
			return nil
		}
		return c.add(e)
	})
	if err != nil {
		return nil, err
	}
	return c, c.finish()
}
