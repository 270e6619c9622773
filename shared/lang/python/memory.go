package python

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"southbound/shared/child"
)

// lookEvery is the interval at which the memory of a busy process is measured. Its descendants are
// measured every familyEvery-th time, since that scans all processes of the system.
const (
	lookEvery   = 200 * time.Millisecond
	familyEvery = 5
)

// watch stops the process if it exceeds its memory limit during a task.
func (c *process) watch() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for looks := 1; ; looks++ {
		select {
		case <-c.exited:
			return
		case <-tick.C:
		}
		what := c.doing.Load()
		if what == nil {
			continue
		}
		if held := c.memory(); held > c.most {
			c.stop(fmt.Sprintf("%s held %d MiB of memory, and %d MiB is the most",
				*what, held>>20, c.most>>20))
			return
		}
		if looks%familyEvery != 0 {
			continue
		}
		if held, n := c.familyMemory(); held > c.most {
			c.stop(
				fmt.Sprintf("%s and the %d processes that it started held %d MiB of memory, and "+
					"%d MiB is the most", *what, n, held>>20, c.most>>20))
			return
		}
	}
}

// memory returns how many bytes of memory the process holds; 0 if that is not known.
func (c *process) memory() int64 {
	p, _ := child.Find(int(c.pid.Load()))
	return p.Held
}

// familyMemory returns how many bytes the process and its descendants hold, and the number of
// descendants.
func (c *process) familyMemory() (held int64, started int) {
	guard, own := c.group.PID(), int(c.pid.Load())
	family := slices.DeleteFunc(child.Family(guard, child.Processes()),
		func(p child.Process) bool { return p.PID == guard || p.Ended() })
	for _, p := range family {
		held += p.Held
		if p.PID != own {
			started++
		}
	}
	if held <= c.most || started == 0 {
		return held, started
	}
	held = 0 // count pages that forks share once
	for _, p := range family {
		held += share(p)
	}
	return held, started
}

// share returns the proportional set size of a process: each shared page counts in part.
func share(p child.Process) int64 {
	f, err := os.Open(filepath.Join(procDir, strconv.Itoa(p.PID), "smaps_rollup"))
	if err != nil {
		return p.Held
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "Pss:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10
		}
	}
	return p.Held
}
