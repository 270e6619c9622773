package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	_ "embed" // the lock files of the packages
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
	//go:embed checkov.txt
	checkovLock []byte
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
	//go:embed openbao.txt
	openBaoLock []byte
	//go:embed sops.txt
	sopsLock []byte
)

// marker is written to a folder last, so that an interrupted installation is detected.
const marker = ".complete"

// install returns the folder of a kind of server. If the server is not installed, install installs
// it there.
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

// userCache is the user's cache folder when this process started. If a test gives the tested
// program another cache, servers are still installed in the user's.
var userCache, errUserCache = os.UserCacheDir()

// cached returns a folder in the user's cache that fill has filled. It calls fill once for all
// processes that share the cache, and again after an interrupted call.
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
	if complete(dir) { // another process filled it first
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

// lockFile waits for an exclusive lock. The system releases the lock when this process ends.
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
	case checkov:
		return checkovLock
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
	case openBao:
		return openBaoLock
	case sopsProgram:
		return sopsLock
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
	case MiniStack, ciSchemas, pypiserver, openBao, sopsProgram:
		version = "3.10+"
	case samTools, checkov, schemathesis:
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
	// Maven's JIT compilation takes longer than its run, so it is reduced, unless the user has set
	// options.
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

// tail returns the end of a program's output.
func tail(out []byte) []byte {
	const limit = 4000
	if len(out) > limit {
		out = out[len(out)-limit:]
	}
	return out
}
