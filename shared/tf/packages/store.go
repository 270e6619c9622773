package packages

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"

	"southbound/shared/archive/unpack"
	"southbound/shared/fault"
	"southbound/shared/pattern"
	"southbound/shared/tf/wire"
)

// Store is a folder with installed packages, in the form of a filesystem mirror, and with the
// schemas of their providers. Several processes may use it at the same time.
type Store struct {
	Dir    string
	Client *http.Client // nil: the default
}

// Installed is a package in a store.
type Installed struct {
	Address    Address
	Version    string
	Platform   string
	Dir        string
	Executable string   // path of the program
	Digest     string   // SHA-256 of the program, in hexadecimal
	Hashes     []string // of the content, and of the zip file if this call unpacked it
}

// Install installs a package, and returns it. The content must have one of the hashes that the
// source states, and one of the allowed hashes unless allowed is nil: a lock is nil only when it is
// written. A package that is installed and has the same content is left unchanged.
func (s *Store) Install(ctx context.Context, p *Package, allowed []string) (*Installed, error) {
	if !validVersion(p.Version) || !platformForm().MatchString(p.Platform) {
		return nil, fault.New(fault.Invalid, "install provider", "%s %s is no package", p.Version,
			p.Platform)
	}
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return nil, fault.Wrap(fault.Unavailable, "install provider", err)
	}
	temp, err := os.MkdirTemp(s.Dir, ".install-")
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "install provider", err)
	}
	defer os.RemoveAll(temp)
	content := filepath.Join(temp, "content")
	hashes, err := s.fill(ctx, p, temp, content)
	if err != nil {
		return nil, err
	}
	i, err := inspect(ctx, p, content)
	if err != nil {
		return nil, err
	}
	i.Hashes = append(i.Hashes, hashes...)
	what := "install " + p.Address.String() + " " + p.Version
	if len(p.Hashes) > 0 {
		if err := Check(what, i.Hashes, p.Hashes); err != nil {
			return nil, err
		}
	}
	if allowed != nil {
		if err := Check(what, i.Hashes, allowed); err != nil {
			return nil, err
		}
	}
	return s.place(ctx, p, i, content)
}

// fill makes the folder of the content, and returns the hash of the zip file if there is one.
func (s *Store) fill(ctx context.Context, p *Package, temp, content string) ([]string, error) {
	if err := os.Mkdir(content, 0o700); err != nil {
		return nil, fault.Wrap(fault.Unavailable, "install provider", err)
	}
	zip := p.Path
	if p.URL != "" {
		zip = filepath.Join(temp, "package.zip")
		if err := s.download(ctx, p.URL, zip); err != nil {
			return nil, err
		}
	} else if info, err := os.Stat(p.Path); err != nil {
		return nil, fault.Wrap(fault.NotFound, "install provider", err)
	} else if info.IsDir() {
		return nil, copyFiles(ctx, p.Path, content)
	}
	h, err := archiveHash(ctx, zip)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(zip)
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "install provider", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "install provider", err)
	}
	head := make([]byte, 2)
	if _, err := f.ReadAt(head, 0); err != nil || string(head) != "PK" {
		return nil, fault.New(fault.Invalid, "install provider", "the package of %s is not a zip file",
			p.Address)
	}
	return []string{h}, unpack.Archive(f, info.Size(), content, limits)
}

// limits of a package: the largest providers have 700 MB.
var limits = unpack.Limits{Entries: 1000, Unpacked: maxPackage, Name: 255,
	Hint: "use another version of the provider"}

func (s *Store) download(ctx context.Context, at, to string) error {
	in, err := newWeb(s.Client).get(ctx, at)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fault.Wrap(fault.Unavailable, "download", err)
	}
	n, err := io.Copy(out, io.LimitReader(in, maxPackage+1))
	err = errors.Join(err, out.Close())
	switch {
	case err != nil:
		return fault.Wrap(fault.Unavailable, "download", err)
	case n > maxPackage:
		return fault.New(fault.Refused, "download", "the package is larger than %d MB", maxPackage>>20)
	}
	return nil
}

// copyFiles copies an unpacked package. Links and devices are refused, as in an archive.
func copyFiles(ctx context.Context, from, to string) error {
	root, err := filepath.EvalSymlinks(from)
	if err != nil {
		return fault.Wrap(fault.Unavailable, "install provider", err)
	}
	var total int64
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return fault.Wrap(fault.Unavailable, "install provider", err)
		}
		name, err := filepath.Rel(root, path)
		switch {
		case err != nil:
			return fault.Wrap(fault.Internal, "install provider", err)
		case name == ".":
			return nil
		case d.IsDir():
			return fault.Wrap(fault.Unavailable, "install provider",
				os.Mkdir(filepath.Join(to, name), 0o700))
		case !d.Type().IsRegular():
			return fault.New(fault.Invalid, "install provider", "%s is neither a file nor a folder", path)
		}
		n, err := copyFile(ctx, path, filepath.Join(to, name), maxPackage-total)
		total += n
		return err
	})
}

func copyFile(ctx context.Context, from, to string, most int64) (int64, error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, fault.Wrap(fault.Unavailable, "install provider", err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, fault.Wrap(fault.Unavailable, "install provider", err)
	}
	n, err := io.Copy(out, io.LimitReader(&stopped{ctx, in}, most+1))
	err = errors.Join(err, out.Close())
	if err == nil && n > most {
		return n, fault.New(fault.Refused, "install provider", "the package is larger than %d MB",
			maxPackage>>20)
	}
	return n, fault.Wrap(fault.Unavailable, "install provider", err)
}

// inspect finds the one program of a package, and hashes the package.
func inspect(ctx context.Context, p *Package, dir string) (*Installed, error) {
	i := &Installed{Address: p.Address, Version: p.Version, Platform: p.Platform, Dir: dir}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fault.Wrap(fault.NotFound, "install provider", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), "terraform-provider-"+p.Address.Type) {
			continue
		}
		if i.Executable != "" {
			return nil, fault.New(fault.Invalid, "install provider", "the package of %s has two programs",
				p.Address).WithHint("use another version of the provider")
		}
		i.Executable = filepath.Join(dir, e.Name())
	}
	if i.Executable == "" {
		return nil, fault.New(fault.Invalid, "install provider",
			"the package of %s has no program terraform-provider-%s", p.Address, p.Address.Type).
			WithHint("use the package for this platform")
	}
	if i.Digest, err = fileDigest(ctx, i.Executable); err != nil {
		return nil, err
	}
	h, err := contentHash(dir)
	i.Hashes = []string{h}
	return i, err
}

func (s *Store) home(p *Package) string {
	return filepath.Join(s.Dir, p.Address.Host, p.Address.Namespace, p.Address.Type, p.Version,
		p.Platform)
}

// place moves the content to its folder. A folder with another content is replaced.
func (s *Store) place(ctx context.Context, p *Package, i *Installed, content string) (*Installed, error) {
	home := s.home(p)
	if there, err := inspect(ctx, p, home); err == nil && there.Hashes[0] == i.Hashes[0] {
		there.Hashes = i.Hashes
		return there, fault.Wrap(fault.Unavailable, "install provider", os.Chmod(there.Executable, 0o700))
	}
	if err := os.Chmod(i.Executable, 0o700); err != nil {
		return nil, fault.Wrap(fault.Unavailable, "install provider", err)
	}
	if err := os.MkdirAll(filepath.Dir(home), 0o700); err != nil {
		return nil, fault.Wrap(fault.Unavailable, "install provider", err)
	}
	err := os.Rename(home, filepath.Join(filepath.Dir(content), "old"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fault.Wrap(fault.Unavailable, "install provider", err)
	}
	if err := os.Rename(content, home); err != nil {
		return nil, fault.Wrap(fault.Unavailable, "install provider", err)
	}
	i.Executable = filepath.Join(home, filepath.Base(i.Executable))
	i.Dir = home
	return i, nil
}

// Find returns an installed package with the hash of its content. It returns NotFound if the
// package is not installed. The caller compares the hashes with a lock by Check.
func (s *Store) Find(ctx context.Context, a Address, version, platform string) (*Installed, error) {
	p := &Package{Address: a, Version: version, Platform: platform}
	if !validVersion(version) || !platformForm().MatchString(platform) {
		return nil, fault.New(fault.Invalid, "find provider", "%.100q is not a version", version)
	}
	if _, err := os.Stat(s.home(p)); err != nil {
		return nil, fault.New(fault.NotFound, "find provider", "%s %s for %s is not installed", a, version,
			platform).WithHint("run `southbound provider install`")
	}
	return inspect(ctx, p, s.home(p))
}

var digestForm = pattern.Lazy(`^[0-9a-f]{64}$`)

func (s *Store) schemas(digest string) (string, error) {
	if !digestForm().MatchString(digest) {
		return "", fault.New(fault.Invalid, "read schemas of a provider", "%.100q is not a digest", digest)
	}
	return filepath.Join(s.Dir, "schemas", digest+".json"), nil
}

// Schemas returns the schemas of the program with a digest. It returns NotFound if they are not
// cached.
func (s *Store) Schemas(digest string) (*wire.Schemas, error) {
	path, err := s.schemas(digest)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fault.New(fault.NotFound, "read schemas of a provider", "they are not cached")
	case err != nil:
		return nil, fault.Wrap(fault.Unavailable, "read schemas of a provider", err)
	}
	return wire.ParseSchemas(text)
}

// KeepSchemas caches the schemas of the program with a digest.
func (s *Store) KeepSchemas(digest string, schemas *wire.Schemas) error {
	path, err := s.schemas(digest)
	if err != nil {
		return err
	}
	text, err := json.Marshal(schemas)
	if err != nil {
		return fault.Wrap(fault.Internal, "cache schemas of a provider", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fault.Wrap(fault.Unavailable, "cache schemas of a provider", err)
	}
	err = renameio.WriteFile(path, text, 0o600, renameio.WithTempDir(filepath.Dir(path)))
	return fault.Wrap(fault.Unavailable, "cache schemas of a provider", err)
}
