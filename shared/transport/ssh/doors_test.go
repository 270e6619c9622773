package ssh_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"southbound/handlers/exec"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
	"southbound/shared/transport/remote"
	"southbound/shared/transport/ssh/sshtest"
)

// TestDoors logs in to machines whose logins are as people make them: any shell, and any noise.
func TestDoors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tools := filepath.Join(dir, "tools")
	if err := os.Mkdir(tools, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(tools, "uname"), "#!/bin/sh\necho Linux aarch64\n", 0o755)
	write(t, filepath.Join(tools, "sudo"),
		"#!/bin/sh\necho 'sudo: sorry, you must have a tty to run sudo' >&2\nexit 1\n", 0o755)
	arm := remote.Programs{Dir: filepath.Join(dir, "programs")}
	if err := os.Mkdir(arm.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile(filepath.Join(small.Dir,
		"southbound-"+runtime.GOOS+"-"+runtime.GOARCH))
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(arm.Dir, "southbound-linux-arm64"), string(script), 0o755)
	for _, c := range []struct {
		why, command string // the command of the login
		programs     *remote.Programs
		options      []any
		kind         fault.Kind // "" means that it goes well
		class        provider.Class
		text         string // of the error or its hint
	}{
		{"noise without an end of line",
			`printf 'Welcome!'; printf 'oops' >&2; exec sh -c "$SSH_ORIGINAL_COMMAND"`, nil, nil,
			"", "", ""},
		{"noise of many lines", `seq 5000; exec sh -c "$SSH_ORIGINAL_COMMAND"`, nil, nil, "", "",
			""},
		{"noise for ever", `yes`, nil, nil, fault.Damaged, provider.Retryable, "prints a lot"},
		{"the shell zsh, when it is there",
			`if command -v zsh; then exec zsh -c "$SSH_ORIGINAL_COMMAND"; else exec sh -c "$SSH_ORIGINAL_COMMAND"; fi`, nil, nil, "", "", ""},
		{"the shell fish, when it is there",
			`if command -v fish; then exec fish -c "$SSH_ORIGINAL_COMMAND"; else exec sh -c "$SSH_ORIGINAL_COMMAND"; fi`, nil, nil, "", "", ""},
		{"the shell tcsh, when it is there",
			`if command -v tcsh; then exec tcsh -c "$SSH_ORIGINAL_COMMAND"; else exec sh -c "$SSH_ORIGINAL_COMMAND"; fi`, nil, nil, "", "", ""},
		{"no shell", `echo This account is currently not available.; exit 1`, nil, nil,
			fault.Denied, provider.Terminal, "This account is currently not available"},
		{"files alone", `internal-sftp`, nil, nil, fault.Denied, provider.Terminal,
			"sftp connections only"},
		{"sudo that wants a terminal",
			`PATH=` + tools + `:$PATH exec sh -c "$SSH_ORIGINAL_COMMAND"`, nil, []any{"sudo", true},
			fault.Denied, provider.Terminal, "requiretty"},
		{"no sudo", `PATH=/nowhere exec /bin/sh -c "$SSH_ORIGINAL_COMMAND"`, nil,
			[]any{"sudo", true}, fault.Denied, provider.Terminal, "sudo"},
		{"another machine", `PATH=` + tools + `:$PATH exec sh -c "$SSH_ORIGINAL_COMMAND"`, nil, nil,
			fault.Unsupported, provider.Terminal, "southbound-linux-arm64 is missing"},
		{"another machine, with its program",
			`PATH=` + tools + `:$PATH exec sh -c "$SSH_ORIGINAL_COMMAND"`, &arm, nil, "", "", ""},
		{"a program of another machine", `exec sh -c "$SSH_ORIGINAL_COMMAND"`, nil,
			[]any{"directory", nil, "program", filepath.Join(dir, "foreign")}, fault.Unsupported,
			provider.Terminal, "not built for that machine"},
		{"a home that is not to be written to",
			`HOME=/proc XDG_CACHE_HOME= exec sh -c "$SSH_ORIGINAL_COMMAND"`, nil,
			[]any{"directory", nil}, fault.Denied, provider.Terminal, "directory: PATH"},
	} {
		t.Run(c.why, func(t *testing.T) {
			t.Parallel()
			own := sessions(t)
			if c.programs != nil {
				own.Programs = c.programs
			}
			write(t, filepath.Join(dir, "foreign"), "\x7fELF\x02\x01\x01", 0o755)
			s := startWith(t, sshtest.Self(t), "ForceCommand "+c.command+"\n")
			conn, err := own.Connect(t.Context(),
				s.Options(append([]any{"directory", shared}, c.options...)...))
			if fault.KindOf(err) != c.kind ||
				err != nil && (provider.ClassOf(err) != c.class ||
					!strings.Contains(fmt.Sprint(err, fault.HintOf(err)), c.text)) {
				t.Errorf("%v: %q, %q, hint %q; expected %q, %q, %q", err, fault.KindOf(err),
					provider.ClassOf(err), fault.HintOf(err), c.kind, c.class, c.text)
			}
			if err != nil {
				return
			}
			defer conn.Close()
			d, host := forwarded(t, conn, exec.Run()), providertest.NewHost(nil)
			r := provider.Resource{ID: "exec::Run[a,name=x]", Type: "exec::Run",
				Attributes: map[string]any{"name": "x", "command": "echo it runs",
					"timeout": int64(10)}}
			if _, err := d.Handler.Create(host.Context(t.Context(), provider.Options{ID: r.ID}),
				provider.CreateRequest{Resource: r}); err != nil ||
				!strings.Contains(host.Output(), "it runs") {
				t.Errorf("%v\n%s", err, host.Output())
			}
		})
	}
}
