package deploytest

import (
	"flag"
	"fmt"
	"os"
	"syscall"
	"testing"
)

const (
	memory     = "/dev/shm" // where Linux has files that are only in memory
	enoughRoom = 2 << 30    // bytes
)

// InMemory runs tests whose temporary directories are in memory, where there is enough room: each
// commit of a home on one machine waits until the disk has it, and a third of the time of tests
// that make many goes into that. Nothing that they pin depends on it: what a disk loses that was
// not written is nothing that a test can see. Benchmarks have the disk. It is what TestMain does:
//
//	func TestMain(m *testing.M) { os.Exit(deploytest.InMemory(m)) }
func InMemory(m *testing.M) int {
	flag.Parse()
	var fs syscall.Statfs_t
	if flag.Lookup("test.bench").Value.String() != "" || syscall.Statfs(memory, &fs) != nil ||
		fs.Bavail*uint64(fs.Bsize) < enoughRoom {
		return m.Run()
	}
	dir, err := os.MkdirTemp(memory, "southbound-test-")
	if err != nil {
		return m.Run()
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	if err := os.Setenv("TMPDIR", dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
