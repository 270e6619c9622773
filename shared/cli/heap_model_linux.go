package cli

import (
	"io/fs"
	"path/filepath"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

const (
	// perText is how many bytes the heap has for each of the text of a model, at the least.
	perText = 80
	// maxHuge is what a hundred thousand instances take.
	maxHuge = 192 << 20
	// maxLooked is how many files and directories are looked at for the texts of a model.
	maxLooked = 2000
)

// expectModel prepares the heap if there is much text of a model under path, as expectMuch does,
// for as much as becomes of the text.
func expectModel(path string) {
	size := textSize(path)
	if size < manyBytes {
		return
	}
	// a collection now would find it in use
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	block := make([]byte, min(max(size*perText, hugeHeap), maxHuge))
	_ = unix.Madvise(block, unix.MADV_HUGEPAGE) // without it is only slower
}

// textSize returns how many bytes the texts of a model under path have, or about that where there
// are many other files. Hidden directories, such as that of packages, are not looked into.
func textSize(path string) (size int64) {
	looked := 0
	_ = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if looked++; err != nil || looked > maxLooked {
			return filepath.SkipAll
		}
		switch name := d.Name(); {
		case d.IsDir() && at != path && name[0] == '.':
			return filepath.SkipDir
		case filepath.Ext(name) == ".cf":
			if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
				size += info.Size()
			}
		}
		return nil
	})
	return size
}
