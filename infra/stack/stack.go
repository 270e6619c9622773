// Package stack builds, deploys and removes the stack of template.yaml, in an account or on an emulator. It is what make and the end-to-end tests use; with the SAM CLI
// alone it goes as well, see docs/aws.md.
package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"southbound/localstack/server"
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
	// Environment has variables for the SAM CLI beside those of this process: credentials and region.
	Environment []string
	// Tools to run.
	Tools server.Tools
	// Out is told what goes on; nil: only errors tell.
	Out io.Writer
}

// Architecture returns the value of the template's parameter that fits this machine.
func Architecture() string {
	if runtime.GOARCH == "arm64" {
		return "arm64"
	}
	return "x86_64"
}

func (s *Stack) built() string {
	if s.Built != "" {
		return s.Built
	}
	return filepath.Join(s.Root, ".aws-sam", "build")
}

// Build compiles the functions for an architecture.
func (s *Stack) Build(ctx context.Context, architecture string) error {
	_, err := s.sam(ctx, "build", "--build-in-source", "--template", filepath.Join(s.Root, "template.yaml"), "--build-dir", s.built(),
		"--parameter-overrides", "Architecture="+architecture)
	return err
}

// Deploy makes or updates the stack from what was built, with parameters of the template. On an emulator its endpoint is one of them.
func (s *Stack) Deploy(ctx context.Context, parameters map[string]string) error {
	all := maps.Clone(parameters)
	if all == nil {
		all = map[string]string{}
	}
	if s.Endpoint != "" {
		all["Endpoint"] = s.Endpoint
	}
	args := []string{"deploy", "--template-file", filepath.Join(s.built(), "template.yaml"), "--stack-name", s.Name, "--resolve-s3", "--no-confirm-changeset",
		"--no-fail-on-empty-changeset", "--no-progressbar", "--capabilities", "CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"}
	if len(all) > 0 {
		args = append(args, "--parameter-overrides")
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		args = append(args, name+"="+all[name])
	}
	_, err := s.sam(ctx, args...)
	return err
}

// Outputs returns the outputs of the stack.
func (s *Stack) Outputs(ctx context.Context) (map[string]string, error) {
	out, err := s.sam(ctx, "list", "stack-outputs", "--stack-name", s.Name, "--output", "json")
	if err != nil {
		return nil, err
	}
	var list []struct{ OutputKey, OutputValue string }
	if err := json.Unmarshal(out, &list); err != nil {
		return nil, fmt.Errorf("outputs of stack %s: %w", s.Name, err)
	}
	values := map[string]string{}
	for _, o := range list {
		values[o.OutputKey] = o.OutputValue
	}
	return values, nil
}

// Variables returns the environment variables with which a process opens the home of a stack, from its outputs.
func (s *Stack) Variables(outputs map[string]string) []string {
	v := []string{"SOUTHBOUND_TABLE=" + outputs["Table"], "SOUTHBOUND_BUCKET=" + outputs["Bucket"], "SOUTHBOUND_PREFIX=" + outputs["Prefix"],
		"SOUTHBOUND_DEAD_LETTERS=" + outputs["DeadLetters"], "SOUTHBOUND_HANDLER=" + outputs["HandlerFunction"], "SOUTHBOUND_LOG_QUEUE=" + outputs["LogQueue"]}
	if key := outputs["KeyArn"]; key != "" {
		v = append(v, "SOUTHBOUND_KMS_KEY="+key)
	}
	if s.Endpoint != "" {
		v = append(v, "SOUTHBOUND_ENDPOINT="+s.Endpoint)
	}
	return v
}

// Delete deletes the stack. What it retains stays: see Data.
func (s *Stack) Delete(ctx context.Context) error {
	_, err := s.sam(ctx, "delete", "--stack-name", s.Name, "--no-prompts")
	return err
}

// sam runs the SAM CLI and returns its standard output.
func (s *Stack) sam(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, s.Tools.SAM, args...) //nolint:gosec // installed by its hash
	cmd.Dir = s.Root
	cmd.Env = append(s.Tools.Environment(), s.Environment...)
	if s.Endpoint != "" {
		cmd.Env = append(cmd.Env, "AWS_ENDPOINT_URL="+s.Endpoint)
	}
	var out, all bytes.Buffer
	stdout, told := []io.Writer{&out, &all}, []io.Writer{&all}
	if s.Out != nil {
		told = append(told, s.Out)
		if args[0] != "list" {
			stdout = append(stdout, s.Out)
		}
	}
	cmd.Stdout, cmd.Stderr = io.MultiWriter(stdout...), io.MultiWriter(told...)
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("sam %s: %w\n%s", args[0], err, tail(strings.TrimSpace(all.String())))
	}
	return out.Bytes(), nil
}

// tail returns the end of what a program said.
func tail(text string) string {
	const most = 6000
	return text[max(0, len(text)-most):]
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
