// Package stack builds, deploys and removes the stack of template.yaml, in an account or on an
// emulator. make and the end-to-end tests use it. The SAM CLI alone can do the same, see
// docs/aws.md.
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

// Stack is a stack. It need not exist yet.
type Stack struct {
	// Name of the stack.
	Name string
	// Root is the folder of template.yaml.
	Root string
	// Built is the folder that Build writes and Deploy reads; empty: .aws-sam/build in Root.
	Built string
	// Endpoint of an emulator; empty: AWS.
	Endpoint string
	// Environment has variables for the SAM CLI in addition to those of this process: credentials
	// and region of an emulator. The caller has to set them in this process, too.
	Environment []string
	// Tools are the programs to run.
	Tools server.Tools
	// Out receives the output of the SAM CLI; nil: only errors contain it.
	Out io.Writer
}

// Architecture returns the value of the template's parameter for this machine.
func Architecture() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "x86_64"
}

// Check returns an error if the template lacks one of the parameters. The SAM CLI silently ignores
// unknown parameters, so a misspelled one could leave alarms disabled.
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

// BuildsFor returns the architecture to build for: the given parameter, or else that of the stack,
// because CloudFormation keeps parameters that are not given.
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

// Deploy makes or updates the stack from the output of Build, with parameters of the template. On
// an emulator it adds the parameter Endpoint.
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

// Variables returns the environment variables with which a process opens the home of a stack, given
// the outputs of the stack.
func (s *Stack) Variables(outputs map[string]string) []string {
	v := []string{"SOUTHBOUND_TABLE=" + outputs["Table"], "SOUTHBOUND_BUCKET=" + outputs["Bucket"],
		"SOUTHBOUND_PREFIX=" + outputs["Prefix"],
		"SOUTHBOUND_DEAD_LETTERS=" + outputs["DeadLetters"],
		"SOUTHBOUND_HANDLER=" + outputs["HandlerFunction"],
		"SOUTHBOUND_LOG_QUEUE=" + outputs["LogQueue"]}
	if queue := outputs["CompileQueue"]; queue != "" { // stacks of earlier versions lack it
		v = append(v, "SOUTHBOUND_COMPILE_QUEUE="+queue)
	}
	if function := outputs["PythonFunction"]; function != "" {
		v = append(v, "SOUTHBOUND_PYTHON_HANDLER="+function)
	}
	if key := outputs["KeyArn"]; key != "" {
		v = append(v, "SOUTHBOUND_KMS_KEY="+key)
	}
	if s.Endpoint != "" {
		v = append(v, "SOUTHBOUND_ENDPOINT="+s.Endpoint, "AWS_ENDPOINT_URL="+s.Endpoint)
	}
	return v
}

// sam runs the SAM CLI. An error includes the end of its output.
func (s *Stack) sam(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, s.Tools.SAM, args...) // installed by its hash
	cmd.Dir = s.Root
	scratch, err := os.MkdirTemp("", "southbound-sam-") // sam leaves a folder for each function
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

// tail returns the end of a program's output.
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
