// Package stack builds, deploys and removes the stack of template.yaml, in an account or on an
// emulator. It is what make and the end-to-end tests use; with the SAM CLI alone it goes as well,
// see docs/aws.md.
package stack

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"southbound/localstack/server"
	"southbound/shared/aws/stacks"
	"southbound/shared/fault"
)

// Stack is a stack that may not exist yet.
type Stack struct {
	// Name of the stack.
	Name string
	// Root is the folder of template.yaml.
	Root string
	// Built is the folder that Build writes and Deploy reads; empty: .aws-sam/build in Root.
	Built string
	// Endpoint of an emulator; empty: AWS.
	Endpoint string
	// Environment has variables for the SAM CLI beside those of this process: credentials and
	// region of an emulator. This process needs them too.
	Environment []string
	// Tools to run.
	Tools server.Tools
	// Out gets a line for each thing that is done; nil: only errors are reported.
	Out io.Writer
}

// Architecture returns the value of the template's parameter that fits this machine.
func Architecture() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "x86_64"
}

// Check returns an error where the template has no parameter of a name: the SAM CLI passes over
// such a one without a word, so that a slip of the pen would leave alarms off.
func (s *Stack) Check(parameters map[string]string) error {
	text, err := os.ReadFile(filepath.Join(s.Root, "template.yaml"))
	if err != nil {
		return err
	}
	var template struct {
		Parameters map[string]any `yaml:"Parameters"`
	}
	if err := yaml.Unmarshal(text, &template); err != nil {
		return fmt.Errorf("template.yaml: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		if _, there := template.Parameters[name]; !there {
			return fmt.Errorf("template.yaml has no parameter %q; it has %s", name,
				strings.Join(slices.Sorted(maps.Keys(template.Parameters)), ", "))
		}
	}
	return nil
}

// BuildsFor returns the architecture that functions are to be built for: the one that parameters
// say, else that of the stack, as CloudFormation keeps what is not given.
func (s *Stack) BuildsFor(
	ctx context.Context, parameters map[string]string,
) (string, error) {
	const parameter, usual = "Architecture", "arm64"
	if given := parameters[parameter]; given != "" {
		return given, nil
	}
	all, err := stacks.Open(ctx, s.Endpoint)
	if err != nil {
		return "", err
	}
	has, err := all.Parameters(ctx, s.Name)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return "", err
	}
	return cmp.Or(has[parameter], usual), nil
}

func (s *Stack) built() string {
	if s.Built != "" {
		return s.Built
	}
	return filepath.Join(s.Root, ".aws-sam", "build")
}

// Build compiles the functions for an architecture.
func (s *Stack) Build(ctx context.Context, architecture string) error {
	return s.sam(ctx, "build", "--build-in-source", "--template",
		filepath.Join(s.Root, "template.yaml"), "--build-dir", s.built(),
		"--parameter-overrides", "Architecture="+architecture)
}

// Deploy makes or updates the stack from what was built, with parameters of the template. On an
// emulator its endpoint is one of them.
func (s *Stack) Deploy(ctx context.Context, parameters map[string]string) error {
	all := maps.Clone(parameters)
	if all == nil {
		all = map[string]string{}
	}
	if s.Endpoint != "" {
		all["Endpoint"] = s.Endpoint
	}
	args := []string{"deploy", "--template-file", filepath.Join(s.built(), "template.yaml"),
		"--stack-name", s.Name, "--resolve-s3", "--no-confirm-changeset",
		"--no-fail-on-empty-changeset", "--no-progressbar", "--capabilities", "CAPABILITY_IAM",
		"CAPABILITY_AUTO_EXPAND"}
	if len(all) > 0 {
		args = append(args, "--parameter-overrides")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		args = append(args, name+"="+all[name])
	}
	return s.sam(ctx, args...)
}

// Outputs returns the outputs of the stack.
func (s *Stack) Outputs(ctx context.Context) (map[string]string, error) {
	all, err := stacks.Open(ctx, s.Endpoint)
	if err != nil {
		return nil, err
	}
	return all.Outputs(ctx, s.Name)
}

// Variables returns the environment variables with which a process opens the home of a stack, from
// its outputs.
func (s *Stack) Variables(outputs map[string]string) []string {
	v := []string{"SOUTHBOUND_TABLE=" + outputs["Table"], "SOUTHBOUND_BUCKET=" + outputs["Bucket"],
		"SOUTHBOUND_PREFIX=" + outputs["Prefix"],
		"SOUTHBOUND_DEAD_LETTERS=" + outputs["DeadLetters"],
		"SOUTHBOUND_HANDLER=" + outputs["HandlerFunction"],
		"SOUTHBOUND_LOG_QUEUE=" + outputs["LogQueue"]}
	if queue := outputs["CompileQueue"]; queue != "" { // stacks of earlier versions have none
		v = append(v, "SOUTHBOUND_COMPILE_QUEUE="+queue)
	}
	if key := outputs["KeyArn"]; key != "" {
		v = append(v, "SOUTHBOUND_KMS_KEY="+key)
	}
	if s.Endpoint != "" {
		v = append(v, "SOUTHBOUND_ENDPOINT="+s.Endpoint, "AWS_ENDPOINT_URL="+s.Endpoint)
	}
	return v
}

// sam runs the SAM CLI. What it says is in the error, too.
func (s *Stack) sam(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.Tools.SAM, args...) // installed by its hash
	cmd.Dir = s.Root
	scratch, err := os.MkdirTemp("", "southbound-sam-") // it leaves a folder for each function
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	cmd.Env = append(append(s.Tools.Environment(), s.Environment...), "TMPDIR="+scratch)
	if s.Endpoint != "" {
		cmd.Env = append(cmd.Env, "AWS_ENDPOINT_URL="+s.Endpoint)
	}
	var said bytes.Buffer
	output := io.Writer(&said)
	if s.Out != nil {
		output = io.MultiWriter(&said, s.Out)
	}
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("sam %s: %w\n%s", args[0], err, tail(strings.TrimSpace(said.String())))
	}
	return nil
}

// tail returns the end of what a program said.
func tail(text string) string {
	const limit = 6000
	return text[max(0, len(text)-limit):]
}

// FindRoot returns the folder of template.yaml: the working directory or one above it.
func FindRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "template.yaml")); err == nil {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", fmt.Errorf("no template.yaml in %s or above", dir)
		}
	}
}
