package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"southbound/infra/stack"
	"southbound/localstack/server"
)

// state describes the running emulator, in a file under .aws-sam. The process that runs MiniStack
// holds a lock on that file.
type state struct {
	// Process that runs MiniStack; 0: LocalStack, which Docker runs.
	PID      int    `json:"pid,omitempty"`
	Endpoint string `json:"endpoint"`
	// Python reports that MiniStack knows an interpreter for the Python function.
	Python bool `json:"python,omitempty"`
}

// pythonVersion is the version of the Python function.
const pythonVersion = "3.13"

// logName is the file next to the state file with the output of the emulator.
const logName = "local.log"

func stateFile() (string, error) {
	root, err := stack.FindRoot()
	return filepath.Join(root, ".aws-sam", "local.json"), err
}

// credentials returns the credentials of an emulator, and its region, as environment variables.
func credentials() []string {
	return []string{"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test", "AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1"}
}

// local starts the emulator unless it is running, and deploys to it.
func local(ctx context.Context, o *options, out, progress io.Writer) error {
	began := time.Now()
	s, err := running()
	if err != nil {
		return err
	}
	if s == nil {
		if s, err = start(ctx, o, progress); err != nil {
			return err
		}
	}
	fmt.Fprintf(progress, "1 of 3: the emulator answers at %s\n", s.Endpoint)
	o.Endpoint, o.Environment = s.Endpoint, credentials()
	for _, v := range o.Environment { // for the SDK in this process
		name, value, _ := strings.Cut(v, "=")
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	o.parameters["Architecture"] = stack.Architecture()
	if _, said := o.parameters["Python"]; !said && (s.PID == 0 || s.Python) {
		o.parameters["Python"] = "python" + pythonVersion
	}
	fmt.Fprintln(progress,
		"2 of 3: building the functions; the first time takes a minute or two, later a "+
			"few seconds")
	if err := o.Build(ctx, stack.Architecture()); err != nil {
		return err
	}
	fmt.Fprintln(progress, "3 of 3: deploying the stack; it takes some 10 seconds")
	if err := o.Deploy(ctx, o.parameters); err != nil {
		return err
	}
	fmt.Fprintf(progress, "ready after %d s; `make local-down` removes all of it\n",
		int(time.Since(began).Seconds()))
	return variables(ctx, o, out)
}

// running returns the running emulator, or nil if there is none.
func running() (*state, error) {
	path, err := stateFile()
	if err != nil {
		return nil, err
	}
	return runningIn(path)
}

// runningIn implements running for a state file. If no process holds the lock of the file, the
// emulator was killed, and runningIn removes the file. Its process id may belong to another program
// by now.
func runningIn(path string) (*state, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	var s state
	if err := json.NewDecoder(file).Decode(&s); err != nil {
		return nil, fmt.Errorf("%s: %w; remove it", path, err)
	}
	if s.PID == 0 {
		return &s, nil
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return &s, nil
	case err != nil:
		return nil, err
	}
	return nil, os.Remove(path)
}

func start(ctx context.Context, o *options, progress io.Writer) (*state, error) {
	if o.emulator == "localstack" || (o.emulator == "auto" && docker(ctx)) {
		return startDocker(ctx, o, progress)
	}
	fmt.Fprintln(progress, "starting MiniStack; it is installed on first use, which takes a minute")
	path, err := stateFile()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(filepath.Dir(path), logName))
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }()
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	// runs this program again; that process outlives this one
	cmd := exec.Command(self, "local-serve", "-port", strconv.Itoa(o.port))
	cmd.Stdout, cmd.Stderr = log, log
	if python := server.FindPython(ctx, pythonVersion); python != "" {
		cmd.Env = append(os.Environ(), "SOUTHBOUND_PYTHON="+python) // functions inherit it
	} else {
		fmt.Fprintf(progress, "there is no Python %s: handlers in Python need `southbound agent "+
			"run`\n", pythonVersion)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	return await(ctx, ended, log.Name())
}

// await waits until the state file exists, which means that the emulator is ready.
func await(ctx context.Context, ended <-chan error, log string) (*state, error) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended: //nolint:errcheck // what it said tells more
			said, _ := os.ReadFile(log)
			return nil, fmt.Errorf("the emulator did not start:\n%s", said)
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
			if s, err := running(); s != nil || err != nil {
				return s, err
			}
		}
	}
}

// localServe runs MiniStack until ctx ends.
func localServe(ctx context.Context, o *options) error {
	s, err := server.StartOn(ctx, server.MiniStack, o.port)
	if err != nil {
		return err
	}
	defer s.Stop()
	path, err := stateFile()
	if err != nil {
		return err
	}
	held, err := write(path, state{PID: os.Getpid(), Endpoint: s.URL,
		Python: os.Getenv("SOUTHBOUND_PYTHON") != ""})
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	defer func() { _ = os.Remove(path) }()
	<-ctx.Done()
	return nil
}

// write writes a state file. The file is locked until the caller closes it, or this process ends.
func write(path string, s state) (*os.File, error) {
	data, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err = file.Write(data); err == nil {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// localDown stops the emulator and waits until it has ended.
func localDown(ctx context.Context, _ *options, progress io.Writer) error {
	s, err := running()
	if err != nil {
		return err
	}
	path, err := stateFile()
	if err != nil {
		return err
	}
	if s == nil {
		fmt.Fprintln(progress, "no emulator runs")
		if _, err := os.Stat(filepath.Join(filepath.Dir(path), logName)); err != nil {
			return nil
		}
		return cleanUp(path) // an emulator was killed
	}
	if s.PID == 0 {
		if err := compose(ctx, progress, "down", "--volumes"); err != nil {
			return err
		}
		return cleanUp(path)
	}
	if err := syscall.Kill(s.PID, syscall.SIGTERM); err != nil {
		return err
	}
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for syscall.Kill(s.PID, 0) == nil {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return cleanUp(path)
}

// cleanUp removes the files that local wrote: the state file, the output of the emulator, and the
// functions that were built for it.
func cleanUp(path string) error {
	dir := filepath.Dir(path)
	for _, name := range []string{filepath.Base(path), logName, "build.toml", "build", "cache",
		"deps"} {
		if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	_ = os.Remove(dir) // fails if the folder contains other files
	return nil
}

// docker reports whether a Docker daemon responds.
func docker(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, "docker", "info").Run() == nil
}

// startDocker starts LocalStack from localstack/compose.yaml. Its functions run in containers,
// where the emulator has another name. Outside of containers that name resolves to this machine's
// loopback address.
func startDocker(ctx context.Context, _ *options, progress io.Writer) (*state, error) {
	if err := compose(ctx, progress, "up", "--detach", "--wait"); err != nil {
		return nil, err
	}
	path, err := stateFile()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	s := state{Endpoint: "http://localhost.localstack.cloud:4566"}
	file, err := write(path, s)
	if err != nil {
		return nil, err
	}
	return &s, file.Close()
}

func compose(ctx context.Context, progress io.Writer, args ...string) error {
	root, err := stack.FindRoot()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "docker",
		append([]string{"compose", "--file", filepath.Join(root, "localstack", "compose.yaml")},
			args...)...)
	cmd.Stdout, cmd.Stderr = progress, progress
	return cmd.Run()
}
