package run

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"southbound/shared/api"
	"southbound/shared/aws/awserr"
	"southbound/shared/aws/compiles"
	"southbound/shared/aws/sweep"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/lang/eval"
	"southbound/shared/provider"
	"southbound/shared/service/bundle"
	"southbound/shared/service/fulfil"
)

// uploadsFor is how long a signed upload may be begun.
const uploadsFor = time.Hour

// Service is the API of the home: files are uploaded to S3 by those who have them, and reality is
// asked for in the handler function, which has the handlers and the rights to what they look at. A
// function that may not ask it says who may.
func (f *Function) Service(asks bool) *api.Service {
	h := f.Home
	c := api.Config{Engine: h.Engine, Agent: h.Config.Packs.Check, Sign: f.sign,
		Unneeded: f.unneeded, History: h.ParameterHistory, About: api.Discovery{Auth: api.AuthSigV4,
			Region: h.AWS.Region, ExportURL: h.Config.ExportURL}}
	if asks { // the function of the API: the other one has exports alone
		if c.Services = h.Orders(); c.Services != nil {
			c.Definitions = &compiles.Definitions{Store: h.Definitions, Waker: h.State}
			c.Previews = f.previewer()
		}
	}
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

// What a preview may take beside the rest of the function.
const (
	previewMemory = 256 << 20
	previewLimit  = time.Minute
)

// previewer returns what previews orders in the function of the API; nil: types do not fit entities,
// which the compile function reports.
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

// unneeded is what southbound agents prune asks for.
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

// Job is what the handler function is called with to work on a job.
type Job struct {
	Environment string `json:"environment"`
	ID          string `json:"id"`
}

// start has the handler function work on a job, and does not wait for that.
func (f *Function) start(ctx context.Context, calls *lambda.Client, job Job) error {
	payload, err := json.Marshal(map[string]any{"job": job})
	if err != nil {
		return fault.Wrap(fault.Internal, "start a job", err)
	}
	_, err = calls.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(f.Home.Config.Handler),
		InvocationType: types.InvocationTypeEvent, Payload: payload})
	return awserr.Fault("start a job", err)
}
