package python

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// lookEvery is how often it is looked how much memory a process holds while it works.
const lookEvery = 200 * time.Millisecond

// bound ends the process if it holds more memory than it may while it does something. What it
// returns ends that.
func (h *Host) bound(what string) (end func()) {
	if h.o.Memory <= 0 {
		return func() {}
	}
	over := make(chan struct{})
	go func() {
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-over:
				return
			case <-h.exited:
				return
			case <-tick.C:
			}
			if held := h.memory(); held > h.o.Memory {
				h.stop(fmt.Sprintf("%s held %d MiB of memory, and %d MiB is the most",
					what, held>>20, h.o.Memory>>20))
				return
			}
		}
	}()
	return func() { close(over) }
}

// memory returns how many bytes of memory the process holds; 0 if that cannot be told.
func (h *Host) memory() int64 {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(h.cmd.Process.Pid) + "/statm")
	fields := strings.Fields(string(b))
	if err != nil || len(fields) < 2 {
		return 0
	}
	pages, _ := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
