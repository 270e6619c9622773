package cli_test

import (
	"archive/zip"
	"encoding/json"
	"io"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"southbound/handlers"
	"southbound/handlers/tf"
	"southbound/shared/cli"
	"southbound/shared/internal/simtest/deploytest"
)

// concurrent are the scripts in which much happens at the same time. They are all that runs with
// -short, which the phase with the race detector sets: the others add runs of one goroutine.
var concurrent = []string{
	"apply", "compile", "console", "discover", "event", "jobs", "keep", "rolling", "run", "serve", "waves",
}

// scripts returns the scripts to run.
func scripts(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	if !testing.Short() {
		return files
	}
	return slices.DeleteFunc(files, func(f string) bool { return !slices.Contains(concurrent, scriptName(f)) })
}

func scriptName(file string) string { return strings.TrimSuffix(filepath.Base(file), ".txtar") }

func TestMain(m *testing.M) {
	testscript.Main(hangsUp{m}, map[string]func(){
		"southbound": func() {
			bridge, end := tf.Local()
			code := cli.Main(append(handlers.All(), bridge), os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
			end()
			os.Exit(code)
		},
		"leaks": func() { os.Exit(leaks(os.Stdout, os.Args[1:])) },
		"visit": func() { os.Exit(visit(os.Stdout, os.Args[1:])) },
		"demo": func() {
			os.Exit(cli.Main(append(handlers.All(), disks()...), os.Args[1:], os.Stdin, os.Stdout,
				os.Stderr))
		},
	})
}

// hangsUp runs the tests so that what they start is stopped by SIGHUP, also where nohup has this
// process ignore it.
type hangsUp struct{ *testing.M }

// Run implements testscript.TestingM.
func (m hangsUp) Run() int {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	return deploytest.InMemory(m.M)
}

func TestScripts(t *testing.T) {
	t.Parallel()
	p := params("embedded")
	p.Files = scripts(t)
	testscript.Run(t, p)
}

// params are those of a run of scripts; the condition with the name of the home is true. The
// condition stack is true when the server is a deployed stack: it does what is for this machine
// through a runner, which looks at it, too, once the agent has a queue.
func params(home string) testscript.Params {
	return testscript.Params{
		Setup: embedded,
		Condition: func(cond string) (bool, error) {
			return cond == home || cond == "stack" && deployed(), nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"damage":  damage,
			"exits":   exits,
			"expand":  expand,
			"lines":   lines,
			"objects": objects,
			"unzip":   unzip,
		},
	}
}

// embedded makes programs with the race detector end without its usual pause of a second.
func embedded(env *testscript.Env) error {
	env.Setenv("GORACE", "atexit_sleep_ms=0")
	return nil
}

// expand replaces $WORK in files by the script's directory.
func expand(ts *testscript.TestScript, _ bool, args []string) {
	for _, name := range args {
		text := strings.ReplaceAll(ts.ReadFile(name), "$WORK", ts.Getenv("WORK"))
		ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
	}
}

// unzip writes all that is in a zip file, decompressed, into one file: unzip FILE INTO.
func unzip(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: unzip FILE INTO")
	}
	z, err := zip.OpenReader(ts.MkAbs(args[0]))
	ts.Check(err)
	defer func() { _ = z.Close() }()
	zstds, err := zstd.NewReader(nil)
	ts.Check(err)
	defer zstds.Close()
	var all []byte
	for _, f := range z.File {
		r, err := f.Open()
		ts.Check(err)
		b, err := io.ReadAll(io.LimitReader(r, 1<<20))
		ts.Check(err)
		if plain, err := zstds.DecodeAll(b, nil); err == nil {
			b = plain
		}
		all = append(append(all, b...), '\n')
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), all, 0o600))
}

// exits runs a command and wants an exit code: exits 3 southbound apply site.yaml.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if e, ok := err.(interface{ ExitCode() int }); ok { // it is the error itself
		code = itoa(e.ExitCode())
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

// lines checks what the last command wrote: every line is a JSON object with exactly these members,
// and there is one: lines id type agent. A member a.b is that of an object, or of every item of a
// list, within.
func lines(ts *testscript.TestScript, neg bool, args []string) {
	out := strings.TrimSpace(ts.ReadFile("stdout"))
	if neg || len(args) == 0 || out == "" {
		ts.Fatalf("usage: lines MEMBER...; the output is %q", out)
	}
	slices.Sort(args)
	for line := range strings.Lines(out) {
		var v map[string]any
		ts.Check(json.Unmarshal([]byte(line), &v))
		want := slices.Clone(args)
		if name, within, _ := strings.Cut(args[0], "."); within != "" {
			for i := range want {
				want[i] = strings.TrimPrefix(want[i], name+".")
			}
			checkMembers(ts, v[name], want)
			continue
		}
		checkMembers(ts, v, want)
	}
}

func checkMembers(ts *testscript.TestScript, v any, want []string) {
	switch v := v.(type) {
	case []any:
		if len(v) == 0 {
			ts.Fatalf("the list is empty")
		}
		for _, e := range v {
			checkMembers(ts, e, want)
		}
	case map[string]any:
		if got := slices.Sorted(maps.Keys(v)); !slices.Equal(got, want) {
			ts.Fatalf("members %v, want %v", got, want)
		}
	default:
		ts.Fatalf("%v has no members", v)
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + string(rune('0'+n%10))
}
