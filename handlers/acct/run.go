package acct

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"southbound/handlers/internal/disk"
	"southbound/shared/child"
	"southbound/shared/patience"
	"southbound/shared/provider"
)

// maxTime limits a program's run. The program is not ended with its caller, as it would leave its
// locks behind.
const maxTime = 2 * time.Minute

// maxEnd is how long a program may take to end after SIGTERM.
const maxEnd = 5 * time.Second

// programs are the directories of shadow-utils: the superuser's PATH, regardless of the PATH of
// this process.
const programs = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// run runs a program of shadow-utils. rooted is the option for a directory other than the machine's
// root. input is the program's standard input, and the only place for secrets.
func (h host) run(ctx *provider.Context, rooted, input string, argv ...string) error {
	if err := ctx.Err(); err != nil {
		return provider.Errorf(provider.Retryable, "%s: %w", argv[0], err)
	}
	if h.before != nil {
		if err := h.before(argv); err != nil {
			return err
		}
	}
	program := ""
	for _, dir := range filepath.SplitList(programs) {
		if info, err := os.Stat(filepath.Join(dir, argv[0])); err == nil && !info.IsDir() {
			program = filepath.Join(dir, argv[0])
			break
		}
	}
	if program == "" {
		return provider.Errorf(provider.Terminal,
			"there is no program %s; install shadow-utils (the package passwd, or shadow)", argv[0])
	}
	// the programs fail, or wait in whole seconds, while another one runs
	unlock, err := disk.Lock(ctx, h.path("/etc/login.defs"))
	if err != nil {
		return err
	}
	defer unlock()
	args := argv[1:]
	if h.root != "" {
		args = append([]string{rooted, h.root}, args...)
	}
	limit, cancel := patience.WithTimeout(context.WithoutCancel(ctx), maxTime)
	defer cancel()
	cmd := exec.Command(program, args...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &out
	cmd.Env, cmd.Dir = []string{"PATH=" + programs, "LC_ALL=C"}, "/"
	err = child.Run(limit, cmd, maxEnd)
	return failed(argv[0], err, out.String())
}

// maxOutput limits how much of a program's output is shown.
const maxOutput = 500

// asRoot returns the hint for a denied operation.
func asRoot() string {
	if os.Geteuid() == 0 {
		return "not even the superuser may: a security policy (SELinux, AppArmor), a container " +
			"without that right or an immutable flag (lsattr) can forbid it"
	}
	return "run it as the superuser"
}

// failed classifies the error of a program.
func failed(program string, err error, output string) error {
	if err == nil {
		return nil
	}
	output = strings.ReplaceAll(strings.TrimSpace(strings.ToValidUTF8(output, "?")), "\n", "; ")
	if len(output) > maxOutput {
		output = output[:maxOutput] + "…"
	}
	if program == "chpasswd" {
		output = "it did not take the hash" // the output may repeat the input
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return provider.Errorf(provider.Retryable, "%s: %w", program, err)
	}
	class := provider.Retryable
	switch code := exit.ExitCode(); {
	case strings.Contains(output, "ermission denied"):
		return provider.Errorf(provider.Terminal, "%s; %s", output, asRoot())
	case code == 2, code == 3, code == 4: // an argument is not valid, or a number is taken
		class = provider.NeedsChange
	}
	return provider.Errorf(class, "%s (exit code %d of %s)", output, exit.ExitCode(), program)
}
