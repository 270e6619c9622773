package ssh_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"southbound/handlers/exec"
	"southbound/handlers/fs"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/transport/remote"
	"southbound/shared/transport/ssh"
	"southbound/shared/transport/ssh/sshtest"
)

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// scene is a machine behind a line that is cut, and what is to be there.
type scene struct {
	t       *testing.T
	dir     string
	options map[string]any
	own     *ssh.Sessions
	host    *providertest.Host
	items   []provider.BatchChange // files
	command provider.Resource      // adds a line to a file
	large   provider.Resource      // an uploaded file
}

func newScene(t *testing.T, s *server, p *proxy, more ...any) *scene {
	t.Helper()
	c := &scene{t: t, dir: t.TempDir(), own: sessions(t), host: providertest.NewHost(nil)}
	c.options = s.Options(append([]any{"port", p.port, "directory", shared}, more...)...)
	for i := range 50 {
		c.items = append(c.items, c.change("fs::File",
			map[string]any{"path": filepath.Join(c.dir, "f"+strconv.Itoa(i)),
				"content": strings.Repeat(itoa(int64(i)), 400), "mode": "0600"}))
	}
	c.command = c.change("exec::Run",
		map[string]any{"name": "once", "command": "echo run >> " + filepath.Join(c.dir, "ran"),
			"timeout": int64(600)}).Resource
	c.large = c.change("fs::File",
		map[string]any{"path": filepath.Join(c.dir, "large"),
			"content": c.host.AddFile(noise(256 << 10))}).Resource
	return c
}

func (c *scene) change(typ string, attributes map[string]any) provider.BatchChange {
	r := provider.Resource{ID: "test::X[a,path=x]", Type: typ, Agent: "a", Attributes: attributes}
	return provider.BatchChange{Context: c.host.Context(c.t.Context(),
		provider.Options{ID: r.ID, Desired: r}), Change: diff.Created, Resource: r}
}

// noise is what nothing packs.
func noise(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(b)
	return b
}

// bring does what is missing, once: what is there is read first. It returns what went wrong.
func (c *scene) bring() []error {
	conn, err := c.own.Connect(c.t.Context(), c.options)
	if err != nil {
		return []error{err}
	}
	defer conn.Close()
	var errs []error
	files, runs := forwarded(c.t, conn, fs.File()).Handler, forwarded(c.t, conn, exec.Run()).Handler
	reads := make([]provider.BatchRead, len(c.items))
	for i, it := range c.items {
		reads[i] = provider.BatchRead{Context: it.Context,
			ReadRequest: provider.ReadRequest{Resource: it.Resource}}
	}
	var todo []provider.BatchChange
	for i, r := range files.(provider.BatchReader).ReadBatch(c.t.Context(), reads) {
		if r.Err != nil {
			errs = append(errs, r.Err)
		} else if !r.Observation.Exists {
			todo = append(todo, c.items[i])
		}
	}
	if len(todo) > 0 {
		for _, a := range files.(provider.BatchApplier).ApplyBatch(c.t.Context(), todo) {
			if a.Err != nil {
				errs = append(errs, a.Err)
			}
		}
	}
	again := c.change("fs::File", c.large.Attributes)
	if obs, err := files.Read(again.Context, provider.ReadRequest{Resource: c.large}); err != nil {
		errs = append(errs, err)
	} else if !obs.Exists {
		if _, err := files.Create(again.Context,
			provider.CreateRequest{Resource: c.large}); err != nil {
			errs = append(errs, err)
		}
	}
	if _, err := os.Stat(filepath.Join(c.dir, "done")); err != nil {
		if _, err := runs.Create(again.Context,
			provider.CreateRequest{Resource: c.command}); err != nil {
			return append(errs, err)
		}
		write(c.t, filepath.Join(c.dir, "done"), "", 0o600)
	}
	return errs
}

// checkEnd checks that all is there, nothing else is, and the command ran as often as it was
// called.
func (c *scene) checkEnd(limit int) {
	c.t.Helper()
	entries, err := os.ReadDir(c.dir)
	if err != nil || len(entries) != len(c.items)+3 {
		c.t.Errorf("%d things in the directory, %v: %v", len(entries), err, entries)
	}
	for _, it := range c.items {
		path, _ := it.Resource.Attributes["path"].(string)
		if text, err := os.ReadFile(path); err != nil ||
			string(text) != it.Resource.Attributes["content"] {
			c.t.Errorf("%s: %d bytes, %v", path, len(text), err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(c.dir, "large")); err != nil ||
		!bytes.Equal(text, noise(256<<10)) {
		c.t.Errorf("the large file: %d bytes, %v", len(text), err)
	}
	if text, _ := os.ReadFile(filepath.Join(c.dir, "ran")); len(text) < 4 || len(text) > 4*limit {
		c.t.Errorf("the command ran %d times, expected 1 to %d", len(text)/4, limit)
	}
}

// TestCutAnywhere cuts the line at many points of what goes over it, each way: what fails may pass,
// and the next time all is there.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	s := start(t, sshtest.Self(t))
	line := interpose(t, s, nil)
	whole := newScene(t, s, line)
	if errs := whole.bring(); len(errs) > 0 {
		t.Fatal(errs)
	}
	whole.checkEnd(1)
	up, down := line.counted()
	for _, c := range []struct {
		why   string
		where way
		first int64
		last  int64
	}{
		{"in the login and the first questions", there, 1, 12 << 10},
		{"in what is sent", there, 12 << 10, up},
		{"in what comes back", back, 1, down},
	} {
		const points = 3
		for n := range int64(points) {
			at := c.first + (c.last-c.first)*n/points
			t.Run(fmt.Sprintf("%s, at %d", c.why, at), func(t *testing.T) {
				t.Parallel()
				scene := newScene(t, s, interpose(t, s, cut(c.where, at, sever)))
				for _, err := range scene.bring() {
					if !fault.Is(err, fault.Unavailable) ||
						provider.ClassOf(err) != provider.Retryable {
						t.Errorf("%v: %q, %q", err, fault.KindOf(err), provider.ClassOf(err))
					}
				}
				scene.own = sessions(t) // that it could not connect is remembered for a while
				if errs := scene.bring(); len(errs) > 0 {
					t.Errorf("the second time: %v", errs)
				}
				scene.checkEnd(2)
			})
		}
	}
}

// TestCutUpload cuts the line while the program itself is uploaded, by closing it and by forgetting
// all that is sent: the next try comes to an end, and leaves nothing else, not even of what has not
// noticed yet.
func TestCutUpload(t *testing.T) {
	t.Parallel()
	s := start(t, sshtest.Self(t))
	programs := remote.Programs{Self: filepath.Join(t.TempDir(), "large")}
	script, err := os.ReadFile(filepath.Join(small.Dir,
		"southbound-"+runtime.GOOS+"-"+runtime.GOARCH))
	if err != nil {
		t.Fatal(err)
	}
	write(t, programs.Self, string(script)+"exit\n"+string(noise(1<<20)), 0o700)
	var wait sync.WaitGroup // side by side: most of it is waiting
	for _, c := range []struct {
		at   int64
		what verdict
	}{{20 << 10, sever}, {500 << 10, sever}, {1 << 20, sever}, {100 << 10, vanish},
		{1 << 20, vanish}} {
		dir, line := filepath.Join(t.TempDir(), "programs"),
			interpose(t, s, cut(there, c.at, c.what))
		wait.Go(func() {
			own := &ssh.Sessions{Programs: &programs, Retry: time.Minute}
			defer own.Close()
			began := time.Now()
			conn, err := own.Connect(t.Context(),
				s.Options("port", line.port, "directory", dir, "keep_alive", int64(1)))
			if err != nil {
				t.Errorf("cut at %d: %v", c.at, err)
				return
			}
			defer conn.Close()
			if took := time.Since(began); c.what == vanish &&
				(took < 2*time.Second || took > 5*time.Minute) {
				t.Errorf("a line that went silent at %d was replaced after %v", c.at, took)
			}
			entries, err := os.ReadDir(dir)
			if err != nil || len(entries) != 1 ||
				!strings.HasPrefix(entries[0].Name(), "southbound-") {
				t.Errorf("cut at %d: the directory has %v, %v", c.at, entries, err)
			}
			none(t, dir, "southbound-remote ready")
		})
	}
	wait.Wait()
}

// TestCutUnnoticed has a line go silent while a command runs for long, in a way that the machine
// cannot notice as soon as the engine: the command is not run beside itself.
func TestCutUnnoticed(t *testing.T) {
	t.Parallel()
	s, dir := start(t, sshtest.Self(t)), t.TempDir()
	var since atomic.Int64 // when it went silent
	line := interpose(t, s, func(n int, w way, _, _ int64) verdict {
		quiet := time.Since(time.UnixMilli(since.Load()))
		if n > 0 || since.Load() == 0 || w == there && quiet < 2*time.Second {
			return pass
		}
		return vanish
	})
	c := connect(t, sessions(t), s.Options("port", line.port, "directory", shared, "keep_alive",
		int64(1)))
	d := forwarded(t, c, exec.Run())
	ran := func(command string) error {
		r := provider.Resource{ID: "exec::Run[a,name=x]", Type: "exec::Run",
			Attributes: map[string]any{"name": "x", "command": command, "timeout": int64(600)}}
		_, err := d.Handler.Create(providertest.NewHost(nil).
			Context(t.Context(), provider.Options{ID: r.ID}), provider.CreateRequest{Resource: r})
		return err
	}
	first := filepath.Join(dir, "first")
	go func() {
		await(t, first)
		since.Store(time.Now().UnixMilli())
	}()
	began := time.Now()
	err := ran("echo -n $$ > " + first + "; while :; do sleep 600; done")
	if took := time.Since(began); !fault.Is(err, fault.Unavailable) ||
		provider.ClassOf(err) != provider.Retryable || took > 5*time.Minute {
		t.Errorf("%v: %q, %q, after %v", err, fault.KindOf(err), provider.ClassOf(err), took)
	}
	if err := ran("! kill -0 $(cat " + first + ")"); err != nil {
		t.Errorf("the command before still ran when the next one began: %v", err)
	}
}

// none checks that no process has words in its command line.
func none(t *testing.T, words ...string) {
	t.Helper()
	var found []string
	for end := time.Now().Add(5 * time.Minute); time.Now().
		Before(end); <-time.After(20 * time.Millisecond) {
		found = nil
		entries, _ := os.ReadDir("/proc")
		for _, e := range entries {
			line, _ := os.ReadFile(filepath.Join("/proc", e.Name(), "cmdline"))
			if !slices.ContainsFunc(words, func(word string) bool {
				return !bytes.Contains(line, []byte(word))
			}) {
				found = append(found, e.Name())
			}
		}
		if len(found) == 0 {
			return
		}
	}
	t.Errorf("these still run: %v", found)
}
