package child

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Process is the system's information on a process.
type Process struct {
	PID, Parent, Group int
	Started            int64 // hundredths of a second after the start of the system
	Held               int64 // resident memory in bytes, including shared memory
	State              byte  // as in /proc/PID/stat
}

// Is reports whether p and q are the same process, and not two that had the same id in turn.
func (p Process) Is(q Process) bool { return p.PID == q.PID && p.Started == q.Started }

// Ended reports whether a process has ended, and only its parent has not reaped it.
func (p Process) Ended() bool { return p.State == 'Z' || p.State == 'X' }

// still reports whether a process is stopped or has ended.
func (p Process) still() bool { return p.State == 'T' || p.State == 't' || p.Ended() }

// procDir is the directory with the process information of Linux. Other systems do not have it, so
// no process is found there.
const procDir = "/proc"

// Processes returns all processes, including those that have ended and are not reaped.
func Processes() []Process {
	dir, err := os.Open(procDir)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	var out []Process
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := Find(pid); ok {
				out = append(out, p)
			}
		}
	}
	return out
}

// Find returns the process with an id.
func Find(pid int) (Process, bool) {
	stat, err := os.ReadFile(filepath.Join(procDir, strconv.Itoa(pid), "stat"))
	if err != nil {
		return Process{}, false
	}
	return parseStat(pid, string(stat))
}

// parseStat reads /proc/PID/stat: "7 (name, of any characters) S 1 ...".
func parseStat(pid int, stat string) (Process, bool) {
	name := strings.LastIndexByte(stat, ')')
	f := strings.Fields(stat[name+1:])
	const state, parent, group, started, pages = 0, 1, 2, 19, 21
	if name < 0 || len(f) <= pages {
		return Process{}, false
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(f[i], 10, 64)
		return n
	}
	return Process{
		PID: pid, Parent: int(number(parent)), Group: int(number(group)), Started: number(started),
		Held: number(pages) * int64(os.Getpagesize()), State: f[state][0],
	}, true
}

// Family returns the processes of all that belong to a process: itself, its descendants, and its
// group.
func Family(pid int, all []Process) []Process {
	in := map[int]bool{pid: true}
	for more := true; more; {
		more = false
		for _, p := range all {
			if !in[p.PID] && (p.Group == pid || in[p.Parent]) {
				in[p.PID], more = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p Process) bool { return !in[p.PID] })
}
