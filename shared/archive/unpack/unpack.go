// Package unpack writes the content of untrusted archives into folders.
package unpack

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"southbound/shared/fault"
)

// Limits bound the content of an archive.
type Limits struct {
	Entries  int    // number of files and folders
	Unpacked int64  // total size of all files in bytes
	Name     int    // length of a name in bytes
	Hint     string // what to do with an archive that exceeds the limits; may be empty
}

// unpacker writes the entries of an archive below a folder, and never outside it.
type unpacker struct {
	root    *os.Root
	limits  Limits
	entries int
	bytes   int64
}

// Archive writes the content of an archive into an empty folder. The format (tar, tar.gz or zip) is
// detected from the first bytes. Archive returns Invalid for entries that are neither files nor
// folders: links, devices, and names that leave the folder or occur twice. It also returns
// Invalid if the archive exceeds the limits.
func Archive(archive *os.File, size int64, dir string, limits Limits) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fault.Wrap(fault.Unavailable, "unpack", err)
	}
	defer root.Close()
	u := &unpacker{root: root, limits: limits}
	in := bufio.NewReader(archive)
	head, err := in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return fault.Wrap(fault.Unavailable, "read archive", err)
	}
	switch {
	case strings.HasPrefix(string(head), "PK"):
		return u.zip(archive, size)
	case strings.HasPrefix(string(head), "\x1f\x8b"):
		z, err := gzip.NewReader(in)
		if err != nil {
			return broken(err)
		}
		return u.tar(z)
	default:
		return u.tar(in)
	}
}

func broken(err error) error {
	return fault.New(fault.Invalid, "read archive",
		"it is not a tar, tar.gz or zip, or it is damaged: %v", err)
}

func (u *unpacker) tar(in io.Reader) error {
	r := tar.NewReader(in)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return broken(err)
		}
		switch h.Typeflag {
		case tar.TypeDir:
			err = u.folder(h.Name)
		case tar.TypeReg:
			err = u.file(h.Name, r)
		case tar.TypeXGlobalHeader: // git's metadata of the commit
		default:
			err = fault.New(fault.Invalid, "read archive", "%q is neither a file nor a folder",
				h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func (u *unpacker) zip(in io.ReaderAt, size int64) error {
	r, err := zip.NewReader(in, size)
	if err != nil {
		return broken(err)
	}
	for _, f := range r.File {
		switch mode := f.Mode(); {
		case mode.IsDir():
			err = u.folder(f.Name)
		case mode.IsRegular():
			err = u.zipped(f)
		default:
			err = fault.New(fault.Invalid, "read archive", "%q is neither a file nor a folder",
				f.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) zipped(f *zip.File) error {
	r, err := f.Open()
	if err != nil {
		return broken(err)
	}
	defer r.Close()
	return u.file(f.Name, r)
}

// name checks the name of an entry and counts the entry.
func (u *unpacker) name(name string) (string, error) {
	if u.entries++; u.entries > u.limits.Entries {
		return "", fault.New(fault.Invalid, "read archive", "it has more than %d entries",
			u.limits.Entries).
			WithHint("%s", u.limits.Hint)
	}
	clean := path.Clean(strings.TrimPrefix(name, "./"))
	if len(name) > u.limits.Name || !fs.ValidPath(clean) || strings.ContainsAny(name, "\\\x00") {
		return "", fault.New(fault.Invalid, "read archive",
			"%.100q is not a name of a file in a folder", name).
			WithHint("names are relative, and do not leave the archive")
	}
	return clean, nil
}

func (u *unpacker) folder(name string) error {
	clean, err := u.name(name)
	if err != nil {
		return err
	}
	return u.mkdir(clean)
}

func (u *unpacker) mkdir(name string) error {
	if err := u.root.MkdirAll(name, 0o700); err != nil {
		return fault.New(fault.Invalid, "read archive", "%.100q is a file and a folder", name)
	}
	return nil
}

func (u *unpacker) file(name string, in io.Reader) error {
	clean, err := u.name(name)
	if err != nil {
		return err
	}
	if err := u.mkdir(path.Dir(clean)); err != nil {
		return err
	}
	out, err := u.root.OpenFile(clean, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.New(fault.Invalid, "read archive", "%.100q occurs twice", name)
	}
	n, err := io.Copy(out, io.LimitReader(in, u.limits.Unpacked-u.bytes+1))
	u.bytes += n
	closed := out.Close()
	switch {
	case u.bytes > u.limits.Unpacked:
		return fault.New(fault.Invalid, "read archive", "it holds more than %d MB",
			u.limits.Unpacked>>20).WithHint("%s", u.limits.Hint)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, zip.ErrChecksum), errors.Is(err,
		gzip.ErrChecksum):
		return broken(err)
	case err != nil:
		return fault.Wrap(fault.Unavailable, "unpack", err)
	}
	return fault.Wrap(fault.Unavailable, "unpack", closed)
}
