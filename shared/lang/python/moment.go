package python

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// procDir is where Linux tells of processes. Other systems do not have it, and tell nothing here.
const procDir = "/proc"

// moment is a time to which the guard compares daemons. Many runs begin and end within a hundredth
// of a second, which is all that the system tells of when a process was started. Those of one
// hundredth are told apart by their numbers, which are given in turn.
type moment struct {
	hundredths int64 // since the system was started
	last       int   // the number that was given last; 0: not known
}

// never is a moment that does not come.
var never = moment{hundredths: math.MaxInt64}

// now returns the moment that it is.
func now() (m moment) {
	if f := procFields("uptime"); len(f) > 0 {
		seconds, _ := strconv.ParseFloat(f[0], 64)
		m.hundredths = int64(math.Round(seconds * 100))
	}
	const last = 4
	if f := procFields("loadavg"); len(f) > last {
		m.last, _ = strconv.Atoi(f[last])
	}
	return m
}

// procFields returns the fields of a file of the system; none where it cannot be read.
func procFields(name string) []string {
	text, _ := os.ReadFile(filepath.Join(procDir, name))
	return strings.Fields(string(text))
}
