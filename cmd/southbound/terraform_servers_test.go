//go:build servers

package main_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"southbound/shared/tf/tftest"
)

// provided is a project that uses a provider.
type provided struct {
	*testing.T
	bin, dir, mirror string
	env              []string
}

// newProvided returns a project, and a directory from which a program is installed as version 1.0.0 of
// the provider example.com/a/NAME.
func newProvided(t *testing.T, name, program string) *provided {
	t.Helper()
	dir := t.TempDir()
	p := &provided{T: t, bin: build(t), dir: filepath.Join(dir, "site"), mirror: filepath.Join(dir, "mirror"),
		env: append(os.Environ(), "SOUTHBOUND_PROVIDERS="+filepath.Join(dir, "providers"))}
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.offer(name, program)
	return p
}

// offer puts a program into the mirror, as version 1.0.0 of the provider example.com/a/NAME.
func (p *provided) offer(name, program string) {
	p.Helper()
	to := filepath.Join(p.mirror, "example.com", "a", name, "1.0.0", runtime.GOOS+"_"+runtime.GOARCH)
	if err := os.MkdirAll(to, 0o700); err != nil {
		p.Fatal(err)
	}
	from, err := os.Open(program)
	if err != nil {
		p.Fatal(err)
	}
	defer from.Close()
	copied, err := os.OpenFile(filepath.Join(to, "terraform-provider-"+name), os.O_CREATE|os.O_WRONLY, 0o700)
	if err == nil {
		_, err = io.Copy(copied, from)
		err = errors.Join(err, copied.Close())
	}
	if err != nil {
		p.Fatal(err)
	}
}

// command returns a command of the program in the project.
func (p *provided) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(p.Context(), p.bin, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	return cmd
}

// run runs a command that ends with a code, and returns its output and messages.
func (p *provided) run(code int, args ...string) string {
	p.Helper()
	var out bytes.Buffer
	cmd := p.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		p.Fatalf("%s: %v, want code %d\n%s", strings.Join(args, " "), err, code, &out)
	}
	return out.String()
}

// prints fails the test unless a command ends with a code and its output matches the expressions.
func (p *provided) prints(code int, line string, want ...string) string {
	p.Helper()
	out := p.run(code, strings.Fields(line)...)
	for _, w := range want {
		if !regexp.MustCompile("(?m)" + w).MatchString(out) {
			p.Errorf("%s prints\n%swithout %s", line, out, w)
		}
	}
	return out
}

// write writes a file of the project.
func (p *provided) write(name, text string) {
	p.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
		p.Fatal(err)
	}
}

const naps = `southbound: 1
agents:
  clock: {transport: terraform, provider: example.com/a/time}
resources:
  - {type: tf::time::Static, agent: clock, attributes: {label: start}}
  - type: tf::time::Sleep
    agent: clock
    attributes:
      label: nap
      create_duration: 1ms
      triggers: {start: {fact: id, of: "tf::time::Static[clock,label=start]"}, round: "ROUND"}
    purged: PURGED
`

// TestProviderOfTime drives the provider "time" of the Go module proxy through the life of two
// resources, by the program.
func TestProviderOfTime(t *testing.T) {
	t.Parallel()
	p := newProvided(t, "time", tftest.Time(t))
	site := func(round, purged string) {
		p.write("site.yaml", strings.NewReplacer("ROUND", round, "PURGED", purged).Replace(naps))
	}
	site("1", "false")
	p.prints(2, "validate site.yaml", `unknown type "?tf::time::S`)
	p.prints(0, "provider add example.com/a/time --version ~>1.0 --from "+p.mirror,
		`^added time 1\.0\.0 \(example\.com/a/time, unsigned\)`, `^  tf::time::Sleep$`)
	p.prints(0, "provider list --json", `"name":"time".*"constraint":"~>1\.0".*"hashes":\["h1:`)
	p.prints(0, "provider verify", `as locked`)
	p.prints(0, "type tf::time::Sleep", `create_duration +Optional\[String\]`)
	p.prints(0, "validate site.yaml", `2 resources, no problems`)
	p.prints(0, "plan site.yaml", `^create +tf::time::Sleep\[clock,label=nap\]`)
	p.prints(0, "apply site.yaml", `2 changed, 0 unchanged; 2 deployed`)
	p.prints(0, "apply site.yaml", `0 changed, 2 unchanged; 2 deployed`)
	p.prints(0, "plan --read site.yaml", `nothing to do; all 2 are as described`)
	p.prints(0, "facts", `tf::time::Static\[clock,label=start\]  rfc3339 = 20`)
	site("2", "false")
	p.prints(0, "plan site.yaml", `^replace +tf::time::Sleep\[clock,label=nap\]`, `triggers: .*"round":"1"`)
	p.prints(0, "apply site.yaml", `^replaced tf::time::Sleep\[clock,label=nap\]  triggers`)
	p.prints(0, "state show tf::time::Sleep[clock,label=nap]", `, sealed$`)
	site("2", "true")
	p.prints(0, "apply site.yaml", `^purged +tf::time::Sleep\[clock,label=nap\]`)
	p.prints(1, "state show tf::time::Sleep[clock,label=nap]")
	p.prints(0, "apply site.yaml", `0 changed, 2 unchanged`)
}

// TestTerraformPage pins that the first document of docs/terraform.md is one that works.
func TestTerraformPage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "terraform.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "```yml\n")
	text, _, found := strings.Cut(text, "```")
	if !found {
		t.Fatal("the page has no document")
	}
	p := newProvided(t, "time", tftest.Time(t))
	p.write("site.yaml", strings.ReplaceAll(text, "hashicorp/time", "example.com/a/time"))
	p.prints(0, "provider add example.com/a/time --from "+p.mirror, `^added`)
	p.prints(0, "apply site.yaml", `2 deployed`)
	p.prints(0, "apply site.yaml", `0 changed, 2 unchanged`)
}

// TestLockOfProvider pins that a program which is not the locked one is not run, and that its
// installation is refused.
func TestLockOfProvider(t *testing.T) {
	t.Parallel()
	p := newProvided(t, "time", tftest.Time(t))
	p.write("site.yaml", strings.NewReplacer("ROUND", "1", "PURGED", "false").Replace(naps))
	p.prints(0, "provider add example.com/a/time --from "+p.mirror, `^added`)
	programs, err := filepath.Glob(filepath.Join(p.dir, "..", "providers", "example.com", "a", "time", "1.0.0", "*",
		"terraform-provider-time"))
	if err != nil || len(programs) != 1 {
		t.Fatal(programs, err)
	}
	f, err := os.OpenFile(programs[0], os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteString("x")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
	p.prints(2, "provider verify", `none of .*hashes`, "`southbound provider install` installs the locked versions")
	p.prints(3, "apply site.yaml", `none of the hashes`, `1 unavailable, 1 undefined`)
	p.prints(0, "resources --json", `"status":"unavailable"`)
	p.prints(0, "provider install --from "+p.mirror, `^time +1\.0\.0`)
	p.prints(0, "provider verify", `as locked`)
	p.prints(0, "deploy --retry-failed", `2 deployed`)
	other := filepath.Join(p.mirror, "example.com", "a", "time", "1.0.0", runtime.GOOS+"_"+runtime.GOARCH,
		"terraform-provider-time")
	if err := os.WriteFile(other, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	p.prints(2, "provider install --from "+p.mirror, `none of .*hashes`)
	p.prints(0, "provider verify", `as locked`)
	p.prints(0, "provider remove time", `^removed time 1\.0\.0`)
	p.prints(2, "validate site.yaml", `tf::time::Sleep`)
}
