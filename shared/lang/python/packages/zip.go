package packages

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// dropped reports whether a bundle lacks a file of an installation: it differs from one installation
// to the next, or no import needs it.
func dropped(name string) bool {
	base := path.Base(name)
	switch base {
	case "RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json", ".lock":
		return strings.HasSuffix(path.Dir(name), ".dist-info") || base == ".lock"
	}
	switch path.Ext(base) { // no import reads sources of compilers and types of editors
	case ".pyi", ".pyx", ".pxd", ".c", ".h":
		return true
	}
	return strings.HasPrefix(name, "bin/")
}

// epoch is the time of all files in a bundle: the earliest that a zip can have.
func epoch() time.Time { return time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) }

// window is the size of the window of compressed files. A reader needs so many bytes of memory.
const window = 1 << 20

// openZip opens a bundle. Its files are compressed with zstd, which takes a third of the CPU time of
// deflate to unpack; files of earlier bundles are deflated.
func openZip(path string) (*zip.ReadCloser, error) {
	r, err := zip.OpenReader(path)
	if err != nil {
		return nil, err
	}
	r.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor(
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
		zstd.WithDecoderMaxWindow(8*window)))
	return r, nil
}

// pack writes the packages in a folder into a zip, and completes the description of the bundle.
func (b *Bundle) pack(dir, zipped string) error {
	var names []string
	if err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !dropped(name) {
			names = append(names, name)
		}
		return err
	}); err != nil {
		return err
	}
	slices.Sort(names)
	f, err := os.Create(zipped)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	w := zip.NewWriter(io.MultiWriter(f, sum))
	w.RegisterCompressor(zstd.ZipMethodWinZip, zstd.ZipCompressor(zstd.WithWindowSize(window),
		zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1)))
	of, err := owners(dir)
	if err != nil {
		return err
	}
	sizes := map[string]int64{}
	for _, name := range names {
		n, err := add(w, dir, name)
		if err != nil {
			return err
		}
		b.Unpacked += n
		sizes[of[name]] += n
	}
	if err := w.Close(); err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	b.Hash, b.Size = hex.EncodeToString(sum.Sum(nil)), info.Size()
	b.Packages, err = list(dir, sizes)
	return err
}

// add adds a file to a zip, and returns its size.
func add(w *zip.Writer, dir, name string) (int64, error) {
	header := &zip.FileHeader{Name: name, Method: zstd.ZipMethodWinZip,
		Modified: epoch()}
	header.SetMode(0o644)
	out, err := w.CreateHeader(header)
	if err != nil {
		return 0, err
	}
	in, err := os.Open(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }()
	return io.Copy(out, in)
}

// owners returns the distribution of each file, by the records of the installation. Compiled code
// belongs to the distribution of its source.
func owners(dir string) (map[string]string, error) {
	out := map[string]string{}
	infos, _ := filepath.Glob(filepath.Join(dir, "*.dist-info"))
	for _, info := range infos {
		text, err := os.ReadFile(filepath.Join(info, "RECORD"))
		if err != nil {
			return nil, err
		}
		base := filepath.Base(info)
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			name, _, _ := strings.Cut(lines.Text(), ",")
			out[name] = base
			if stem, is := strings.CutSuffix(name, ".py"); is {
				matches, _ := filepath.Glob(filepath.Join(dir, path.Dir(stem), "__pycache__",
					path.Base(stem)+".*.pyc"))
				for _, m := range matches {
					rel, _ := filepath.Rel(dir, m)
					out[filepath.ToSlash(rel)] = base
				}
			}
		}
	}
	return out, nil
}

// list returns the distributions in a folder with their sizes, sorted by name.
func list(dir string, sizes map[string]int64) ([]Package, error) {
	out := []Package{}
	infos, _ := filepath.Glob(filepath.Join(dir, "*.dist-info"))
	for _, info := range infos {
		p, err := read(filepath.Join(info, "METADATA"))
		if err != nil {
			return nil, err
		}
		out = append(out, Package{p.name, p.version, sizes[filepath.Base(info)]})
	}
	slices.SortFunc(out, func(x, y Package) int { return strings.Compare(x.Name, y.Name) })
	return out, nil
}
