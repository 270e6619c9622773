package run

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"southbound/shared/api"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/compiles"
	"southbound/shared/aws/queue"
	"southbound/shared/aws/sweep"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/service/bundle"
	"southbound/shared/service/fulfil"
)

// uploadsFor is how long after signing an upload may start.
const uploadsFor = time.Hour

// Service returns the API of the home. Clients upload files to S3. The handler function reads
// reality, since it has the handlers and the permissions. If asks is false, the service has no
// access to orders, and starts no jobs in the handler function.
func (f *Function) Service(asks bool) *api.Service {
	h := f.Home
	c := api.Config{Engine: h.Engine, Agent: f.checkAgent, Sign: f.sign,
		Audit: h.State, Unneeded: f.unneeded, History: h.ParameterHistory, About: api.Discovery{Auth: api.AuthSigV4,
			Region: h.AWS.Region, ExportURL: h.Config.ExportURL}}
	if asks { // only in the API function; the other one has only exports
		if c.Services = h.Orders(); c.Services != nil {
			c.Definitions = &compiles.Definitions{Store: h.Definitions, Waker: h.State}
			c.Previews = f.previewer()
		}
	}
	c.About.Python = f.python()
	table := sha256.Sum256([]byte(h.AWS.Region + "\n" + h.Config.Table))
	c.About.Home = hex.EncodeToString(table[:16])
	if asks && h.Config.Handler != "" {
		calls := lambda.NewFromConfig(h.AWS)
		c.Jobs, c.NotifyRunner = h.State, h.NotifyRunner
		c.Start = func(ctx context.Context, env, id string) error {
			return f.start(ctx, calls, Job{env, id})
		}
	}
	dates := &sweep.Dates{}
	c.Unserved = func(ctx context.Context, env string) (map[string]time.Duration, error) {
		waiting, err := dates.Unserved(ctx, h.Engine.State, env, h.Engine.Clock.Now())
		out := map[string]time.Duration{}
		for _, w := range waiting {
			if w.For >= sweep.NobodyServes {
				out[w.Agent] = w.For
			}
		}
		return out, err
	}
	return api.New(c)
}

// checkAgent returns the problems of the description of an agent.
func (f *Function) checkAgent(a resource.Agent) []diag.Problem {
	problems := f.Home.Config.Packs.Check(a)
	if queue.InFunction(a) && f.Home.Config.Python.Function == "" {
		problems = append(problems, diag.Problem{Attribute: "transport",
			Message: "the stack has no function for the transport function",
			Hint: "deploy the stack with the parameter Python, or give the agent the transport " +
				"local and run `southbound agent run " + a.Name + "`"})
	}
	return problems
}

// python describes the Python function; nil: the stack has none.
func (f *Function) python() *api.PythonFunction {
	c := &f.Home.Config.Python
	if c.Function == "" {
		return nil
	}
	architecture := "x86_64"
	if runtime.GOARCH == "arm64" {
		architecture = "arm64"
	}
	return &api.PythonFunction{Architecture: architecture,
		Python: strings.TrimPrefix(c.Runtime, "python"), Room: c.Room()}
}

// The limits of a preview in the memory and the time of the function.
const (
	previewMemory = 256 << 20
	previewLimit  = time.Minute
)

// previewer returns the previewer of orders in the API function. If types do not fit entities, it
// returns nil; the compile function reports that problem.
func (f *Function) previewer() api.Previewer {
	h := f.Home
	mapper, err := provider.Mapper(h.Types, h.Config.Definitions)
	if err != nil {
		return nil
	}
	return &fulfil.Previewer{Forgets: true, Config: fulfil.Config{
		Instances: h.Instances, Definitions: h.Definitions, Engine: h.Engine, Types: h.Types,
		Mapper: mapper, Agent: h.Config.Packs.Check, Dir: os.TempDir(),
		Limit: previewLimit, Limits: eval.LimitsWithin(previewMemory),
		Elsewhere: func(m bundle.Opened) []diag.Problem {
			if m.Env == "" {
				return nil
			}
			return []diag.Problem{{
				Message: "the model has modules with Python code or of a package index; this home " +
					"has no Python, so it neither previews nor fulfils orders of the model",
				Hint: "export the services to a home that `southbound run` serves on a machine " +
					"with Python; preview and order there",
			}}
		},
	}}
}

// unneeded implements `southbound agents prune`.
func (f *Function) unneeded(ctx context.Context, env string, remove bool) ([]api.Pruned, error) {
	queues, err := f.Home.Prune(ctx, env, remove)
	out := make([]api.Pruned, len(queues))
	for i, q := range queues {
		out[i] = api.Pruned{Agent: q.Agent, Queue: q.Name, Mapping: q.State, Removed: remove}
	}
	return out, err
}

func (f *Function) sign(ctx context.Context, hash string, size int64) (api.Upload, error) {
	up, err := f.Home.Signer.Upload(ctx, hash, size, uploadsFor)
	return api.Upload{Hash: up.Hash, Method: up.Method, URL: up.URL, Header: up.Header}, err
}

// Job is the payload with which the handler function is invoked to work on a job.
type Job struct {
	Environment string `json:"environment"`
	ID          string `json:"id"`
}

// start invokes the handler function, or the Python function if there is one, for a job. It does not
// wait for the result.
func (f *Function) start(ctx context.Context, calls *lambda.Client, job Job) error {
	payload, err := json.Marshal(map[string]any{"job": job})
	if err != nil {
		return fault.Wrap(fault.Internal, "start a job", err)
	}
	// the Python function has all handlers
	function := cmp.Or(f.Home.Config.Python.Function, f.Home.Config.Handler)
	_, err = calls.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(function),
		InvocationType: types.InvocationTypeEvent, Payload: payload})
	return awserr.Fault("start a job", err)
}
