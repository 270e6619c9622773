package cli_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"southbound/shared/api"
	"southbound/shared/aws/home"
	"southbound/shared/aws/sigv4"
	session "southbound/shared/cli/home"
)

// notRemote are the scripts that make no sense over an API, with the reason.
var notRemote = map[string]string{
	"project":    "it is about where the data directory is",
	"usage":      "it wants that nothing is looked for where it is said where to look",
	"wait":       "it stops the process that does the work, and wants the work to stop",
	"secret":     "it changes the environment of the process that resolves secrets",
	"text_marks": "it changes the environment of the process that resolves secrets",
	"text_parts": "it changes the environment of the process that resolves secrets",
	"replace":    "it has types of its own, which a server does not know",
	"run":        "it is about the home of this machine",
	"serve":      "it starts servers itself",
	"console":    "it starts servers itself",
	"jobs":       "it starts servers itself",
	"superseded": "it waits for a command on this machine",
	"modules":    "it is about folders of this machine",
	"gc":         "it removes files that other scripts have uploaded, and not exported yet",
}

// alone are the scripts that ask no home for anything: over an API they are the same once more.
var alone = []string{"compile", "fmt", "modtest", "new"}

// shown are the scripts about what the program asks for, refuses and prints. A deployed stack
// answers it as any server does, so that they run against a server on this machine only; what is
// stored and deployed in another way there is in the others.
var shown = []string{
	"ask", "aws_agent", "bad", "complete", "described", "diff", "discover_known", "init", "json",
	"kind", "mixed", "model", "model_values", "no_release", "parts", "service", "texts", "transport", "types", "unset",
	"values", "whole",
}

// overAPI reports whether a script is to run against a server.
func overAPI(name, text string) bool {
	return notRemote[name] == "" && !slices.Contains(alone, name) &&
		!(deployed() && slices.Contains(shown, name)) && !endsAtOnce(text)
}

// endsAtOnce reports whether the first command of a script says that it is not for a server, or not
// for a deployed stack: what it would need there is not started.
func endsAtOnce(script string) bool {
	for line := range strings.Lines(script) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		return strings.HasPrefix(line, "[!embedded] stop") ||
			(deployed() && strings.HasPrefix(line, "[stack] stop"))
	}
	return false
}

// variable names the address of an API that is served already, such as that of an AWS home. Every
// script gets an environment of its own there.
const variable = "SOUTHBOUND_TEST_API"

// deployed reports whether the variable names the API of a deployed stack, whose own variables are
// set then, too.
func deployed() bool {
	return os.Getenv(variable) != "" && os.Getenv(home.EnvTable) != ""
}

// TestScriptsOverAPI runs the same scripts against a server: one that each script starts, or the
// one that the variable names.
func TestScriptsOverAPI(t *testing.T) {
	t.Parallel()
	p := params("api")
	for _, f := range scripts(t) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if overAPI(scriptName(f), string(text)) {
			p.Files = append(p.Files, f)
		}
	}
	p.Setup = func(env *testscript.Env) error {
		if there := os.Getenv(variable); there != "" {
			return through(env, there)
		}
		return serve(env)
	}
	testscript.Run(t, p)
}

// serve starts `southbound run --listen` for a script.
func serve(env *testscript.Env) error {
	data, err := os.MkdirTemp("", "southbound-test-")
	if err != nil {
		return err
	}
	env.Defer(func() { _ = os.RemoveAll(data) })
	cmd := exec.Command("southbound", "run", "--listen", "127.0.0.1:0", "--data", data)
	cmd.Dir, cmd.Env = env.WorkDir, append(os.Environ(), "GORACE=atexit_sleep_ms=0")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	env.Defer(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(stderr)
	address := ""
	for address == "" && lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			address = m[1]
		}
	}
	if address == "" {
		return fmt.Errorf("the server does not say where it listens: %w", lines.Err())
	}
	go func() { // what it says later is of no interest, and must not block it
		for lines.Scan() {
		}
	}()
	token, err := os.ReadFile(filepath.Join(data, "api-token"))
	if err != nil {
		return err
	}
	env.Setenv("SERVED", data)
	env.Setenv("SOUTHBOUND_API", address)
	env.Setenv("SOUTHBOUND_TOKEN", strings.TrimSpace(string(token)))
	return nil
}

var listening = regexp.MustCompile(`listening on (http://[^;]+);`)

// through leads a script to a server that is there, in an environment of its own that stands for
// each that the script names. When the variables of a stack are set, its agents are served from
// here.
func through(env *testscript.Env, there string) error {
	transport, err := proof(there)
	if err != nil {
		return err
	}
	own := fmt.Sprintf("t%d-%s-", os.Getpid(),
		regexp.MustCompile("[^A-Za-z0-9]+").ReplaceAllString(filepath.Base(env.WorkDir), "-"))
	about, err := discovery(there, transport)
	if err != nil {
		return err
	}
	about["auth"] = "none"
	if export, ok := about["export_url"].(string); ok && export != "" {
		if about["export_url"], err = proxy(env, export, own, transport, nil); err != nil {
			return err
		}
	}
	address, err := proxy(env, there, own, transport, about)
	if err != nil {
		return err
	}
	env.Setenv("SOUTHBOUND_API", address)
	if os.Getenv(home.EnvTable) != "" {
		return agents(env, own+"default")
	}
	return nil
}

// proof returns a transport that proves to a server who asks.
func proof(there string) (http.RoundTripper, error) {
	if token := os.Getenv("SOUTHBOUND_TOKEN"); token != "" || api.Loopback(there) {
		return bearer(token), nil
	}
	signed, err := sigv4.New(context.Background(), "")
	if err != nil {
		return nil, err
	}
	signed.Next, err = session.Emulated()
	return signed, err
}

// agentNames finds the agents that the documents of a script name.
var agentNames = regexp.MustCompile(`\bagent: ([a-z][a-z0-9]*)|\bagents: \[([a-z0-9, ]*)\]`)

// twoMore finds two agents that scripts name elsewhere, too: in models, and in IDs of resources.
var twoMore = regexp.MustCompile(`\b(web1)\b|\[(a),|[{ ](a):|"(a)"|agent[:=] ?"?(a)\b`)

// agents serves the agents that a script names.
func agents(env *testscript.Env, environment string) error {
	script, err := os.ReadFile(filepath.Join("testdata",
		strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")+".txtar"))
	if err != nil {
		return err
	}
	var names []string
	for _, m := range twoMore.FindAllStringSubmatch(string(script), -1) {
		if name := strings.Join(m[1:], ""); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	files, err := filepath.Glob(filepath.Join(env.WorkDir, "*.yaml"))
	if err != nil {
		return err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		for _, m := range agentNames.FindAllStringSubmatch(string(text), -1) {
			for name := range strings.SplitSeq(m[1]+","+m[2], ",") {
				if name = strings.TrimSpace(name); name != "" && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	for _, name := range names {
		data, err := os.MkdirTemp("", "southbound-test-")
		if err != nil {
			return err
		}
		env.Defer(func() { _ = os.RemoveAll(data) })
		cmd := exec.Command("southbound", "agent", "run", name, "--environment", environment, "--data",
			data)
		cmd.Dir = env.WorkDir
		if err := cmd.Start(); err != nil {
			return err
		}
		env.Defer(func() {
			_ = cmd.Process.Signal(os.Interrupt)
			_ = cmd.Wait()
		})
	}
	return nil
}
