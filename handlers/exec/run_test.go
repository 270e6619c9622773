package exec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TestConformance runs a command that has its effect once.
func TestConformance(t *testing.T) {
	providertest.Run(t, providertest.Subject{Definition: Run(),
		New: func(dir string, _ *providertest.Host) (providertest.Case, error) {
			file := func(name string) string { return filepath.Join(dir, name) }
			run := func(name string) map[string]any {
				return map[string]any{"name": name, "command": []any{"touch", file(name)},
					"creates": file(name)}
			}
			first := run("a")
			first["command"] = `echo "$TOKEN" >/dev/null && touch ` + file("a")
			first["environment"] = map[string]any{"TOKEN": "s3cr3t"}
			guarded := run("c")
			guarded["unless"], guarded["onlyif"] = "test -e "+file("c"), []any{"true"}
			return providertest.Case{
				Attributes: first,
				Others:     []map[string]any{run("b"), guarded},
				World: func() (string, error) {
					entries, err := os.ReadDir(dir)
					return fmt.Sprint(entries), err
				},
				Vanish:  func() error { return os.Remove(file("a")) },
				Secrets: []string{"s3cr3t"},
				Lasting: true,
			}, nil
		}})
}

// result is what came of one apply.
type result struct {
	host   *providertest.Host
	change diff.Change
	err    error
}

// said returns the output of the command.
func (r result) said() string {
	var parts []string
	for _, line := range r.host.Lines() {
		if s, ok := line.Kwargs["output"].(string); ok {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n")
}

func want(t *testing.T, attrs map[string]any) provider.Resource {
	t.Helper()
	registry, err := schema.NewRegistry(Run().Type)
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := registry.Type("exec::Run")
	attrs["name"] = "test"
	full, problems := typ.Check(attrs)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return provider.Resource{Type: typ.Name, Attributes: full}
}

// apply reads and acts, as the engine does.
func apply(ctx context.Context, t *testing.T, attrs map[string]any) result {
	t.Helper()
	r, out := want(t, attrs), result{host: providertest.NewHost(nil), change: diff.NoChange}
	c := out.host.Context(ctx, provider.Options{})
	obs, err := handler{}.Read(c, provider.ReadRequest{Resource: r})
	if err != nil || obs.Exists {
		out.err = err
		return out
	}
	out.change = diff.Created
	_, out.err = handler{}.Create(c, provider.CreateRequest{Resource: r})
	return out
}

func TestOutput(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "greet")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho \"hello $1\"\n"), 0o700); err != nil {
		// it is to be run
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		why   string
		attrs map[string]any
		want  string
	}{
		{"text is for the shell", map[string]any{"command": "echo a; echo $((1 + 1))"}, "a\n2"},
		{"a list is not for the shell", map[string]any{"command": []any{"echo", "$HOME; a  b", ""}},
			"$HOME; a  b "},
		{"both outputs are kept, in order", map[string]any{"command": "echo a; echo b >&2; echo c"},
			"a\nb\nc"},
		{"its input is empty", map[string]any{"command": "cat; read line || echo nothing"},
			"nothing"},
		{"it runs in the root", map[string]any{"command": "pwd"}, "/"},
		{"or where it is told to", map[string]any{"command": "pwd -P", "cwd": "/usr"}, "/usr"},
		{"a program by a relative path is in that directory",
			map[string]any{"command": []any{"./greet", "x"}, "cwd": dir}, "hello x"},
		{"a program is looked for in the PATH that it gets",
			map[string]any{"command": []any{"greet", "y"},
				"environment": map[string]any{"PATH": dir + ":/bin:/usr/bin"}}, "hello y"},
		{"whose parts may be relative", map[string]any{"command": []any{"greet", "z"}, "cwd": "/",
			"environment": map[string]any{"PATH": "/bin:" + dir[1:]}}, "hello z"},
		{"the environment is small",
			map[string]any{"command": "env | grep -v -e ^HOME= -e ^USER= -e ^LOGNAME= -e ^PWD= " +
				"-e ^SHLVL= -e ^OLDPWD= -e ^_= | sort"},
			"LANG=C.UTF-8\nPATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
		{"and can be added to", map[string]any{"command": `echo "$A$B"`,
			"environment": map[string]any{"A": "1 '\"$", "B": "\n2"}}, "1 '\"$\n2"},
		{"it has a home", map[string]any{"command": "env | grep ^HOME="}, "HOME=" + me.HomeDir},
		{"what is not text is shown all the same", map[string]any{"command": `printf 'a\377b\n'`},
			"a?b"},
		{"another exit code may mean success", map[string]any{"command": "echo fine; exit 3",
			"returns": []any{int64(0), int64(3)}}, "fine"},
		{"the umask is set", map[string]any{"command": []any{"sh", "-c", "umask"}, "umask": "0027"},
			"0027"},
		{"arguments pass the umask as they are",
			map[string]any{"command": []any{"printf", "%s|", "a b", "$c", "-d"}, "umask": "0027"},
			"a b|$c|-d|"},
		{"the user that this runs as is not another",
			map[string]any{"command": "id -u", "user": strconv.Itoa(os.Getuid())},
			strconv.Itoa(os.Getuid())},
		{"what goes on in the background does not hold it up",
			map[string]any{"command": "(trap '' HUP; exec sleep 30) & echo on"}, "on"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got := apply(t.Context(), t, tc.attrs)
			if got.err != nil || got.change != diff.Created {
				t.Fatalf("it did %q: %v\n%s", got.change, got.err, got.host.Output())
			}
			if d := cmp.Diff(tc.want, got.said()); d != "" {
				t.Fatal(d)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	dir := t.TempDir()
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "#!/bin/sh\n", 0o600)
	for _, tc := range []struct {
		why   string
		attrs map[string]any
		class provider.Class
		text  string
	}{
		{"it fails", map[string]any{"command": "echo first; echo why >&2; exit 7"},
			provider.Retryable, "the command ended with exit code 7: why"},
		{"0 may mean failure", map[string]any{"command": "true", "returns": []any{int64(1)}},
			provider.Retryable, "exit code 0"},
		{"a signal ends it", map[string]any{"command": "kill -TERM $$"}, provider.Retryable,
			"ended by a signal: signal: terminated"},
		{"there is no such program", map[string]any{"command": []any{"no-such-program"}},
			provider.Retryable, "no-such-program cannot be started: there is no such program"},
		{"nor at a path", map[string]any{"command": []any{"/no/such/program"}}, provider.Retryable,
			"no such program"},
		{"nor with a umask", map[string]any{"command": []any{"no-such-program"}, "umask": "077"},
			provider.Retryable, "no such program"},
		{"it must be executable", map[string]any{"command": []any{plain}}, provider.Terminal,
			"permission denied; it must be executable"},
		{"also in the PATH", map[string]any{"command": []any{"plain"},
			"environment": map[string]any{"PATH": dir}}, provider.Terminal,
			"it must be executable"},
		{"a directory is not a program", map[string]any{"command": []any{dir}}, provider.Terminal,
			"permission denied"},
		{"a script names its interpreter",
			map[string]any{"command": []any{file("bare", "true\n", 0o700)}}, provider.Terminal,
			"a script begins with #!"},
		{"and that exists",
			map[string]any{"command": []any{file("lost", "#!/no/such/sh\n", 0o700)}},
			provider.Retryable, "no interpreter"},
		{"its directory is missing", map[string]any{"command": "true", "cwd": dir + "/none"},
			provider.Retryable, "cannot run in " + dir + "/none"},
		{"its directory is none", map[string]any{"command": "true", "cwd": plain},
			provider.NeedsChange, "which is not a directory"},
		{"there is no such user", map[string]any{"command": "true", "user": "no-such-user"},
			provider.Retryable, `no user "no-such-user"`},
		{"arguments are too long",
			map[string]any{"command": []any{"true", strings.Repeat("x", 4<<20)}},
			provider.NeedsChange, "too long"},
		{"time is up", map[string]any{"command": "echo slow; exec sleep 60", "timeout": int64(1)},
			provider.Retryable, "took longer than 1s and was ended"},
		{"a condition cannot be asked",
			map[string]any{"command": "true", "unless": []any{"no-such-program"}},
			provider.Retryable, "unless: no-such-program"},
		{"a variable cannot be",
			map[string]any{"command": "true", "environment": map[string]any{"A": "s3cr3t\x00"}},
			provider.Retryable, "cannot be started"},
		{"creates cannot be asked",
			map[string]any{"command": "true", "creates": "/" + strings.Repeat("x", 300)},
			provider.Retryable, "creates: "},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got := apply(t.Context(), t, tc.attrs)
			if got.err == nil || provider.ClassOf(got.err) != tc.class ||
				!strings.Contains(got.err.Error(), tc.text) {
				t.Fatalf("%q, %s: %v\nexpected %s with %q", got.change, provider.ClassOf(got.err),
					got.err, tc.class, tc.text)
			}
			if all := got.host.Output() + got.err.Error(); strings.Contains(all, "s3cr3t") {
				t.Fatalf("the environment is shown: %s", all)
			}
		})
	}
}

// TestAnotherUser runs as nobody where this process may, and says who may where it may not.
func TestAnotherUser(t *testing.T) {
	other := "nobody"
	if os.Geteuid() != 0 {
		other = "root"
	}
	got := apply(t.Context(), t, map[string]any{"command": "id -un; echo $HOME $USER; id -gn",
		"user": other})
	if os.Geteuid() != 0 {
		if provider.ClassOf(got.err) != provider.Terminal ||
			!strings.Contains(got.err.Error(), "only the superuser") {
			t.Fatal(got.err)
		}
		return
	}
	if got.err != nil || got.said() != "nobody\n/nonexistent nobody\nnogroup" {
		t.Fatalf("%v, %q", got.err, got.said())
	}
}

func TestConditions(t *testing.T) {
	there := t.TempDir()
	dangling := filepath.Join(there, "dangling")
	if err := os.Symlink("nowhere", dangling); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		why   string
		attrs map[string]any
		want  diff.Change
	}{
		{"without a condition it always runs", map[string]any{}, diff.Created},
		{"unless succeeds", map[string]any{"unless": "true"}, diff.NoChange},
		{"unless fails, with any code", map[string]any{"unless": "exit 2"}, diff.Created},
		{"onlyif succeeds", map[string]any{"onlyif": []any{"true"}}, diff.Created},
		{"onlyif fails", map[string]any{"onlyif": []any{"false"}}, diff.NoChange},
		{"returns is not for conditions",
			map[string]any{"onlyif": "exit 3", "returns": []any{int64(0), int64(3)}},
			diff.NoChange},
		{"creates is there", map[string]any{"creates": there}, diff.NoChange},
		{"creates is not there", map[string]any{"creates": filepath.Join(there, "none")},
			diff.Created},
		{"nor the directory it is in", map[string]any{"creates": filepath.Join(there, "none/none")},
			diff.Created},
		{"a link that leads nowhere is there", map[string]any{"creates": dangling}, diff.NoChange},
		{"all of them have to say so", map[string]any{"creates": filepath.Join(there, "none"),
			"unless": "false", "onlyif": "false"}, diff.NoChange},
		{"reload_only waits for an event", map[string]any{"reload_only": true}, diff.NoChange},
		{"conditions have the environment, the directory and the umask",
			map[string]any{
				"onlyif":      `test "$A" = 1 && test "$(pwd)" = /usr && test "$(umask)" = 0077`,
				"environment": map[string]any{"A": "1"}, "cwd": "/usr", "umask": "077"},
			diff.Created},
	} {
		t.Run(tc.why, func(t *testing.T) {
			tc.attrs["command"] = "true"
			if got := apply(t.Context(), t, tc.attrs); got.err != nil || got.change != tc.want {
				t.Fatalf("it did %q, %v; expected %q", got.change, got.err, tc.want)
			}
		})
	}
}

func TestPurgedDoesNothing(t *testing.T) {
	r := want(t, map[string]any{"command": "exit 1", "unless": "exit 1"})
	r.Purged = true
	c := providertest.NewHost(nil).Context(t.Context(), provider.Options{})
	if obs, err := (handler{}).Read(c, provider.ReadRequest{Resource: r}); err != nil ||
		obs.Exists {
		t.Fatal(obs, err)
	}
	if _, err := (handler{}).Delete(c, provider.DeleteRequest{Resource: r}); err != nil {
		t.Fatal(err)
	}
}

func TestReload(t *testing.T) {
	for _, tc := range []struct {
		why   string
		attrs map[string]any
		ran   bool
		fails bool
	}{
		{"what waits for an event runs", map[string]any{"reload_only": true, "command": "true"},
			true, false},
		{"what has run already does not", map[string]any{"command": "exit 1"}, false, false},
		{"it may fail", map[string]any{"reload_only": true, "command": "exit 1"}, false, true},
		{"conditions are asked, too", map[string]any{"reload_only": true, "command": "exit 1",
			"onlyif": "false"}, false, false},
		{"and may say that it is needed", map[string]any{"reload_only": true, "command": "true",
			"unless": "false"}, true, false},
		{"or cannot be asked", map[string]any{"reload_only": true, "command": "true",
			"unless": []any{"no-such-program"}}, false, true},
	} {
		t.Run(tc.why, func(t *testing.T) {
			host := providertest.NewHost(nil)
			err := handler{}.Reload(host.Context(t.Context(), provider.Options{Reload: true}),
				provider.ReadRequest{Resource: want(t, tc.attrs)})
			if _, ran := host.AttributeChanges()["reload"]; ran != tc.ran ||
				(err != nil) != tc.fails {
				t.Fatalf("ran = %t, %v", ran, err)
			}
		})
	}
}

// TestAllIsKilled starts a command with a child that holds a pipe open; the pipe ends when the
// child does.
func TestAllIsKilled(t *testing.T) {
	for _, tc := range []struct {
		why   string
		attrs map[string]any
		by    string // what starts the child
		give  bool   // the caller gives up
		text  string
	}{
		{"when time is up", map[string]any{"timeout": int64(1)}, "", false, "took longer than 1s"},
		{"when the caller gives up", map[string]any{}, "", true, "was ended: context canceled"},
		{"also in a group of its own", map[string]any{}, "timeout 300", true,
			"was ended: context canceled"},
		{"also in a session of its own", map[string]any{}, "setsid --wait", true,
			"was ended: context canceled"},
		{"also further down", map[string]any{},
			"setsid --wait timeout 300 sh -c 'setsid --wait \"$@\" & wait' -", true,
			"was ended: context canceled"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			pipe := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			end, err := os.OpenFile(pipe, os.O_RDWR, 0) // both ends: opening does not wait
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			read, err := os.OpenFile(pipe, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer read.Close()
			tc.attrs["command"] = fmt.Sprintf("%s sh -c 'trap \"\" TERM HUP INT; echo started; "+
				"sleep 300' >%s & sleep 300", tc.by, pipe)
			done := make(chan result, 1)
			go func() { done <- apply(ctx, t, tc.attrs) }()
			started := make([]byte, 8)
			if _, err := io.ReadFull(read, started); err != nil {
				t.Fatal(err)
			}
			if err := end.Close(); err != nil {
				t.Fatal(err)
			}
			if tc.give {
				cancel()
			}
			if got := <-done; got.err == nil || !strings.Contains(got.err.Error(), tc.text) {
				t.Fatal(got.err)
			}
			if err := read.SetReadDeadline(time.Now().Add(10 * time.Minute)); err != nil {
				t.Fatal(err)
			}
			if n, err := read.Read(started); !errors.Is(err, io.EOF) {
				t.Fatalf("the child lives on: %d, %v", n, err)
			}
		})
	}
}

func TestMuchOutputIsBounded(t *testing.T) {
	for _, tc := range []struct {
		why, command string
		first, last  string
	}{
		{"many lines", "echo first; yes | head -c 50000000; echo last", "first", "last"},
		{"one long line is not shown in part",
			"head -c 50000000 /dev/zero | tr '\\0' x; echo; echo last", "… ", "last"},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got := apply(t.Context(), t, map[string]any{"command": tc.command})
			said := got.said()
			if got.err != nil || len(said) > keepHead+keepTail+100 ||
				!strings.HasPrefix(said, tc.first) || !strings.HasSuffix(said, tc.last) ||
				!strings.Contains(said, "bytes left out") {
				t.Fatalf("%v: %d bytes, %.50q", got.err, len(said), said)
			}
			for _, line := range got.host.Lines() {
				if s, _ := line.Kwargs["output"].(string); len(s) > keepHead+keepTail {
					t.Fatalf("a log line of %d bytes", len(s))
				}
			}
		})
	}
}

// TestSecretsAreNotInArguments asks the system what everybody can see of the command and what it
// started.
func TestSecretsAreNotInArguments(t *testing.T) {
	got := apply(t.Context(), t, map[string]any{
		"command":     `test ${#TOKEN} = 6 && tr '\0' ' ' </proc/$$/cmdline && tr '\0' ' ' </proc/$PPID/cmdline`,
		"environment": map[string]any{"TOKEN": "s3cr3t"}, "umask": "022"})
	if got.err != nil || !strings.Contains(got.said(), "test ${#TOKEN} = 6") ||
		strings.Contains(got.said(), "s3cr3t") {
		t.Fatalf("%v: %q", got.err, got.said())
	}
}

func TestValidate(t *testing.T) {
	secret := resource.Secret{Source: "env:TOKEN"}
	for _, tc := range []struct {
		why   string
		attrs map[string]any
		want  []diag.Problem
	}{
		{"a secret in a variable is fine",
			map[string]any{"command": "true", "environment": map[string]any{"TOKEN": secret}}, nil},
		{"a secret as the command", map[string]any{"command": secret},
			[]diag.Problem{{Attribute: "command"}}},
		{"a secret among its arguments", map[string]any{"command": []any{"login", secret}},
			[]diag.Problem{{Attribute: "command"}}},
		{"and in conditions", map[string]any{"unless": secret, "onlyif": []any{secret}},
			[]diag.Problem{{Attribute: "unless"}, {Attribute: "onlyif"}}},
		{"variables that cannot be",
			map[string]any{"environment": map[string]any{"A=B": "", "1": "", "": "", "a-b": "",
				"_ok1": ""}},
			[]diag.Problem{{Attribute: "environment"}, {Attribute: "environment"},
				{Attribute: "environment"}, {Attribute: "environment"}}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got := validate(tc.attrs)
			for i := range got {
				if got[i].Message == "" || got[i].Hint == "" {
					t.Errorf("no message or hint: %v", got[i])
				}
				got[i] = diag.Problem{Attribute: got[i].Attribute}
			}
			if d := cmp.Diff(tc.want, got); d != "" {
				t.Fatal(d)
			}
		})
	}
}

func TestCallTimeout(t *testing.T) {
	for _, tc := range []struct {
		why  string
		r    provider.Resource
		want time.Duration
	}{
		{"two conditions and the command, and some to end them",
			want(t, map[string]any{"command": "true", "timeout": int64(60)}), 195 * time.Second},
		{"a value that is not known yet", provider.Resource{}, 18 * time.Second},
	} {
		t.Run(tc.why, func(t *testing.T) {
			if got := (handler{}).CallTimeout(tc.r); got != tc.want {
				t.Fatalf("%s, expected %s", got, tc.want)
			}
		})
	}
}
