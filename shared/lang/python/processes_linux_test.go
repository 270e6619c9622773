package python

import (
	"os/exec"
	"slices"
	"testing"
)

// TestNow holds that the system tells what moments are made of.
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
	all := processes()
	at := slices.IndexFunc(all, func(p process) bool { return p.pid == cmd.Process.Pid })
	if at < 0 {
		t.Fatal("the process is not among them")
	}
	if p := all[at]; p.before(before) || !p.before(after) {
		t.Errorf("%+v was started between %+v and %+v", p, before, after)
	}
}
