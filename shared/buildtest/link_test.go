package buildtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
)

// TestLinkWhileOthersFork starts programs that were copied while other goroutines started processes.
func TestLinkWhileOthersFork(t *testing.T) {
	t.Parallel()
	const program, memory = "/bin/true", "/dev/shm" // on two file systems, so that it is copied
	dir, err := os.MkdirTemp(memory, "southbound-link-")
	if err != nil {
		dir = t.TempDir()
	}
	defer os.RemoveAll(dir)
	ended := make(chan struct{})
	var others sync.WaitGroup
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-ended:
					return
				default:
					_ = exec.CommandContext(t.Context(), program).Run()
				}
			}
		})
	}
	for i := range 100 {
		to := filepath.Join(dir, strconv.Itoa(i))
		if err := link(program, to); err != nil {
			t.Error(err)
			break
		}
		if err := exec.CommandContext(t.Context(), to).Run(); err != nil {
			t.Errorf("copy %d: %v", i, err)
			break
		}
	}
	close(ended)
	others.Wait()
}
