// Package server runs real servers of AWS's APIs for tests, without Docker and without an account:
// DynamoDB Local, MiniStack and LocalStack. Their parts are installed once from Maven Central and
// PyPI, into the user's cache folder. This package fixes their versions and hashes.
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

// Kind is a kind of server.
type Kind string

// The kinds.
const (
	// DynamoDB is DynamoDB Local. It serves only DynamoDB, and is the reference for conditions and
	// transactions. It requires Java 17 and Maven.
	DynamoDB Kind = "dynamodb-local"
	// MiniStack serves all AWS services that Southbound uses. It requires Python 3.
	MiniStack Kind = "ministack"
	// LocalStack is LocalStack 4.14, used for S3 and SQS. It rejects presigned requests with a
	// wrong signature. It requires Python 3.13.
	LocalStack Kind = "localstack"
)

// Server is a running server. The caller has to stop it. It also ends when this process ends, even
// if this process is killed.
type Server struct {
	// URL is the endpoint of the server, on loopback.
	URL  string
	kind Kind
	dir  string
	log  *os.File
	life io.Closer
	cmd  *exec.Cmd
	// ended is closed after the guardian has ended.
	ended chan struct{}
	once  sync.Once
}

const (
	startTries   = 3
	startTimeout = 5 * time.Minute
)

// Start installs a kind of server, unless it is installed. It starts a server on a free port, and
// waits until the server responds.
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
			return s, err // another program may have taken the port: try another one
		}
	}
}

// services are the AWS services that LocalStack loads.
var services = []string{"s3", "sqs", "sts", "ssm", "secretsmanager", "kms"}

// Load makes later starts of LocalStack load only these AWS services, because each unused service
// slows down the start.
func Load(names ...string) { services = names }

// tested holds the servers of Tests.
var tested = map[Kind]*Server{}

// Tests starts servers, calls run, and stops the servers. During run, Tested, Kinds and URL return
// the servers. Tests returns the result of run. If a server does not start, Tests writes the error
// to standard error and returns 1. TestMain calls it:
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

// Tested returns the server of a kind that Tests started.
func Tested(kind Kind) *Server {
	s := tested[kind]
	if s == nil {
		panic("the tests of this package have no server of the kind " + string(kind))
	}
	return s
}

// Kinds returns the kinds of the servers that Tests started.
func Kinds() []Kind { return slices.Sorted(maps.Keys(tested)) }

// URL returns the endpoint of the server of a kind that Tests started.
func URL(kind Kind) string { return Tested(kind).URL }

// StartOn does the same as Start on a given port.
func StartOn(ctx context.Context, kind Kind, port int) (*Server, error) {
	dir, err := prepare(ctx, kind)
	if err != nil {
		return nil, err
	}
	// Fails if the port is taken; otherwise another server may be mistaken for this one.
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:"+strconv.Itoa(port))
	if err != nil {
		return nil, err
	}
	_ = l.Close()
	return start(ctx, kind, dir, port)
}

// prepare installs a kind of server and the programs that it requires, and returns its folder.
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

// guardian runs a command. When the command or the guardian's standard input ends, it kills its
// process group, including itself. The input ends when the process at the other end of the pipe has
// ended, even if it was killed. In that case the guardian also removes its working folder, because
// no other process does.
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
	// The server must outlive the context of the start.
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

// command returns the command to run, and the environment variables to add.
func (k Kind) command(dir, work string, port int) (command, env []string) {
	p := strconv.Itoa(port)
	python := filepath.Join(dir, "venv", "bin", "python")
	switch k {
	case DynamoDB:
		lib := filepath.Join(dir, "lib")
		// The server runs for seconds. Optimized compilation and parallel garbage collection would
		// cost more than all its requests.
		return []string{"java", "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
			// The server unpacks a library there at each start, and does not remove it when it is
			// killed.
			"-Djava.io.tmpdir=" + work, "-XX:-UsePerfData",
			"-Djava.library.path=" + lib, "-cp", filepath.Join(lib, "*"),
			"com.amazonaws.services.dynamodbv2.local.main.ServerRunner", "-inMemory", "-port", p,
			"-disableTelemetry"}, nil
	case MiniStack:
		return []string{python, "-m", "ministack"}, []string{"GATEWAY_PORT=" + p,
			"BIND_HOST=127.0.0.1",
			// MiniStack writes its process id and unpacks functions there.
			"TMPDIR=" + work,
			// These services would listen on all addresses, on ports of their own.
			"IOT_MTLS_ENABLED=0", "SFTP_ENABLED=0",
			// MiniStack polls each process of a function twenty times a second for work. Idle
			// processes after a burst end soon.
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

// health returns the path that responds when a server of a kind is ready.
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

// wait polls until the server responds. DynamoDB Local responds with 400 to a request that is not
// one of DynamoDB.
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

// Stop ends the server and removes its files. It may be called more than once.
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

// Environment returns environment variables with which programs use the server through AWS's SDKs.
func (s *Server) Environment() []string {
	return []string{"AWS_ENDPOINT_URL=" + s.URL, "AWS_ACCESS_KEY_ID=test",
		"AWS_SECRET_ACCESS_KEY=" + strings.Repeat("x", 8), "AWS_REGION=us-east-1",
		"AWS_DEFAULT_REGION=us-east-1",
		"AWS_EC2_METADATA_DISABLED=true"}
}
