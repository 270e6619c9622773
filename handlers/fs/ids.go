package fs

import (
	"io/fs"
	"syscall"
)

// idsOf returns the owner and group of a thing, -1 if they are unknown.
func idsOf(info fs.FileInfo) (uid, gid int) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), int(st.Gid)
	}
	return -1, -1
}
