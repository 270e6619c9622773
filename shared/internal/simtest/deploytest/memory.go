package deploytest

import (
	"flag"
	"fmt"
	"os"
	"syscall"
	"testing"
)

const (
	memory     = "/dev/shm" // the in-memory file system of Linux
	enoughRoom = 2 << 30    // bytes
)

// InMemory runs tests with temporary directories in memory, if there is enough space. Each commit
// of a home on one machine waits for the disk, which takes a third of the time of tests with many
// commits. No test depends on the disk: a test cannot observe the loss of unsynced data. Benchmarks
// use the disk. Call it from TestMain:
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
