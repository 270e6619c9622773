package cli

import (
	"io/fs"
	"path/filepath"
	"runtime/debug"

	"golang.org/x/sys/unix"
)

const (
	// manyText is how much text of a model there has to be for the heap to be worth preparing.
	manyText = 256 << 10
	// minHuge is what ten thousand instances take.
	minHuge = 64 << 20
	// perText is how many bytes the heap has for each of the text of a model, at the least.
	perText = 80
	// maxHuge is what a hundred thousand instances take.
	maxHuge = 192 << 20
	// maxLooked is how many files and directories are looked at for the texts of a model.
	maxLooked = 2000
)

// expectModel prepares the heap if there is much text of a model under path, for as much as becomes
// of the text. To be given pages of 4 kB, one by one, takes time; where the system is asked to, it
// gives 2 MB at once. Only memory that is allocated can be asked for, so a block is, and left
// untouched to the next collection, which runs soon: then it is what else is allocated from.
//
// Documents are not worth it: what ten thousand resources take is soon given, and in a virtual
// machine, which returns its free huge pages to the host, each is made anew.
func expectModel(path string) {
	size := textSize(path)
	if size < manyText {
		return
	}
	// a collection now would find it in use
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	block := make([]byte, min(max(size*perText, minHuge), maxHuge))
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
