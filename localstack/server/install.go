package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the locked lists of what is installed
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
)

var (
	//go:embed pom.xml
	dynamoPOM []byte
	//go:embed ministack.txt
	ministackLock []byte
	//go:embed localstack.txt
	localstackLock []byte
	//go:embed sam.txt
	samLock []byte
	//go:embed schemas.txt
	schemasLock []byte
	//go:embed schemathesis.txt
	schemathesisLock []byte
	//go:embed modules.txt
	modulesLock []byte
	//go:embed pypiserver.txt
	pypiserverLock []byte
	//go:embed uv.txt
	uvLock []byte
)

// marker is written last into a folder, so that an installation that was cut short is seen.
const marker = ".complete"

// install returns the folder in which a kind of server is installed, and installs it there when it
// is not.
func install(ctx context.Context, kind Kind) (string, error) {
	lock, into := kind.lock(), kind.into()
	sum := sha256.Sum256(lock)
	return cached(filepath.Join("servers", string(kind)+"-"+hex.EncodeToString(sum[:6])),
		func(dir string) error {
			if err := into(ctx, dir, lock); err != nil {
				return fmt.Errorf("install %s into %s: %w", kind, dir, err)
			}
			return nil
		})
}

// userCache is the user's cache when this process began: a test that gives what it tests a cache of
// its own does not install there all that it needs.
var userCache, errUserCache = os.UserCacheDir()

// cached returns a folder of the user's cache that fill has filled: once for all processes and
// users of the same cache, and again when it was cut short.
func cached(name string, fill func(dir string) error) (string, error) {
	if errUserCache != nil {
		return "", fmt.Errorf("find cache folder: %w", errUserCache)
	}
	dir := filepath.Join(userCache, "southbound", name)
	if complete(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", err
	}
	unlock, err := lockFile(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if complete(dir) { // another process was first
		return dir, nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := fill(dir); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, marker), nil, 0o644)
}

func complete(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, marker))
	return err == nil
}

// lockFile waits for an exclusive lock, which the system drops when this process ends.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

func (k Kind) lock() []byte {
	switch k {
	case DynamoDB:
		return dynamoPOM
	case MiniStack:
		return ministackLock
	case samTools:
		return samLock
	case ciSchemas:
		return schemasLock
	case schemathesis:
		return schemathesisLock
	case modelModules:
		return modulesLock
	case pypiserver:
		return pypiserverLock
	case uv:
		return uvLock
	default:
		return localstackLock
	}
}

func (k Kind) into() func(ctx context.Context, dir string, lock []byte) error {
	version := ""
	switch k {
	case DynamoDB:
		return mavenInto
	case uv:
		return pipInto
	case MiniStack, ciSchemas, pypiserver:
		version = "3.10+"
	case samTools, schemathesis:
		version = "3.11+"
	default:
		version = "3.13"
	}
	return func(ctx context.Context, dir string, lock []byte) error {
		return uvInto(ctx, version, dir, lock)
	}
}

// mavenInto copies the libraries of a POM into dir/lib.
func mavenInto(ctx context.Context, dir string, pom []byte) error {
	if err := provide(ctx, maven); err != nil {
		return err
	}
	file := filepath.Join(dir, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return err
	}
	// Maven compiles itself for longer than it then runs, unless its user has told it otherwise.
	options := cmp.Or(os.Getenv("MAVEN_OPTS"), "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
	return run(ctx, dir, "env", "MAVEN_OPTS="+options, "mvn", "-q", "-B", "-f", file,
		"dependency:copy-dependencies", "-DincludeScope=runtime",
		"-DoutputDirectory="+filepath.Join(dir, "lib"))
}

func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return fmt.Errorf("%s is not installed: %w", name, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w\n%s", name, err, tail(out))
	}
	return nil
}

// tail returns the end of what a program said.
func tail(out []byte) []byte {
	const limit = 4000
	if len(out) > limit {
		out = out[len(out)-limit:]
	}
	return out
}
