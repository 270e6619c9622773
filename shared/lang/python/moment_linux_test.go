package python

import (
	"os/exec"
	"testing"

	"southbound/shared/child"
)

// TestNow pins that a process was started between the moments before and after it, as the guard
// compares them.
func TestNow(t *testing.T) {
	t.Parallel()
	before := now()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	after := now()
	defer func() { _, _ = in.Close(), cmd.Wait() }()
	p, found := child.Find(cmd.Process.Pid)
	is := func(m moment) bool {
		return p.Started < m.hundredths || p.Started == m.hundredths && p.PID <= m.last
	}
	if !found || is(before) || !is(after) {
		t.Errorf("%+v was started between %+v and %+v", p, before, after)
	}
}
