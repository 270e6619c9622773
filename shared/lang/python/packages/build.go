package packages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/fault"
)

const doing = "bundle Python packages"

// LockName is the name of the file beside project.yml with locked requirements. If it is missing,
// Build locks the versions in the virtual environment.
const LockName = "python.lock"

// Options configure Build.
type Options struct {
	// Env is the folder of the virtual environment.
	Env      string
	Platform Platform
	// Lock is a requirements file with hashes; "": the distributions in Env at their versions.
	Lock string
	// Limit is the largest size of the unpacked packages in bytes; 0: DefaultLimit.
	Limit int64
	// Variables is the environment of uv, which names the index; nil: that of this process. Build
	// calls it only if it needs uv.
	Variables func(ctx context.Context) []string
	// Cache is the folder of finished bundles. Build creates it.
	Cache string
	// Say, if not nil, prints a line about a step that takes long.
	Say func(format string, args ...any)
}

// DefaultLimit is the size of unpacked packages in a function whose /tmp has Lambda's default size.
const DefaultLimit = 250 << 20

// Bundle is a zip of packages.
type Bundle struct {
	// Path of the zip. It stays valid until eight newer bundles are made.
	Path     string   `json:"path"`
	Hash     string   `json:"hash"` // SHA-256 in hexadecimal digits
	Size     int64    `json:"size"` // bytes
	Unpacked int64    `json:"unpacked"`
	Platform Platform `json:"platform"`
	// Compiled reports whether the bundle has compiled code, so that functions start fast.
	Compiled bool      `json:"compiled"`
	Packages []Package `json:"packages"` // sorted by name
}

// Package is a part of a bundle.
type Package struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Bytes   int64  `json:"bytes"` // unpacked
}

// format is a part of the key of cached bundles. It changes with the way in which they are made.
const format = "3"

// Build returns the bundle of an environment, from the cache if the environment has not changed.
// Its errors name the package that has no wheel for the platform, was not installed from an index,
// or takes most of the space.
func Build(ctx context.Context, o Options) (*Bundle, error) {
	if err := o.Platform.Check(); err != nil {
		return nil, err
	}
	o.Limit = cmp.Or(o.Limit, DefaultLimit)
	if o.Say == nil {
		o.Say = func(string, ...any) {}
	}
	b := &builder{Options: o, python: interpreter(o.Env)}
	if err := b.wanted(); err != nil {
		return nil, err
	}
	key := b.key()
	out, err := b.cached(key)
	if err != nil || out == nil {
		if out, err = b.make(ctx, key); err != nil {
			return nil, err
		}
	}
	if out.Unpacked > o.Limit {
		return nil, tooLarge(out, o.Limit)
	}
	return out, nil
}

// builder makes one bundle.
type builder struct {
	Options
	python string // the interpreter of the environment
	lock   string // locked requirements; "": those of pins
	pins   []pin
}

// interpreter returns the interpreter of an environment.
func interpreter(env string) string { return filepath.Join(env, "bin", "python") }

// wanted reads the packages that the bundle has.
func (b *builder) wanted() (err error) {
	if b.Lock != "" {
		text, err := os.ReadFile(b.Lock)
		if err != nil {
			return fault.Wrap(fault.Usage, doing, err)
		}
		b.lock, b.pins = string(text), lockedPins(string(text))
		return nil
	}
	b.pins, err = installed(b.Env)
	return err
}

// requirements returns the pins as a requirements file.
func requirements(pins []pin) string {
	var out strings.Builder
	for _, p := range pins {
		out.WriteString(p.name + "==" + p.version + "\n")
	}
	return out.String()
}

// key identifies the inputs of a bundle.
func (b *builder) key() string {
	version, _ := os.ReadFile(filepath.Join(b.Env, "pyvenv.cfg")) // which Python compiles
	sum := sha256.Sum256([]byte(strings.Join([]string{format, b.Platform.String(), b.lock,
		requirements(b.pins), string(version)}, "\x00")))
	return hex.EncodeToString(sum[:16])
}

// cached returns a finished bundle; nil if there is none.
func (b *builder) cached(key string) (*Bundle, error) {
	text, err := os.ReadFile(filepath.Join(b.Cache, key+".json"))
	if err != nil {
		return nil, nil
	}
	out := &Bundle{}
	if json.Unmarshal(text, out) != nil {
		return nil, nil
	}
	out.Path = filepath.Join(b.Cache, key+".zip")
	if info, err := os.Stat(out.Path); err != nil || info.Size() != out.Size {
		return nil, nil
	}
	hash, err := hashOf(out.Path)
	if err != nil || hash != out.Hash {
		return nil, nil
	}
	return out, nil
}

func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	sum := sha256.New()
	_, err = io.Copy(sum, f)
	return hex.EncodeToString(sum.Sum(nil)), err
}

// make makes the bundle and puts it into the cache.
func (b *builder) make(ctx context.Context, key string) (*Bundle, error) {
	b.Say("bundling Python packages for %s", b.Platform)
	if err := os.MkdirAll(b.Cache, 0o700); err != nil {
		return nil, fault.Wrap(fault.Unavailable, doing, err)
	}
	work, err := os.MkdirTemp(b.Cache, "work-")
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, doing, err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	into := filepath.Join(work, "packages")
	if err := b.install(ctx, work, into); err != nil {
		return nil, err
	}
	out := &Bundle{Platform: b.Platform, Compiled: b.compile(ctx, into)}
	if !out.Compiled {
		b.Say("the environment has no Python %s, which would compile the packages: cold starts "+
			"of the function take some seconds longer", b.Platform.Python)
	}
	zipped := filepath.Join(work, "zip")
	if err := out.pack(into, zipped); err != nil {
		return nil, fault.Wrap(fault.Unavailable, doing, err)
	}
	out.Path = filepath.Join(b.Cache, key+".zip")
	text, err := json.Marshal(out)
	if err == nil {
		err = os.Rename(zipped, out.Path)
	}
	if err == nil {
		err = replace(filepath.Join(b.Cache, key+".json"), text)
	}
	b.tidy()
	return out, fault.Wrap(fault.Unavailable, doing, err)
}

func replace(path string, text []byte) error {
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// kept is the number of bundles in the cache.
const kept = 8

// tidy removes the oldest bundles from the cache.
func (b *builder) tidy() {
	names, _ := filepath.Glob(filepath.Join(b.Cache, "*.zip"))
	age := func(name string) int64 {
		info, err := os.Stat(name)
		if err != nil {
			return 0
		}
		return -info.ModTime().UnixNano()
	}
	slices.SortFunc(names, func(x, y string) int { return cmp.Compare(age(x), age(y)) })
	for _, old := range names[min(len(names), kept):] {
		_ = os.Remove(strings.TrimSuffix(old, ".zip") + ".json")
		_ = os.Remove(old)
	}
}

// install installs the packages into a folder with uv, which runs no code of a package.
func (b *builder) install(ctx context.Context, work, into string) error {
	u := &uv{dir: work, env: b.Env, python: b.python, platform: b.Platform, program: findUV(b.Env)}
	if u.program == "" {
		return fault.New(fault.NotFound, doing, "uv is not installed").
			WithHint("install it, such as with `pip install uv`")
	}
	if b.Variables != nil {
		u.variables = b.Variables(ctx)
	}
	local, err := u.install(ctx, b.lock, b.pins, into)
	if err != nil {
		return err
	}
	for _, p := range local {
		if err := p.copyTo(into); err != nil {
			return err
		}
	}
	return nil
}

func findUV(env string) string {
	if path, err := exec.LookPath("uv"); err == nil {
		return path
	}
	path := filepath.Join(env, "bin", "uv")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	return ""
}

// compile compiles the sources of a folder if the environment has the Python of the platform, and
// reports whether it has.
func (b *builder) compile(ctx context.Context, dir string) bool {
	cmd := exec.CommandContext(ctx, b.python, "-I", "-c",
		"import sys; print('%d.%d' % sys.version_info[:2])")
	if version, err := cmd.Output(); err != nil ||
		strings.TrimSpace(string(version)) != b.Platform.Python {
		return false
	}
	cmd = exec.CommandContext(ctx, b.python, "-m", "compileall", "-q", "-q", "-j", "1",
		"--invalidation-mode", "unchecked-hash", "-s", dir, "-p", "packages", dir)
	// the same order of sets in each run, and caches beside the sources
	cmd.Env = []string{"PYTHONHASHSEED=0", "PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
	err := cmd.Run()
	var exit *exec.ExitError
	return err == nil || errors.As(err, &exit) // some packages have files that are templates
}

// shown is the number of packages that an error about their size names.
const shown = 5

// tooLarge returns the error of a bundle that exceeds the limit.
func tooLarge(b *Bundle, limit int64) error {
	largest := slices.Clone(b.Packages)
	slices.SortStableFunc(largest, func(x, y Package) int { return cmp.Compare(y.Bytes, x.Bytes) })
	var names []string
	for _, p := range largest[:min(shown, len(largest))] {
		names = append(names, fmt.Sprintf("%s %s %d MB", p.Name, p.Version, p.Bytes>>20))
	}
	return fault.New(fault.Invalid, doing,
		"the packages take %d MB unpacked, and the function has room for %d MB; the largest are %s",
		b.Unpacked>>20, limit>>20, strings.Join(names, ", ")).
		WithHint("deploy the stack with a larger PythonStorage, or remove packages from the " +
			"environment that no handler imports")
}
