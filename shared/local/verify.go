package local

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
)

// Each export verifies all that the engine has made of the version in force, so that what is lost
// is stored anew while it can be. For an order of a service that would be what all instances are.
// So a process does not read again what it has just read: it looks whether the file is still the
// one that it was. That finds whatever writes, replaces or removes a file; a bit that flips on the
// disk is found a minute later, or when the file is used, as reading for use always compares the
// hash.

// verifyAgain is for how long a file that was verified and stays as it is counts as whole.
const verifyAgain = time.Minute

// stableFor is how long a file has to be as it is before it counts as verified: a file that is
// written twice within a tick of the clock of the file system has the same time.
const stableFor = 20 * time.Millisecond

// maxVerified is how many files a process remembers.
const maxVerified = 4096

// verified remembers files that had the bytes that their names say.
type verified struct {
	mu     sync.Mutex
	byHash map[string]verifiedFile
}

// verifiedFile is a file as it was before it was read.
type verifiedFile struct {
	os.FileInfo
	at time.Time
}

// of returns the file that was verified less than a minute before now, nil if there is none.
func (v *verified) of(hash string, now time.Time) os.FileInfo {
	v.mu.Lock()
	defer v.mu.Unlock()
	was, known := v.byHash[hash]
	if age := now.Sub(was.at); !known || age < 0 || age >= verifyAgain {
		return nil
	}
	return was.FileInfo
}

// unchanged reports whether a file is the one that it was.
func unchanged(was, is os.FileInfo) bool {
	return os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
}

// note remembers a file. Few are in force at a time, so the memory is simply emptied when it is
// full.
func (v *verified) note(hash string, was os.FileInfo, at time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.byHash == nil || len(v.byHash) >= maxVerified {
		v.byHash = map[string]verifiedFile{}
	}
	v.byHash[hash] = verifiedFile{was, at}
}

// Verify implements state.Verifier.
func (f *Files) Verify(ctx context.Context, hashes []string) error {
	for _, h := range hashes {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := f.verify(h, time.Now()); err != nil {
			return err
		}
	}
	return nil
}

// verify verifies a file, unless that was done just before.
func (f *Files) verify(hash string, now time.Time) error {
	if was := f.verified.of(hash, now); was != nil {
		if is, err := os.Stat(f.path(hash)); err == nil && unchanged(was, is) {
			return nil
		}
	}
	file, err := f.open(hash)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	was, err := file.Stat()
	if err == nil {
		_, err = io.Copy(io.Discard, file)
	}
	if err != nil {
		return fileError("read file", err)
	}
	if now.Sub(was.ModTime()) > stableFor {
		f.verified.note(hash, was, now)
	}
	return nil
}
