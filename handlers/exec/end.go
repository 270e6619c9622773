package exec

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// end kills a command with all that it started: its process group, and those that descend from it
// in groups or sessions of their own, as timeout(1) and setsid(1) make them. They are stopped until
// all stand still and no more are found, so that none starts another one unseen: one that was told
// to stop in the middle of that still does. Children are killed before their parents: the system has
// a group whose last parent is gone go on. Who has lost the parent by which it descends, as a daemon
// on purpose, and has left the group is not found.
func end(pid int) error {
	stopped, depth := map[int]bool{}, map[int]int{}
	still := false // all that were found before stood still then
	for began := time.Now(); time.Since(began) < stopLimit; {
		more, moving := false, false
		for p, d := range descendants(pid) {
			obeys, known := stopped[p]
			depth[p] = d.depth
			if !known {
				// what has ended meanwhile, or may not be stopped, is left
				stopped[p], more = syscall.Kill(p, syscall.SIGSTOP) == nil, true
			}
			moving = moving || obeys && !strings.Contains("TtZX", d.state)
		}
		if still && !more {
			break
		}
		if still = !more && !moving; moving {
			time.Sleep(time.Millisecond)
		}
	}
	all := slices.SortedFunc(maps.Keys(stopped), func(a, b int) int { return depth[b] - depth[a] })
	for _, p := range all {
		if p != pid { // it is of its group, and once it is killed, it is soon nobody's number
			_ = syscall.Kill(p, syscall.SIGKILL)
		}
	}
	return syscall.Kill(-pid, syscall.SIGKILL)
}

// stopLimit bounds the wait for processes to stop: one that waits for a broken disk does not.
const stopLimit = time.Second

// descendant is a process that descends from another.
type descendant struct {
	depth int // how many processes stand between, and itself
	state string
}

// descendants returns a child of this process and all processes that descend from it; none where
// the system does not show its processes.
func descendants(pid int) map[int]descendant {
	parents, states := map[int]int{}, map[int]string{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		if id, parent, state, ok := parentOf(file); ok {
			parents[id], states[id] = parent, state
		}
	}
	if parents[pid] != os.Getpid() {
		return nil
	}
	out := map[int]descendant{}
	for id := range parents {
		at, n := id, 0
		for ; at != pid && at != 0 && n <= len(parents); n++ {
			at = parents[at]
		}
		if at == pid {
			out[id] = descendant{n, states[id]}
		}
	}
	return out
}

// parentOf reads a process, its parent and its state from its stat file: "7 (name, of any
// characters) S 1 ...".
func parentOf(file string) (id, parent int, state string, ok bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, 0, "", false // it has ended
	}
	rest := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(rest) < 2 {
		return 0, 0, "", false
	}
	id, err = strconv.Atoi(filepath.Base(filepath.Dir(file)))
	if err != nil {
		return 0, 0, "", false
	}
	parent, err = strconv.Atoi(rest[1])
	return id, parent, rest[0], err == nil
}
