package bundle

import (
	"archive/tar"
	"errors"
	"io"
	"path"
	"path/filepath"

	"southbound/shared/fault"
)

const (
	opCheck = "read the model"
	// headers is the size of the file headers and padding in a bundle.
	headers = (MaxFiles + 2) * 2048
	// maxManifest is the size of a manifest.
	maxManifest = 64 << 10
)

// Check reads a bundle from an untrusted sender. It returns fault.Invalid if the bundle cannot be
// unpacked. It reads no more bytes than a bundle may have.
func Check(packed io.Reader) error {
	bounded := &io.LimitedReader{R: packed, N: MaxBytes + headers}
	in := tar.NewReader(bounded)
	var says *manifest
	names, bytes := map[string]bool{}, int64(0)
	for {
		h, err := in.Next()
		if errors.Is(err, io.EOF) && bounded.N > 0 {
			break
		}
		switch {
		case bounded.N <= 0 || err == nil && bytes+h.Size > MaxBytes:
			return tooLarge("more than %d MiB", MaxBytes>>20)
		case err != nil:
			return broken("%v", err)
		case h.Typeflag != tar.TypeReg:
			return broken("%.100q is not a file", h.Name)
		case !filepath.IsLocal(filepath.FromSlash(h.Name)):
			return broken("%.100q leads out of it", h.Name)
		case len(names) > MaxFiles:
			return tooLarge("more than %d files", MaxFiles)
		}
		names[path.Clean(h.Name)], bytes = true, bytes+h.Size
		if h.Name != manifestFile {
			continue
		}
		if says, err = readManifest(in); err != nil {
			return err
		}
	}
	switch {
	case says == nil:
		return broken("it has no %s", manifestFile)
	case !names[path.Join(projectDir, says.Main)]:
		return broken("its main file %.100q is not there", says.Main)
	}
	return nil
}

// readManifest reads the manifest of a bundle from an untrusted sender.
func readManifest(in io.Reader) (*manifest, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxManifest+1))
	if err != nil || len(text) > maxManifest {
		return nil, broken("its %s cannot be read, or is larger than %d KiB", manifestFile,
			maxManifest>>10)
	}
	says, err := manifestOf(text)
	if err != nil {
		return nil, broken("its %s is not one that this program knows", manifestFile)
	}
	return &says, nil
}

// broken returns the error for a file that is not a bundle.
func broken(why string, args ...any) error {
	return fault.New(fault.Invalid, opCheck, "the file is not a model as southbound packs it: "+why,
		args...).WithHint("export the services again, with `southbound service export PATH`")
}
