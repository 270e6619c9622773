package packages

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/fault"
)

// Source offers packages of providers.
type Source interface {
	// Versions returns all versions of a provider that the source has, in no order. It returns
	// NotFound if there is no such provider.
	Versions(ctx context.Context, a Address) ([]string, error)
	// Find returns the package of a version for a platform. It returns NotFound if the source does
	// not have it. It does not download the package.
	Find(ctx context.Context, a Address, version, platform string) (*Package, error)
}

// Package is a package that a source offers.
type Package struct {
	Address  Address
	Version  string
	Platform string
	// Path is a folder or a zip file on this machine; empty for a package that is downloaded.
	Path string
	// URL is the address of a zip file; empty for a package on this machine.
	URL string
	// Hashes are the hashes, of this platform, that the source states. The content must have one of
	// them; if there are none, the source states none.
	Hashes []string
	// AllHashes are the hashes that the source states for all platforms, for a lock.
	AllHashes []string
	// Signer is the id of the key that signed the hashes; empty if they are unsigned.
	Signer string
}

// Open returns the source of a place: a folder, or the https address of a network mirror. An empty
// place is the registry of each address.
func Open(place string, client *http.Client) (Source, error) {
	switch {
	case place == "":
		return &registry{client: newWeb(client)}, nil
	case strings.HasPrefix(place, "https://"):
		return newMirror(place, client)
	case strings.Contains(place, "://"):
		return nil, fault.New(fault.Invalid, "open source of providers", "%.200q is not an https address",
			place).WithHint("use https:// for a network mirror, or a folder")
	}
	info, err := os.Stat(place)
	switch {
	case err != nil:
		return nil, fault.Wrap(fault.NotFound, "open source of providers", err)
	case !info.IsDir():
		return nil, fault.New(fault.Invalid, "open source of providers", "%s is not a folder", place).
			WithHint("name the folder that contains HOST/NAMESPACE/TYPE")
	}
	return &folder{place}, nil
}

// folder is a filesystem mirror with unpacked packages (HOST/NAMESPACE/TYPE/VERSION/OS_ARCH) and
// packed ones (HOST/NAMESPACE/TYPE/terraform-provider-TYPE_VERSION_OS_ARCH.zip).
type folder struct{ dir string }

func (f *folder) home(a Address) string {
	return filepath.Join(f.dir, a.Host, a.Namespace, a.Type)
}

// Versions implements Source.
func (f *folder) Versions(_ context.Context, a Address) ([]string, error) {
	entries, err := os.ReadDir(f.home(a))
	if err != nil {
		return nil, notOffered(a, f.dir)
	}
	var out []string
	for _, e := range entries {
		version := e.Name()
		if !e.IsDir() {
			version, _, _ = splitName(a, e.Name())
		}
		if validVersion(version) && !slices.Contains(out, version) {
			out = append(out, version)
		}
	}
	return out, nil
}

func notOffered(a Address, place string) error {
	return fault.New(fault.NotFound, "find provider", "%s does not have %s", place, a).
		WithHint("check the address of the provider")
}

// splitName returns the version and the platform in the name of a zip file; they are empty if it has
// another form.
func splitName(a Address, name string) (version, platform string, ok bool) {
	rest, is := strings.CutPrefix(name, "terraform-provider-"+a.Type+"_")
	rest, zip := strings.CutSuffix(rest, ".zip")
	version, platform, ok = strings.Cut(rest, "_")
	if !is || !zip || !ok || !platformForm().MatchString(platform) {
		return "", "", false
	}
	return version, platform, true
}

// zipName returns the name of a zip file.
func zipName(a Address, version, platform string) string {
	return fmt.Sprintf("terraform-provider-%s_%s_%s.zip", a.Type, version, platform)
}

// Find implements Source.
func (f *folder) Find(_ context.Context, a Address, version, platform string) (*Package, error) {
	p := &Package{Address: a, Version: version, Platform: platform}
	if !validVersion(version) || !platformForm().MatchString(platform) {
		return nil, notOffered(a, f.dir)
	}
	for _, path := range []string{
		filepath.Join(f.home(a), version, platform),
		filepath.Join(f.home(a), zipName(a, version, platform)),
	} {
		// A mirror may consist of links to packages elsewhere.
		if info, err := os.Stat(path); err == nil && (info.IsDir() || info.Mode().IsRegular()) {
			p.Path = path
			return p, nil
		}
	}
	return nil, fault.New(fault.NotFound, "find provider", "%s does not have %s %s for %s", f.dir, a,
		version, platform).WithHint("%s", f.others(a, version))
}

// others names the platforms of a version that exist.
func (f *folder) others(a Address, version string) string {
	var found []string
	unpacked, _ := os.ReadDir(filepath.Join(f.home(a), version)) // none: no platforms
	for _, e := range unpacked {
		found = append(found, e.Name())
	}
	packed, _ := fs.Glob(os.DirFS(f.home(a)), "*.zip")
	for _, name := range packed {
		if v, platform, ok := splitName(a, name); ok && v == version {
			found = append(found, platform)
		}
	}
	if len(found) == 0 {
		return "choose another version"
	}
	return "it is there for " + strings.Join(found, ", ")
}
