package python

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// markName is the environment variable by which a process is known that Python code has started,
// also one that has left its session and whose parents have ended.
const markName = "SOUTHBOUND_PYTHON_HOST"

// process is what the system tells of a process.
type process struct {
	pid, parent, group int
	started            int64 // in hundredths of a second since the system was started
	held               int64 // bytes of memory, those that it shares with others among them
}

// is reports whether two are the same process, and not one that got the number of the other.
func (p process) is(q process) bool { return p.pid == q.pid && p.started == q.started }

// procDir is where Linux tells of processes. Other systems do not have it, and tell nothing here.
const procDir = "/proc"

// processes returns all processes.
func processes() []process {
	dir, err := os.Open(procDir)
	if err != nil {
		return nil
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	var out []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if stat, err := os.ReadFile(filepath.Join(procDir, name, "stat")); err == nil {
			if p, ok := parseStat(pid, string(stat)); ok {
				out = append(out, p)
			}
		}
	}
	return out
}

// parseStat reads /proc/PID/stat; false for a process that has ended.
func parseStat(pid int, stat string) (process, bool) {
	name := strings.LastIndexByte(stat, ')') // which may hold anything before
	f := strings.Fields(stat[name+1:])
	const state, parent, group, started, pages = 0, 1, 2, 19, 21
	if name < 0 || len(f) <= pages || f[state] == "Z" || f[state] == "X" {
		return process{}, false
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(f[i], 10, 64)
		return n
	}
	return process{
		pid: pid, parent: int(number(parent)), group: int(number(group)), started: number(started),
		held: number(pages) * int64(os.Getpagesize()),
	}, true
}

// familyOf returns those that a process has started, and itself: its descendants, and all of its
// group.
func familyOf(pid int, all []process) []process {
	in := map[int]bool{pid: true}
	for more := true; more; {
		more = false
		for _, p := range all {
			if !in[p.pid] && (p.group == pid || in[p.parent]) {
				in[p.pid], more = true, true
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p process) bool { return !in[p.pid] })
}

// marked reports whether a process, or the one that it is a fork of, was started with a mark.
func marked(pid int, mark string) bool {
	env, _ := os.ReadFile(filepath.Join(procDir, strconv.Itoa(pid), "environ"))
	return slices.ContainsFunc(bytes.Split(env, []byte{0}), func(v []byte) bool {
		return string(v) == markName+"="+mark
	})
}

// moment is a time to which processes are compared. Many runs begin and end within a hundredth of a
// second, which is all that the system tells of when a process was started. Those of one hundredth
// are told apart by their numbers, which are given in turn.
type moment struct {
	hundredths int64 // since the system was started
	last       int   // the number that was given last; 0: not known
}

// never is a moment that does not come.
var never = moment{hundredths: math.MaxInt64}

// now returns the moment that it is.
func now() *moment {
	var m moment
	if f := procFields("uptime"); len(f) > 0 {
		seconds, _ := strconv.ParseFloat(f[0], 64)
		m.hundredths = int64(math.Round(seconds * 100))
	}
	const last = 4
	if f := procFields("loadavg"); len(f) > last {
		m.last, _ = strconv.Atoi(f[last])
	}
	return &m
}

// procFields returns the fields of a file of the system; none where it cannot be read.
func procFields(name string) []string {
	text, _ := os.ReadFile(filepath.Join(procDir, name))
	return strings.Fields(string(text))
}

// before reports whether a process was started before a moment; nil: none was. Where the numbers of
// processes began anew in the very hundredth, it may take a later one for one from before.
func (p process) before(m *moment) bool {
	if m == nil || p.started != m.hundredths {
		return m != nil && p.started < m.hundredths
	}
	return p.pid <= m.last
}

// mostRounds is how often it is looked for what processes that are about to end have started
// meanwhile.
const mostRounds = 10

// kill ends the process with all that it started. What has left its session is spared when that was
// started before c.since: it is what a run was for that has ended well.
func (c *child) kill() {
	select {
	case <-c.exited: // all this was done, and its number may be that of another
		return
	default:
	}
	pid := c.cmd.Process.Pid
	var family []process // as long as it lives: afterwards nobody knows whose children they were
	if marked(pid, c.mark) {
		family = familyOf(pid, processes())
	}
	for range mostRounds {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
		all := processes()
		left := slices.DeleteFunc(all, func(p process) bool {
			return p.group == pid || p.before(c.began) || p.before(c.since.Load()) ||
				!slices.ContainsFunc(family, p.is) && !marked(p.pid, c.mark)
		})
		if len(left) == 0 {
			return
		}
		for _, p := range left {
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
	}
}
