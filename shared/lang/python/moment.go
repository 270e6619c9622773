package python

import (
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// procDir is where Linux describes processes. Other systems lack it, and reads there find nothing.
const procDir = "/proc"

// moment is a time that the guard compares the start of daemons with. The system records the start
// of a process in hundredths of a second, and many runs fit into one hundredth. Within one
// hundredth the process ids decide, since the system assigns them in ascending order.
type moment struct {
	hundredths int64 // since the boot of the system
	last       int   // the latest process id; 0: not known
}

// never is later than any moment.
var never = moment{hundredths: math.MaxInt64}

// now returns the current moment.
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

// procFields returns the fields of a file in procDir; none if the file cannot be read.
func procFields(name string) []string {
	text, _ := os.ReadFile(filepath.Join(procDir, name))
	return strings.Fields(string(text))
}
