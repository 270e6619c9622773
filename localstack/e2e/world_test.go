//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"southbound/infra/stack"
	"southbound/localstack/server"
	"southbound/shared/aws/home"
	"southbound/shared/buildtest"
)

// endpointVariable names an emulator that runs already; empty, but set: AWS. When it is not set,
// the suite starts MiniStack.
const endpointVariable = "SOUTHBOUND_E2E_ENDPOINT"

// roleVariable names the role that agents of the suite assume in AWS: it needs rights to buckets
// southbound-e2e-* and parameters /southbound-e2e/*, and must trust the handler function's role.
// Emulators take any.
const roleVariable = "SOUTHBOUND_E2E_ROLE"

// world is a deployed stack and what is needed to use and to look at it.
type world struct {
	stack stack.Stack
	out   map[string]string // outputs of the stack
	bin   string            // the command line
	role  string
	local *server.Server // MiniStack, when it is the suite's own
	// python is the interpreter of the Python function in the suite's own MiniStack.
	python string

	ddb    *dynamodb.Client
	s3     *s3.Client
	sqs    *sqs.Client
	lambda *lambda.Client
	logs   *cloudwatchlogs.Client
	ssm    *ssm.Client
}

// token returns random digits, so that runs in one account do not meet.
func token() string {
	b := make([]byte, 4)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// open starts the emulator if need be, builds the command line and the functions, and deploys.
func open(t *testing.T) *world {
	t.Helper()
	root, err := stack.FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	w := &world{stack: stack.Stack{Name: "southbound-e2e-" + token(), Root: root,
		Built: filepath.Join(t.TempDir(), "built")},
		bin:  buildtest.Program(t, buildtest.Southbound),
		role: "arn:aws:iam::000000000000:role/southbound-e2e"}
	if role := os.Getenv(roleVariable); role != "" {
		w.role = role
	}
	if w.stack.Tools, err = server.InstallTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	if there, ok := os.LookupEnv(endpointVariable); ok {
		w.stack.Endpoint = there
	} else {
		w.begin(t)
	}
	if w.stack.Endpoint != "" {
		for _, v := range []string{"AWS_ACCESS_KEY_ID=test", "AWS_SECRET_ACCESS_KEY=test",
			"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1",
			"AWS_EC2_METADATA_DISABLED=true"} {
			name, value, _ := strings.Cut(v, "=")
			t.Setenv(name, value)
		}
	}
	w.clients(t)
	step(t, "sam build", func() error { return w.stack.Build(t.Context(), stack.Architecture()) })
	step(t, "sam deploy", func() error {
		parameters := map[string]string{"Architecture": stack.Architecture(), "Alarms": "true",
			"Dashboard": "true", "LogLevel": "debug"}
		if w.python != "" {
			parameters["Python"] = "python3.13"
		}
		if w.local != nil { // elsewhere a key would be paid for until somebody deletes it
			parameters["EncryptionKey"] = "create"
		}
		return w.stack.Deploy(t.Context(), parameters)
	})
	if w.out, err = w.stack.Outputs(t.Context()); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) begin(t *testing.T) {
	t.Helper()
	if w.python = server.FindPython(t.Context(), "3.13"); w.python == "" {
		t.Fatal("there is no Python 3.13 for the Python function; install it")
	}
	t.Setenv("SOUTHBOUND_PYTHON", w.python) // functions inherit it
	s, err := server.Start(t.Context(), server.MiniStack)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	w.local, w.stack.Endpoint = s, s.URL
}

func (w *world) clients(t *testing.T) {
	t.Helper()
	c, err := awsconfig.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	emulated := w.stack.Endpoint != ""
	if emulated {
		c.BaseEndpoint = aws.String(w.stack.Endpoint)
	}
	w.ddb, w.sqs, w.lambda, w.ssm = dynamodb.NewFromConfig(c), sqs.NewFromConfig(c),
		lambda.NewFromConfig(c), ssm.NewFromConfig(c)
	w.logs = cloudwatchlogs.NewFromConfig(c)
	w.s3 = s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = emulated })
}

// step does something that takes a while, and says how long it took.
func step(t *testing.T, what string, do func() error) {
	t.Helper()
	began := time.Now()
	if err := do(); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	t.Logf("%s: %v", what, time.Since(began).Round(time.Millisecond))
}

// user is somebody at a command line, with an environment of the stack and a folder with documents.
type user struct {
	*world
	env string
	dir string
	// path, if set, is a folder in which the command line finds programs, before the usual ones.
	path string
}

// user returns one with an environment that nobody else has.
func (w *world) user(t *testing.T, name string) *user {
	t.Helper()
	return &user{world: w, env: name + "-" + token(), dir: t.TempDir()}
}

// write writes a file into the folder.
func (u *user) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(u.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// command returns the command line with arguments.
func (u *user) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, u.bin, args...)
	cmd.Dir = u.dir
	cmd.Env = append(os.Environ(), u.stack.Variables(u.out)...)
	cmd.Env = append(cmd.Env, "SOUTHBOUND_API="+u.out["ApiUrl"], "SOUTHBOUND_ENVIRONMENT="+u.env)
	if u.path != "" {
		cmd.Env = append(cmd.Env, "PATH="+u.path+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	return cmd
}

// run runs the command line, wants an exit code, and returns what it said on standard output.
func (u *user) run(t *testing.T, code int, args ...string) []byte {
	t.Helper()
	cmd := u.command(t.Context(), args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("southbound %v: %v", args, err)
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		t.Fatalf("southbound %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), got, code,
			stdout.Bytes(), stderr.Bytes())
	}
	return stdout.Bytes()
}

// summary is what an export answers with --json.
type summary struct {
	Version   int            `json:"version"`
	Changed   int            `json:"changed"`
	Unchanged int            `json:"unchanged"`
	Counts    map[string]int `json:"counts"`
}

// export exports the folder and waits until it is deployed.
func (u *user) export(t *testing.T) summary {
	t.Helper()
	return decode[summary](t, u.run(t, 0, "export", ".", "--wait", "--timeout", "8m", "--json"))[0]
}

// decode reads one JSON value after the other.
func decode[T any](t *testing.T, data []byte) []T {
	t.Helper()
	var out []T
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var v T
		if err := d.Decode(&v); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		out = append(out, v)
	}
}

// until asks until something is so.
func until(t *testing.T, what string, limit time.Duration, so func() bool) {
	t.Helper()
	untilEach(t, 250*time.Millisecond, what, limit, so)
}

// untilEach asks each time that a while has passed until something is so.
func untilEach(
	t *testing.T, while time.Duration, what string, limit time.Duration, so func() bool,
) {
	t.Helper()
	end, tick := time.After(limit), time.NewTicker(while)
	defer tick.Stop()
	for !so() {
		select {
		case <-end:
			t.Fatalf("after %v it is not so that %s", limit, what)
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		case <-tick.C:
		}
	}
}

// sweep calls the function that the schedule calls each minute.
func (w *world) sweep(t *testing.T) {
	t.Helper()
	event, _ := json.Marshal(map[string]string{"time": time.Now().UTC().Format(time.RFC3339)})
	out, err := w.lambda.Invoke(t.Context(),
		&lambda.InvokeInput{FunctionName: aws.String(w.function(t, "SweepFunction")),
			Payload: event})
	if err != nil || out.FunctionError != nil {
		t.Errorf("sweep: %v, %s", err, out.Payload)
	}
}

// home opens the home of the stack in this process.
func (w *world) home(t *testing.T) *home.Home {
	t.Helper()
	vars := map[string]string{"AWS_REGION": os.Getenv("AWS_REGION")}
	for _, v := range w.stack.Variables(w.out) {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value
	}
	c, err := home.FromEnv(func(name string) string { return vars[name] })
	if err != nil {
		t.Fatal(err)
	}
	h, err := home.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return h
}
