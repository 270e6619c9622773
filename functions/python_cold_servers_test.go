//go:build servers

package functions_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"southbound/shared/deploy/state"
	"southbound/shared/lang/python/packages"
)

// TestPythonFunctionColdStart deploys a resource by a function that has unpacked no packages yet, and
// logs the CPU time of the parts. docs/design/python-functions.md states the goal.
func TestPythonFunctionColdStart(t *testing.T) {
	w := newPythonWorld(t)
	w.temp = memoryFolder(t)
	packed := w.bundle("release.py", "")
	w.begin()
	w.deploy(w.code("", ""), packed, map[string]any{"text": "hello\n"}, false)
	w.want(state.StatusDeployed, "", "hello\n")
	_ = w.f.cmd.Process.Kill()
	_ = w.f.cmd.Wait()
	whole := cpuTime(w.f.cmd.ProcessState.SysUsage().(*syscall.Rusage))
	unpack, dir := unpacked(t, packed)
	interpreter := w.python(t, dir, "import gc, os; gc.disable()")
	library := w.python(t, dir, "import gc, os; gc.disable(); import inmanta.agent.handler") - interpreter
	t.Logf("a cold start with %d MB of packages takes %v of CPU: %v to unpack them, %v for the "+
		"interpreter, %v to import the library, %v for the function and the first resource",
		packed.Size>>20, whole, unpack, interpreter, library, whole-unpack-interpreter-library)
}

// memoryFolder returns a folder in memory if the system has one that allows programs, else on disk.
// The /tmp of a new function is an empty disk. The file system ext4 does not reuse an inode within
// minutes after its file was removed: after other tests, creating 6,500 files on disk takes up to 3 s
// of CPU time instead of 0.3 s.
func memoryFolder(t *testing.T) string {
	t.Helper()
	const memory, noExec = "/dev/shm", 8
	var s syscall.Statfs_t
	if err := syscall.Statfs(memory, &s); err != nil || s.Flags&noExec != 0 {
		return t.TempDir()
	}
	dir, err := os.MkdirTemp(memory, "southbound-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// unpacked unpacks packages as the function does, and returns the CPU time and the folder.
func unpacked(t *testing.T, packed state.Blob) (time.Duration, string) {
	t.Helper()
	var before, after syscall.Rusage
	s := packages.Store{Dir: memoryFolder(t)}
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := s.Open(t.Context(), packed.Hash, func(context.Context) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(packed.Data)), nil
	})
	if err == nil {
		err = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cpuTime(&after) - cpuTime(&before), dir
}

// python returns the CPU time of a program in Python that finds the packages in a folder. It ends as
// the host does, without freeing the modules.
func (w *pythonWorld) python(t *testing.T, dir, text string) time.Duration {
	t.Helper()
	program, err := os.Readlink(filepath.Join(w.env, "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-X", "utf8", "-c", text+"; os._exit(0)")
	cmd.Dir = w.temp
	cmd.Env = []string{"PYTHONPATH=" + dir, "PYTHONDONTWRITEBYTECODE=1", "PYTHONSAFEPATH=1"}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return cpuTime(cmd.ProcessState.SysUsage().(*syscall.Rusage))
}

// cpuTime returns the CPU time of a process and its descendants, in user mode and in the kernel.
func cpuTime(u *syscall.Rusage) time.Duration {
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
