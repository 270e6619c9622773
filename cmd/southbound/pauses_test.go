package main_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"southbound/shared/child"
	"southbound/shared/transport/ssh/sshtest"
)

var (
	pauseRounds = flag.Int("pauses", 1, "how often each job of TestPauses runs")
	pauseSeed   = flag.Uint64("pause-seed", 1, "the seed of the first round of TestPauses")
	pauseLong   = flag.Duration("pause-longest", 3500*time.Millisecond,
		"the longest pause of TestPauses; a client waits 20s for a server that is suspended alone")
)

// paused runs programs whose processes are stopped and continued at random.
type paused struct {
	*testing.T
	bin, dir string
	env      []string
	seed     uint64
	also     func() []int // further processes, which are always paused with the program
}

// start starts a command and pauses it until it has ended. The result waits for that.
func (p *paused) start(args ...string) (cmd *exec.Cmd, wait func() (string, int)) {
	p.Helper()
	var out bytes.Buffer
	cmd = exec.Command(p.bin, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &out, &out
	cmd.Env = append(os.Environ(), p.env...)
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.Context())
	var pauses sync.WaitGroup
	p.seed++
	rnd := rand.New(rand.NewPCG(p.seed, 0))
	pauses.Go(func() { p.pause(ctx, rnd, cmd.Process.Pid) })
	return cmd, func() (string, int) {
		p.Helper()
		err := cmd.Wait()
		cancel()
		pauses.Wait()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			p.Fatal(err)
		}
		return out.String(), cmd.ProcessState.ExitCode()
	}
}

const (
	mostPauses = 6 // of one command, which ends then
	betweenMS  = 250
)

// pause stops the program, or all processes of it, or one of its children, again and again.
func (p *paused) pause(ctx context.Context, rnd *rand.Rand, program int) {
	for range mostPauses {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Duration(rnd.IntN(betweenMS)) * time.Millisecond):
		}
		pids := p.processes(program)
		switch some := rnd.IntN(4); {
		case p.also != nil:
		case some == 0:
			pids = pids[:1]
		case some == 1 && len(pids) > 1:
			i := 1 + rnd.IntN(len(pids)-1)
			pids = pids[i : i+1]
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGSTOP)
		}
		// A moment, longer than the shortest limits, and longer than those that the jobs set.
		length := []time.Duration{*pauseLong / 150, *pauseLong / 3, *pauseLong}[rnd.IntN(3)]
		select {
		case <-ctx.Done():
		case <-time.After(length):
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// processes returns the program and all that it has started, and the other processes of the job.
func (p *paused) processes(program int) []int {
	all := child.Processes()
	roots := []int{program}
	if p.also != nil {
		roots = append(roots, p.also()...)
	}
	var out []int
	for _, root := range roots {
		for _, one := range child.Family(root, all) {
			if one.PID != program && !one.Ended() {
				out = append(out, one.PID)
			}
		}
	}
	return append([]int{program}, out...)
}

// run runs a command to its end and expects an exit code.
func (p *paused) run(code int, args ...string) string {
	p.Helper()
	_, wait := p.start(args...)
	out, is := wait()
	if is != code {
		p.Errorf("southbound %s: exit code %d, expected %d\n%s", strings.Join(args, " "), is, code, out)
	}
	return out
}

// write writes a file, in which DIR stands for the directory of the job.
func (p *paused) write(name, text string) {
	p.Helper()
	text = strings.ReplaceAll(text, "DIR", p.dir)
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

// is expects the content of a file.
func (p *paused) is(name, want string) {
	p.Helper()
	if b, err := os.ReadFile(filepath.Join(p.dir, name)); string(b) != want {
		p.Errorf("%s: %v: %q, expected %q", name, err, b, want)
	}
}

// TestPauses pins that no verdict comes from a wall clock: jobs whose processes are stopped and
// continued at random, for longer than the limits in use, end as without that. A failed round is
// repeated with its seed.
func TestPauses(t *testing.T) {
	t.Parallel()
	bin := build(t)
	for name, job := range map[string]func(*paused){
		"compile": pausedCompile, "host": pausedHost, "leases": pausedLeases,
		"signals": pausedSignals, "orders": pausedOrders, "api": pausedAPI, "http": pausedHTTP,
		"ssh": pausedSSH,
	} {
		for round := range *pauseRounds {
			seed := *pauseSeed + uint64(round)
			t.Run(fmt.Sprintf("%s-%d", name, seed), func(t *testing.T) {
				t.Parallel()
				job(&paused{T: t, bin: bin, dir: t.TempDir(), seed: seed * 1000})
			})
		}
	}
}

// pausedCompile compiles a model with expressions that take long.
func pausedCompile(p *paused) {
	p.write("main.cf", strings.ReplaceAll(`
import std
typedef word as string matching /^(a|b)*c?$/
typedef odd as string matching /^(?=(a+))\1b?$/
entity E:
    word w
    odd o
end
implement E using std::none
for n in std::sequence(300):
    E(w="LONGc", o="aaaaaaaaaab")
end
`, "LONG", strings.Repeat("ab", 5000)))
	p.run(0, "compile", "main.cf")
}

// hostModel has commands with a limit, files and a service's worth of order.
const hostModel = `southbound: 1
agents: {here: {transport: local, lanes: 3}}
defaults: {agent: here}
resources:
`

// pausedHost applies commands whose limit is shorter than the pauses of all, files and drift.
func pausedHost(p *paused) {
	var b strings.Builder
	b.WriteString(hostModel)
	for i := range 6 {
		fmt.Fprintf(&b, "  - {type: exec::Run, attributes: {name: c%d, "+
			"command: [sh, -c, \"sleep 0.2; echo %d >> DIR/log%d\"], creates: DIR/log%d}}\n", i, i, i, i)
		fmt.Fprintf(&b, "  - {type: fs::File, attributes: {path: DIR/f%d, content: \"%d\\n\"}}\n", i, i)
	}
	p.write("site.yaml", b.String())
	p.run(0, "apply", "site.yaml", "--data", "data")
	p.write("f3", "drift")
	p.run(0, "apply", "site.yaml", "--data", "data")
	for i := range 6 {
		p.is(fmt.Sprintf("log%d", i), fmt.Sprintf("%d\n", i))
		p.is(fmt.Sprintf("f%d", i), fmt.Sprintf("%d\n", i))
	}
}

// pausedLeases applies from two programs at once: each command runs once, and both end well.
func pausedLeases(p *paused) {
	var b strings.Builder
	b.WriteString(hostModel)
	for i := range 8 {
		fmt.Fprintf(&b, "  - {type: exec::Run, attributes: {name: c%d, "+
			"command: [sh, -c, \"echo %d >> DIR/log; sleep 0.1; touch DIR/log.%d\"], "+
			"creates: DIR/log.%d}}\n", i, i, i, i)
	}
	p.write("site.yaml", b.String())
	_, first := p.start("apply", "site.yaml", "--data", "data")
	_, second := p.start("apply", "site.yaml", "--data", "data")
	for _, wait := range []func() (string, int){first, second} {
		if out, code := wait(); code != 0 {
			p.Errorf("exit code %d\n%s", code, out)
		}
	}
	b.Reset()
	text, err := os.ReadFile(filepath.Join(p.dir, "log"))
	if err != nil {
		p.Fatal(err)
	}
	lines := slices.Sorted(slices.Values(strings.Fields(string(text))))
	if want := []string{"0", "1", "2", "3", "4", "5", "6", "7"}; !slices.Equal(lines, want) {
		p.Errorf("these commands ran: %v, expected each once", lines)
	}
}

// pausedSignals ends a program while a command runs that does not want to end: nothing of it is left
// when the program has ended.
func pausedSignals(p *paused) {
	for _, name := range []string{"held", "never"} {
		if err := syscall.Mkfifo(filepath.Join(p.dir, name), 0o600); err != nil {
			p.Fatal(err)
		}
	}
	held, err := os.OpenFile(filepath.Join(p.dir, "held"), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = held.Close() }()
	p.write("site.yaml", hostModel+"  - {type: exec::Run, attributes: {name: hang, command: [sh, -c, "+
		"\"trap '' TERM INT HUP; exec 3> DIR/held; touch DIR/runs; while :; do read x < DIR/never; "+
		"done\"]}}\n")
	p.env = []string{"SOUTHBOUND_GRACE=1ms"}
	cmd, wait := p.start("apply", "site.yaml", "--data", "data")
	for {
		if _, err := os.Stat(filepath.Join(p.dir, "runs")); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	for range 2 { // as timeout(1) does
		_ = cmd.Process.Signal(syscall.SIGTERM)
	}
	out, code := wait()
	if code != 130 {
		p.Errorf("exit code %d\n%s", code, out)
	}
	raw, err := held.SyscallConn()
	if err != nil {
		p.Fatal(err)
	}
	_ = raw.Control(func(fd uintptr) {
		if n, err := syscall.Read(int(fd), make([]byte, 1)); n != 0 || err != nil {
			p.Errorf("the command has outlived the program: %d, %v\n%s", n, err, out)
		}
	})
}

// pausedOrders carries out orders.
func pausedOrders(p *paused) {
	if err := os.Mkdir(filepath.Join(p.dir, "tree"), 0o700); err != nil {
		p.Fatal(err)
	}
	p.write("main.cf", strings.ReplaceAll(sites, "ROOT", filepath.Join(p.dir, "tree")))
	p.run(0, "service", "export", "main.cf", "--data", "data")
	p.write("order.yaml", "- {action: create, service_entity: site, attributes: {name: a}}\n"+
		"- {action: create, service_entity: site, attributes: {name: b}}\n")
	p.run(0, "service", "order", "-f", "order.yaml", "--wait", "--data", "data")
	p.is("tree/a", "site a\n")
	p.is("tree/b", "site b\n")
}

// pausedAPI applies over the API of a server that is paused, too.
func pausedAPI(p *paused) {
	data := filepath.Join(p.dir, "served")
	said := &said{}
	server := exec.Command(p.bin, "run", "--listen", "127.0.0.1:0", "--data", data)
	server.Stderr, server.Dir = said, p.dir
	if err := server.Start(); err != nil {
		p.Fatal(err)
	}
	ctx, cancel := context.WithCancel(p.Context())
	var pauses sync.WaitGroup
	defer func() {
		cancel()
		pauses.Wait()
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	}()
	said.wait("the token is in")
	at := regexp.MustCompile(`listening on (http://[^;]+);`).FindStringSubmatch(said.String())[1]
	rnd := rand.New(rand.NewPCG(p.seed, 1))
	pauses.Go(func() { p.pause(ctx, rnd, server.Process.Pid) })
	p.write("site.yaml", hostModel+"  - {type: fs::File, attributes: {path: DIR/f, content: \"x\\n\"}}\n"+
		"  - {type: exec::Run, attributes: {name: c, command: [sh, -c, \"sleep 0.3; echo x >> DIR/log\"], "+
		"creates: DIR/log}}\n")
	p.run(0, "apply", "site.yaml", "--api", at, "--data", data)
	p.run(0, "status", "--api", at, "--data", data)
	p.is("f", "x\n")
	p.is("log", "x\n")
}

// pausedHTTP makes an object in an API that answers within the limit.
func pausedHTTP(p *paused) {
	var mu sync.Mutex
	have := map[string][]byte{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(100 * time.Millisecond)
		var body bytes.Buffer
		_, _ = body.ReadFrom(r.Body)
		mu.Lock()
		defer mu.Unlock()
		switch r.Method {
		case http.MethodPut:
			have[r.URL.Path] = body.Bytes()
		case http.MethodGet:
			if have[r.URL.Path] == nil {
				w.WriteHeader(http.StatusNotFound)
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(have[r.URL.Path])
	}))
	defer server.Close()
	p.write("site.yaml", fmt.Sprintf(`southbound: 1
agents: {api: {transport: http, url: "%s/", timeout: 1, retry: 0}}
defaults: {agent: api}
resources:
  - {type: http::Object, attributes: {name: a, path: /things/a, body: {n: 1}}}
  - {type: http::Object, attributes: {name: b, path: /things/b, body: {n: 2}}}
`, server.URL))
	p.run(0, "apply", "site.yaml", "--data", "data")
	mu.Lock()
	defer mu.Unlock()
	if len(have) != 2 {
		p.Errorf("the API has %q", have)
	}
}

// pausedSSH applies over ssh. Both ends of the connection stop and go on together, for longer than
// each waits for the other.
func pausedSSH(p *paused) {
	server := sshtest.Start(p.T, sshtest.Self(p.T), "")
	p.also = server.Running
	o := server.Options()
	p.write("site.yaml", fmt.Sprintf(`southbound: 1
agents: {m: {transport: ssh, host: %s, port: %d, user: %s, key_file: %s, host_key: "%s",
  program: %s, connect_timeout: 2, keep_alive: 1}}
defaults: {agent: m}
resources:
  - {type: fs::File, attributes: {path: DIR/f, content: "x\n"}}
  - {type: exec::Run, attributes: {name: c, command: [sh, -c, "sleep 0.3; echo x >> DIR/log"], creates: DIR/log}}
`, o["host"], o["port"], o["user"], o["key_file"], o["host_key"], p.bin))
	p.run(0, "apply", "site.yaml", "--data", "data")
	p.is("f", "x\n")
	p.is("log", "x\n")
}
