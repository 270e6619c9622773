// Package server runs real servers of AWS's APIs for tests, without Docker and without an account:
// DynamoDB Local, MiniStack and LocalStack. What they are made of is installed once from Maven
// Central and PyPI, in the versions and with the hashes that stand in this package, into the user's
// cache folder.
package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Kind is a sort of server.
type Kind string

// The kinds.
const (
	// DynamoDB is DynamoDB Local: DynamoDB only, the reference for conditions and transactions.
	// Needs Java 17 and Maven.
	DynamoDB Kind = "dynamodb-local"
	// MiniStack serves everything of AWS that Southbound uses. Needs Python 3.
	MiniStack Kind = "ministack"
	// LocalStack is LocalStack 4.14: S3 and SQS here; it refuses presigned requests whose signature
	// does not fit. Needs Python 3.13.
	LocalStack Kind = "localstack"
)

// Server is a running server. Stop it; it also ends when this process does, however that happens.
type Server struct {
	// URL is its endpoint, on loopback.
	URL  string
	kind Kind
	dir  string
	log  *os.File
	life io.Closer
	cmd  *exec.Cmd
	// ended is closed when the guardian has ended.
	ended chan struct{}
	once  sync.Once
}

const (
	startTries   = 3
	startTimeout = 5 * time.Minute
)

// Start installs a kind of server when that was not done yet, starts one on a free port and waits
// until it answers.
func Start(ctx context.Context, kind Kind) (*Server, error) {
	dir, err := prepare(ctx, kind)
	if err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		port, err := freePort(ctx)
		if err != nil {
			return nil, err
		}
		s, err := start(ctx, kind, dir, port)
		if err == nil || try == startTries || ctx.Err() != nil {
			return s, err // the port may have been taken meanwhile: another one
		}
	}
}

// services are those of AWS that LocalStack loads.
var services = []string{"s3", "sqs", "sts", "ssm", "secretsmanager", "kms"}

// Load has LocalStack load these services of AWS only, wherever it is started from now on: each
// that nobody asks takes its time, too.
func Load(names ...string) { services = names }

// tested are the servers of Tests.
var tested = map[Kind]*Server{}

// Tests starts servers, calls run, in which Tested, Kinds and URL return them, and stops them. It
// returns what run returns, or 1 when a server does not start, and says why on standard error. It
// is what TestMain does:
//
//	func TestMain(m *testing.M) { os.Exit(server.Tests(m.Run, server.MiniStack)) }
func Tests(run func() int, kinds ...Kind) int {
	for _, kind := range kinds {
		s, err := Start(context.Background(), kind)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer s.Stop()
		tested[kind] = s
	}
	return run()
}

// Tested returns the server of a kind that Tests has started.
func Tested(kind Kind) *Server {
	s := tested[kind]
	if s == nil {
		panic("the tests of this package have no server of the kind " + string(kind))
	}
	return s
}

// Kinds returns the kinds of the servers that Tests has started.
func Kinds() []Kind { return slices.Sorted(maps.Keys(tested)) }

// URL returns the endpoint of the server of a kind that Tests has started.
func URL(kind Kind) string { return Tested(kind).URL }

// StartOn does the same on a port that is given.
func StartOn(ctx context.Context, kind Kind, port int) (*Server, error) {
	dir, err := prepare(ctx, kind)
	if err != nil {
		return nil, err
	}
	// else another server may be taken for this one
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return nil, err
	}
	_ = l.Close()
	return start(ctx, kind, dir, port)
}

// prepare returns where a kind is installed, with all that it needs of the machine.
func prepare(ctx context.Context, kind Kind) (string, error) {
	if kind == DynamoDB {
		if err := provide(ctx, java); err != nil {
			return "", err
		}
	}
	return install(ctx, kind)
}

func start(ctx context.Context, kind Kind, dir string, port int) (*Server, error) {
	work, err := os.MkdirTemp("", "southbound-"+string(kind)+"-")
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://127.0.0.1:" + strconv.Itoa(port), kind: kind, dir: work}
	if kind == LocalStack {
		if err := linkCatalog(ctx, dir, work); err != nil {
			_ = os.RemoveAll(work)
			return nil, err
		}
	}
	if err := s.launch(kind.command(dir, work, port)); err != nil {
		_ = os.RemoveAll(work)
		return nil, err
	}
	if err := s.wait(ctx); err != nil {
		said, _ := os.ReadFile(s.log.Name())
		s.Stop()
		return nil, fmt.Errorf("start %s: %w\n%s", kind, err, tail(bytes.TrimSpace(said)))
	}
	return s, nil
}

func freePort(ctx context.Context) (int, error) {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil // it is a TCP listener
}

// guardian runs a command and ends its process group, itself included, when the command or its own
// standard input ends. The input ends when the process that holds the other end of the pipe is
// gone, even if it was killed; then nobody but the guardian removes the folder that it works in.
const guardian = `exec 3<&0
"$@" </dev/null 3<&- &
pid=$!
( read _ <&3; : >gone; kill -9 $pid ) &
wait $pid 2>/dev/null
[ -e gone ] && rm -rf -- "$PWD"
kill -9 0`

func (s *Server) launch(command, env []string) error {
	var err error
	if s.log, err = os.Create(filepath.Join(s.dir, "log")); err != nil {
		return err
	}
	// it must outlive the context of the start
	s.cmd = exec.Command("sh", append([]string{"-c", guardian, "sh"}, command...)...)
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, s.log, s.log
	s.cmd.Env = append(append(os.Environ(), keepsCompiled), env...)
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.life, err = s.cmd.StdinPipe(); err != nil {
		return err
	}
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	return nil
}

// command returns what to run, and the environment variables to add.
func (k Kind) command(dir, work string, port int) (command, env []string) {
	p := strconv.Itoa(port)
	python := filepath.Join(dir, "venv", "bin", "python")
	switch k {
	case DynamoDB:
		lib := filepath.Join(dir, "lib")
		// It lives for seconds: compiling it well, and collecting garbage on all cores, would cost
		// more than all that it is asked.
		return []string{"java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			// where it unpacks a library each time, and leaves nothing when it is ended
			"-Djava.io.tmpdir=" + work, "-XX:-UsePerfData",
			"-Djava.library.path=" + lib, "-cp", filepath.Join(lib, "*"),
			"com.amazonaws.services.dynamodbv2.local.main.ServerRunner", "-inMemory", "-port", p,
			"-disableTelemetry"}, nil
	case MiniStack:
		return []string{python, "-m", "ministack"}, []string{"GATEWAY_PORT=" + p,
			"BIND_HOST=127.0.0.1",
			// where it leaves a file with its process id, and unpacks functions
			"TMPDIR=" + work,
			// these would listen on all addresses, on ports of their own
			"IOT_MTLS_ENABLED=0", "SFTP_ENABLED=0",
			// It asks for each process of a function twenty times a second whether there is
			// anything to do; those that a burst has left end soon.
			"LAMBDA_WARM_TTL_SECONDS=10"}
	default:
		return []string{python, "-m", "localstack.runtime.main"},
			[]string{"SERVICES=" + strings.Join(services, ","), "EAGER_SERVICE_LOADING=1",
				"SKIP_SSL_CERT_DOWNLOAD=1",
				"DISABLE_EVENTS=1", "DNS_ADDRESS=0", onHost,
				"GATEWAY_LISTEN=127.0.0.1:" + p, "LOCALSTACK_HOST=127.0.0.1:" + p,
				"SQS_ENDPOINT_STRATEGY=path", "S3_SKIP_SIGNATURE_VALIDATION=0",
				filesystemRoot + filepath.Join(work, "root")}
	}
}

// health is where a kind answers when it is ready.
func (k Kind) health() string {
	switch k {
	case DynamoDB:
		return "/"
	case MiniStack:
		return "/_ministack/health"
	default:
		return "/_localstack/health"
	}
}

// wait asks until the server answers. DynamoDB Local answers 400 to what is not a request of
// DynamoDB.
func (s *Server) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if s.answers(ctx) {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.ended:
			return errors.New("it ended")
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w", ctx.Err())
		}
	}
}

func (s *Server) answers(ctx context.Context) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+s.kind.health(), nil)
	if err != nil {
		return false
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode == http.StatusOK ||
		(s.kind == DynamoDB && res.StatusCode == http.StatusBadRequest)
}

// Stop ends the server and removes what it wrote. It may be called more than once.
func (s *Server) Stop() {
	s.once.Do(func() {
		_ = s.life.Close()
		select {
		case <-s.ended:
		case <-time.After(5 * time.Second):
			_ = s.cmd.Process.Kill()
		}
		_ = s.log.Close()
		_ = os.RemoveAll(s.dir)
	})
}

// Environment returns variables for programs that are to talk to the server through AWS's SDKs.
func (s *Server) Environment() []string {
	return []string{"AWS_ENDPOINT_URL=" + s.URL, "AWS_ACCESS_KEY_ID=test",
		"AWS_SECRET_ACCESS_KEY=" + strings.Repeat("x", 8), "AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1",
		"AWS_EC2_METADATA_DISABLED=true"}
}
