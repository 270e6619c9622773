package cli

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	// manyBytes is how much has to be read for the heap to be worth preparing.
	manyBytes = 256 << 10
	// fileBytes is what a file or directory counts for at least, so that few are looked at.
	fileBytes = 4 << 10
	// hugeHeap is how much of the heap is made of huge pages: what ten thousand resources take.
	hugeHeap = 64 << 20
)

// expectMuch prepares the heap if there is much under path. To be given pages of 4 kB, one by one,
// takes a program that lives for a moment an eighth of its time; where the system is asked to, it
// gives 2 MB at once. Only memory that is allocated can be asked for, so a block is, and left
// untouched to the next collection, which runs soon: then it is what else is allocated from.
func expectMuch(path string) {
	if !isLarge(path) {
		return
	}
	// a collection now would find it in use
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	_ = unix.Madvise(make([]byte, hugeHeap), unix.MADV_HUGEPAGE) // without it is only slower
	forgetStart()
}

// forgetStart takes the code of the program out of its memory. The start takes some of it from all
// over the place, and the system maps what is beside that as well: of 20 MB that are there then, 12
// are not run again. What is run is mapped again in a moment, from the cache of the system, where
// it stays. Code is never written to, so nothing is lost.
func forgetStart() {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	here := uint64(reflect.ValueOf(forgetStart).Pointer())
	for line := range strings.Lines(string(maps)) {
		var from, to uint64
		var perm string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &perm); n != 3 || here < from ||
			here >= to {
			continue
		}
		if perm == "r-xp" {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(from), uintptr(to-from),
				unix.MADV_DONTNEED)
		}
		return
	}
}

// isLarge reports whether there may be manyBytes to read under path. What cannot be looked at
// counts for little: whoever reads it says why.
func isLarge(path string) bool {
	size := int64(0)
	_ = filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		here := int64(0)
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			here = info.Size()
		}
		if size += max(here, fileBytes); size >= manyBytes {
			return filepath.SkipAll
		}
		return nil
	})
	return size >= manyBytes
}
