package local

import (
	"context"
	"io"
	"os"
	"sync"
	"time"
)

// Each export verifies all files that the engine has made for the version in force, so that lost
// files are stored again while that is possible. An order of a service would thus read the files of
// all instances. So a process does not read a file again if it has verified the file recently and
// the file's metadata is unchanged. The metadata reveals any write, replacement or removal. A bit
// that flips on the disk is found a minute later, or when the file is used, since reading for use
// always compares the hash.

// verifyAgain is how long a verified file with unchanged metadata is considered intact.
const verifyAgain = time.Minute

// stableFor is the minimum age of a file for its verification to be cached. A file that is written
// twice within a clock tick of the file system has the same modification time after both writes.
const stableFor = 20 * time.Millisecond

// maxVerified is the maximum number of files in the cache.
const maxVerified = 4096

// verified is a cache of files whose bytes matched their hash.
type verified struct {
	mu     sync.Mutex
	byHash map[string]verifiedFile
}

// verifiedFile holds the metadata of a file from before it was read.
type verifiedFile struct {
	os.FileInfo
	at time.Time
}

// of returns the metadata of a file that was verified less than a minute before now, or nil.
func (v *verified) of(hash string, now time.Time) os.FileInfo {
	v.mu.Lock()
	defer v.mu.Unlock()
	was, known := v.byHash[hash]
	if age := now.Sub(was.at); !known || age < 0 || age >= verifyAgain {
		return nil
	}
	return was.FileInfo
}

// unchanged reports whether a file is still the same file, with the same size and modification
// time.
func unchanged(was, is os.FileInfo) bool {
	return os.SameFile(was, is) && was.Size() == is.Size() && was.ModTime().Equal(is.ModTime())
}

// note caches a file. Few files are in force at a time, so the cache is cleared when it is full.
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

// verify verifies a file, unless the cache shows that it was verified recently.
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
