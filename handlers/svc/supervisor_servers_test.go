//go:build servers

package svc

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"southbound/localstack/server"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

// supervised starts a supervisord, and returns the directory with its configuration and how to
// reach it.
func supervised(t *testing.T) (string, supervisor) {
	t.Helper()
	bin, err := exec.LookPath("supervisord")
	if err != nil {
		dir, err := server.Unpack(t.Context(), "supervisor")
		if err != nil {
			t.Fatal(err)
		}
		bin = filepath.Join(dir, "supervisord")
	}
	dir, err := os.MkdirTemp("", "sv") // the name of a socket cannot be long
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	put(t, filepath.Join(dir, "conf"),
		"[unix_http_server]\nfile="+dir+"/sock\n[supervisord]\nnodaemon=true\nlogfile="+dir+
			"/log\npidfile="+dir+"/pid\nchildlogdir="+dir+"\n"+
			"[rpcinterface:supervisor]\n"+
			"supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface\n"+
			"[supervisorctl]\nserverurl=unix://"+dir+"/sock\n[include]\nfiles="+dir+"/*.ini\n")
	cmd := exec.CommandContext(context.Background(), bin, "-c", filepath.Join(dir, "conf"), "-u",
		"root", "-s")
	if os.Getuid() != 0 {
		cmd.Args = cmd.Args[:3]
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it ends all that it has begun
		_ = cmd.Wait()
	})
	s := supervisor{before: []string{"env", "PATH=" + filepath.Dir(bin) + ":" + os.Getenv("PATH")},
		flags: []string{"-c", filepath.Join(dir, "conf")}}
	limit, tick := time.NewTimer(10*time.Minute), time.NewTicker(100*time.Millisecond)
	defer limit.Stop()
	defer tick.Stop()
	for s.lack(providertest.NewHost(nil).Context(t.Context(), provider.Options{})) != "" {
		select {
		case <-tick.C:
		case <-limit.C:
			log, _ := os.ReadFile(filepath.Join(dir, "log"))
			t.Fatalf("supervisord does not start:\n%s", log)
		}
	}
	return dir, s
}

func program(t *testing.T, dir, name, command, more string) {
	t.Helper()
	put(t, filepath.Join(dir, name+".ini"),
		"[program:"+name+"]\ncommand="+command+"\nautorestart=false\n"+more)
}

// TestSupervisor goes through the life of programs of a real supervisord. Each question to it
// begins a Python, so it is not a whole suite.
func TestSupervisor(t *testing.T) {
	t.Parallel()
	dir, s := supervised(t)
	d := provider.Definition{Type: Service().Type, Handler: handler{s}}
	once := func(why string, want diff.Change, attrs map[string]any, purge bool) {
		t.Helper()
		if got := providertest.Once(t.Context(), d, nil, attrs, purge); got.Err != nil ||
			got.Change != want {
			t.Errorf("%s: %q, %v, want %q", why, got.Change, got.Err, want)
		}
	}
	late := map[string]any{"name": "late", "running": true}
	program(t, dir, "late", "sleep 100000", "startsecs=0\nautostart=false\n")
	once("configured since", diff.Created, late, false)
	once("it runs", diff.NoChange, late, false)
	program(t, dir, "dies", "/bin/false", "startsecs=1000\nstartretries=0\nautostart=false\n")
	if got := providertest.Once(t.Context(), d, nil,
		map[string]any{"name": "dies", "running": true}, false); got.Err == nil ||
		!strings.Contains(got.Err.Error(), "dies: ERROR (") {
		t.Errorf("one that ends at once: %v", got.Err)
	}
	comesTo(t, dir, s)
	note := filepath.Join(dir, "note")
	program(t, dir, "late", "sh -c 'echo new > "+note+"; exec sleep 100000'",
		"startsecs=0\nautostart=false\n")
	ctx, _, r := thing(t, map[string]any{"name": "late", "running": true, "on_change": "restart"})
	if err := (handler{s}).Reload(ctx, provider.ReadRequest{Resource: r}); err != nil {
		t.Error(err)
	}
	(&machine{}).until(t, "what is configured now", func() bool { return exists(note) })
	once("purged", diff.Purged, late, true)
	once("and gone", diff.NoChange, late, true)
}

// comesTo is about programs that are on their way already, which supervisorctl calls started: what
// becomes of them counts.
func comesTo(t *testing.T, dir string, s supervisor) {
	t.Helper()
	end := filepath.Join(dir, "end")
	program(t, dir, "slow", "sh -c 'until test -e "+end+"; do sleep 0.05; done; exit 3'",
		"startsecs=1000\nstartretries=0\nautostart=true\n")
	program(t, dir, "fails", "/bin/false", "startsecs=1000\nstartretries=1000000\nautostart=true\n")
	if _, err := s.refresh(t.Context(), nil); err != nil { // which begins them
		t.Fatal(err)
	}
	logged := func(text string) {
		t.Helper()
		(&machine{}).until(t, text, func() bool {
			log, err := os.ReadFile(filepath.Join(dir, "log"))
			return err == nil && strings.Contains(string(log), text)
		})
	}
	logged("exited: fails")
	if err := s.start(t.Context(), "fails"); err == nil ||
		!strings.HasPrefix(err.Error(), "it was started and does not stay up: BACKOFF") {
		t.Errorf("one that ends each time: %v", err)
	}
	s.wait = time.Millisecond
	if err := s.start(t.Context(), "slow"); !errors.As(err, &errBusy{}) {
		t.Errorf("one that is on its way: %v", err)
	}
	put(t, end, "")
	logged("slow entered FATAL state")
	known, err := s.status(t.Context())
	if _, ended := begun([]byte("1"), known["slow"]); err != nil || ended == nil ||
		!strings.Contains(ended.Error(), "does not stay up: FATAL") {
		t.Errorf("one that ended between two calls: %v, %v", ended, err)
	}
	if err := s.stop(t.Context(), "fails"); err != nil {
		t.Error(err)
	}
}
