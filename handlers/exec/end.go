package exec

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// end kills a command with all that it started: its process group, and those that descend from it
// in groups or sessions of their own, as timeout(1) and setsid(1) make them. They are stopped until
// no more are found, so that none starts another one unseen. Who has lost the parent by which it
// descends, as a daemon on purpose, and has left the group is not found.
func end(pid int) error {
	stopped := map[int]bool{}
	for more := true; more; {
		more = false
		for _, p := range descendants(pid) {
			if !stopped[p] {
				stopped[p], more = true, true
				// what has ended meanwhile, or may not be stopped, is left
				_ = syscall.Kill(p, syscall.SIGSTOP)
			}
		}
	}
	err := syscall.Kill(-pid, syscall.SIGKILL)
	for p := range stopped {
		_ = syscall.Kill(p, syscall.SIGKILL)
	}
	return err
}

// descendants returns a child of this process and all processes that descend from it; none where
// the system does not show its processes.
func descendants(pid int) []int {
	parents := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		if id, parent, ok := parentOf(file); ok {
			parents[id] = parent
		}
	}
	if parents[pid] != os.Getpid() {
		return nil
	}
	var out []int
	for id := range parents {
		at := id
		for n := 0; at != pid && at != 0 && n <= len(parents); n++ {
			at = parents[at]
		}
		if at == pid {
			out = append(out, id)
		}
	}
	return out
}

// parentOf reads a process and its parent from its stat file: "7 (name, of any characters) S 1
// ...".
func parentOf(file string) (id, parent int, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, false // it has ended
	}
	rest := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(rest) < 2 {
		return 0, 0, false
	}
	id, err = strconv.Atoi(filepath.Base(filepath.Dir(file)))
	if err != nil {
		return 0, 0, false
	}
	parent, err = strconv.Atoi(rest[1])
	return id, parent, err == nil
}
