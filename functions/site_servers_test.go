//go:build servers

package functions_test

import (
	"encoding/base64"
	"encoding/json"
	"hash/fnv"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awslambda "github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"southbound/handlers"
	"southbound/localstack/server"
	"southbound/shared/aws/home"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/aws/queue"
)

// functions are the functions: what they are in template.yaml, and which parameter of
// infra/access.yaml names their log group.
var functions = []struct{ name, resource, logs string }{
	{"export", "ExportFunction", "ExportLogs"}, {"handler", "HandlerFunction", "HandlerLogs"},
	{"log", "LogFunction", "LogLogs"}, {"api", "ApiFunction", "ApiLogs"},
	{"sweep", "SweepFunction", "SweepLogs"}, {"compile", "CompileFunction", "CompileLogs"}}

// site is a stack whose functions run, each with a credential of its own.
type site struct {
	t          *testing.T
	stack      *hometest.Stack
	home       *home.Home // past the recorder
	recorder   *recorder
	running    map[string]*lambda
	mu         sync.Mutex
	through    string // the URL of the recorder
	url        string // of the API
	logMapping string // the mapping of the log queue
	// compileMapping is that of the compile queue.
	compileMapping string
	dir            string     // of documents
	deployer       *home.Home // whose requests are counted as a deploy
	exports        int
	models         string // where functions unpack models
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{t: t, stack: hometest.New(t, handlers.All()),
		recorder: newRecorder(t, server.URL(server.MiniStack)),
		running:  map[string]*lambda{}, dir: t.TempDir(), models: t.TempDir()}
	s.home = s.stack.Open(t, nil)
	through, urls := httptest.NewServer(s.recorder), httptest.NewServer(s)
	t.Cleanup(through.Close)
	t.Cleanup(urls.Close)
	s.through, s.url = through.URL, urls.URL
	s.resources()
	s.recorder.function = func(name, payload string) answer {
		return s.ask(strings.TrimPrefix(name, s.stack.Config.Prefix+"-"), payload)
	}
	for _, f := range functions {
		s.running[f.name] = start(t, s.stack, f.name, s.environment(f.name)...)
	}
	return s
}

// environment is what is not the same for each program.
func (s *site) environment(name string) []string {
	c := s.stack.Config
	return []string{"AWS_ACCESS_KEY_ID=" + name, home.EnvEndpoint + "=" + s.through,
		home.EnvLogQueue + "=" + s.through + "/" + account + "/" + c.Table + "-log",
		home.EnvCompile + "=" + s.through + "/" + account + "/" + s.compiles(),
		"TMPDIR=" + s.models,
		"AWS_LAMBDA_FUNCTION_NAME=" + c.Prefix + "-" + name, home.EnvIdleDays + "=0.0000001",
		home.EnvExportURL + "=" + s.url + "/export", "SOUTHBOUND_LOG_MAPPING=" + s.logMapping,
		"SOUTHBOUND_COMPILE_MAPPING=" + s.compileMapping}
}

// resources makes what a stack has beside what all tests need, what documents manage, and the queue
// of an agent as an earlier version would have made it.
func (s *site) resources() {
	s.t.Helper()
	c := s.stack.Config
	calls := awslambda.NewFromConfig(s.stack.AWS)
	for _, f := range []string{"handler", "log", "compile"} {
		if _, err := calls.CreateFunction(s.t.Context(), &awslambda.CreateFunctionInput{
			FunctionName: aws.String(c.Prefix + "-" + f), Runtime: types.RuntimeProvidedal2023,
			Handler: aws.String("bootstrap"),
			Role:    aws.String("arn:aws:iam::" + account + ":role/x"),
			Code: &types.FunctionCode{ZipFile: append([]byte("PK\x05\x06"),
				make([]byte, 18)...)},
		}); err != nil {
			s.t.Fatal(err)
		}
	}
	for _, name := range []string{c.Prefix + "-dead.fifo", queue.Name(c.Prefix, "prod", "old")} {
		if _, err := s.home.SQS.CreateQueue(s.t.Context(), &sqs.CreateQueueInput{QueueName: &name,
			Attributes: map[string]string{"FifoQueue": "true"}}); err != nil {
			s.t.Fatal(err)
		}
	}
	if _, err := s.home.S3.CreateBucket(s.t.Context(), &s3.CreateBucketInput{
		Bucket: aws.String(s.managed())}); err != nil {
		s.t.Fatal(err)
	}
	s.logMapping = s.mapping(calls, "log", c.Table+"-log")
	s.compileMapping = s.mapping(calls, "compile", s.compiles())
}

// mapping makes one that is disabled, and returns its UUID.
func (s *site) mapping(calls *awslambda.Client, function, queue string) string {
	s.t.Helper()
	name := s.stack.Config.Prefix + "-" + function
	made, err := calls.CreateEventSourceMapping(s.t.Context(),
		&awslambda.CreateEventSourceMappingInput{
			FunctionName: &name, Enabled: aws.Bool(false),
			EventSourceArn: aws.String(arn("sqs", queue)),
		})
	if err != nil {
		s.t.Fatal(err)
	}
	s.recorder.mappings[*made.UUID] = arn("lambda", "function:"+name)
	return *made.UUID
}

// managed is the bucket that documents manage.
func (s *site) managed() string { return s.stack.Config.Prefix + "-site" }

// compiles is the name of the queue of the compile function.
func (s *site) compiles() string { return s.stack.Config.Table + "-compile.fifo" }

// ask invokes a function.
func (s *site) ask(name, event string) answer {
	if name != "handler" { // which others ask
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	return s.running[name].invoke(event)
}

// ServeHTTP is the URLs of the functions.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, path := "api", r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, "/export"); ok {
		name, path = "export", rest
	}
	called := arn("lambda", "function:"+s.stack.Config.Prefix+"-"+name)
	if m := credential.FindStringSubmatch(r.Header.Get("Authorization")); m != nil {
		s.recorder.note(m[1], "lambda:InvokeFunctionUrl", called,
			map[string][]string{"lambda:FunctionUrlAuthType": {"AWS_IAM"}})
		s.recorder.note(m[1], "lambda:InvokeFunction", called,
			map[string][]string{"lambda:InvokedViaFunctionUrl": {"true"}})
	}
	body, _ := io.ReadAll(r.Body)
	e := events.LambdaFunctionURLRequest{
		Version:         "2.0",
		RawPath:         path,
		RawQueryString:  r.URL.RawQuery,
		Headers:         map[string]string{},
		Body:            base64.StdEncoding.EncodeToString(body),
		IsBase64Encoded: true,
	}
	for k := range r.Header {
		e.Headers[strings.ToLower(k)] = r.Header.Get(k)
	}
	e.RequestContext.DomainName, e.RequestContext.HTTP.Method = r.Host, r.Method
	e.RequestContext.HTTP.Path, e.RequestContext.HTTP.SourceIP = path, "203.0.113.1"
	event, _ := json.Marshal(e) // it holds plain values
	var out events.LambdaFunctionURLResponse
	if err := json.Unmarshal([]byte(s.ask(name, string(event)).body), &out); err != nil {
		s.t.Error(err)
	}
	for k, v := range out.Headers {
		w.Header().Set(k, v)
	}
	w.WriteHeader(out.StatusCode)
	text := []byte(out.Body)
	if out.IsBase64Encoded {
		text, _ = base64.StdEncoding.DecodeString(out.Body)
	}
	_, _ = w.Write(text)
}

// command runs the command line, and what the functions left to themselves.
func (s *site) command(args ...string) {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), filepath.Join(bin, "southbound"), args...)
	cmd.Env = append(os.Environ(), "SOUTHBOUND_API="+s.url, "SOUTHBOUND_ENVIRONMENT=prod",
		"AWS_REGION="+region, "AWS_ACCESS_KEY_ID=person", "AWS_SECRET_ACCESS_KEY=test")
	out, err := cmd.CombinedOutput()
	s.recorder.jobs.Wait()
	s.t.Logf("southbound %s: %v\n%s", strings.Join(args, " "), err, out)
	if err != nil {
		s.t.Errorf("southbound %s: %v", strings.Join(args, " "), err)
	}
	for {
		s.recorder.mu.Lock()
		later := s.recorder.later
		s.recorder.later = nil
		s.recorder.mu.Unlock()
		if len(later) == 0 {
			return
		}
		for _, event := range later {
			s.ask("export", event)
		}
	}
}

// serve hands what is in a queue to a function, until nothing is, and returns how often it did.
func (s *site) serve(function, name string) (invoked int) {
	s.t.Helper()
	for {
		event := s.receive(name)
		if event == "" {
			return invoked
		}
		invoked++
		if a := s.ask(function, event); a.body != done {
			s.t.Errorf("%s: %+v", function, a)
		}
	}
}

// receive returns an event with what is in a queue, which is not there any more; "" if nothing is.
func (s *site) receive(name string) string {
	s.t.Helper()
	u := server.URL(server.MiniStack) + "/" + account + "/" + name
	out, err := s.home.SQS.ReceiveMessage(s.t.Context(), &sqs.ReceiveMessageInput{
		QueueUrl: &u, MaxNumberOfMessages: 10,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(out.Messages) == 0 {
		return ""
	}
	var e events.SQSEvent
	for _, m := range out.Messages {
		e.Records = append(e.Records, events.SQSMessage{
			MessageId: *m.MessageId, Body: *m.Body, ReceiptHandle: *m.ReceiptHandle,
			EventSourceARN: arn("sqs", name),
			Attributes:     map[string]string{"ApproximateReceiveCount": "1"},
		})
	}
	for _, m := range out.Messages {
		if _, err := s.home.SQS.DeleteMessage(s.t.Context(), &sqs.DeleteMessageInput{
			QueueUrl: &u, ReceiptHandle: m.ReceiptHandle}); err != nil {
			s.t.Fatal(err)
		}
	}
	event, _ := json.Marshal(e) // it holds plain values
	return string(event)
}

// work does what Lambda does for agents and for the log.
func (s *site) work(agents ...string) {
	s.t.Helper()
	for _, a := range agents {
		s.serve("handler", queue.Name(s.stack.Config.Prefix, "prod", a))
	}
	s.serve("log", s.stack.Config.Table+"-log")
}

// sweep calls the sweep in the minute of a chore.
func (s *site) sweep(chore string) {
	s.t.Helper()
	h := fnv.New32a()
	_, _ = io.WriteString(h, chore)
	at := time.Date(2026, 5, 1, 0, int(h.Sum32()%(24*60)), 0, 0, time.UTC)
	a := s.ask("sweep", `{"time":"`+at.Format(time.RFC3339)+`"}`)
	if !strings.HasSuffix(a.path, "/response") {
		s.t.Errorf("%+v", a)
	}
}

// run has a machine serve an agent until something holds, and stops it.
func (s *site) run(agent, what string, holds func() bool, environ ...string) {
	s.t.Helper()
	var said hometest.Lines
	cmd := exec.CommandContext(
		s.t.Context(),
		filepath.Join(bin, "southbound"),
		"agent",
		"run",
		agent,
		"--environment",
		"prod",
		"--data",
		s.t.TempDir(),
	)
	cmd.Env = slices.Concat(environment(s.stack.Config), s.environment("runner"), environ)
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	hometest.Until(s.t, what, holds)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	// 130: it was interrupted in a request, and has kept the state
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 130 {
		s.t.Errorf("%v\n%s", err, said.String())
	}
}
