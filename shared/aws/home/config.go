// Package home is the AWS home: the engine over DynamoDB, S3 and SQS, put together from what the
// stack says about itself.
package home

import (
	"cmp"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/pattern"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/transport"
)

// Config says where the parts of the home are, and what the engine in this process may do.
//
// Large: each field is the name of a part that the stack made, or what the function may do with it;
// a function gets them as variables, side by side.
type Config struct {
	Table       string // of the state
	Bucket      string // of files and of large pieces of the state
	Prefix      string // the names of agents' queues begin with it
	DeadLetters string // ARN of the queue of messages that could not be handled
	Handler     string // name of the function that serves agents' queues
	LogQueue    string // URL; empty: actions are in the state only
	// CompileQueue is the URL of the queue of the compile function; empty: no orders are taken.
	CompileQueue string
	KMSKey       string // of what this home makes; empty: keys of AWS
	// IdleAfter is how long nothing must have run on an agent before its queue is not polled any
	// more; 0: DefaultIdle of package provision, negative: never.
	IdleAfter time.Duration
	ExportURL string // where exports go; empty: not told
	Endpoint  string // of an emulator; empty: AWS
	Region    string // empty: as the SDK finds out

	// Definitions are the types and their handlers.
	Definitions []provider.Definition
	// Packs are the transports that come with them.
	Packs transport.Packs
	// Machine resolves secrets of the machine, env: and file:; nil: they are refused, as in a
	// function.
	Machine state.Secrets
	// Connector makes what connects agents, with what resolves secrets; nil: none can be connected,
	// as in a function that runs no handlers.
	Connector func(known state.Secrets) state.Connector
	// Code runs handlers that come with resources; nil: this process runs none, as in a function.
	Code run.Code
	// AWS replaces what the SDK finds out about credentials and the region by itself.
	AWS *aws.Config
	// Makes: this process may make queues and mappings, and enable those of agents that were idle,
	// and has to: notifying only notes what is missing, for Provisioner.Prepare. Others find no
	// queue where none was made, and leave it to the sweep.
	Makes bool
	// Leave says which agents this process leaves to others; nil: none. See worker.View.
	Leave func(a resource.Agent) bool
	// Notifier, when not nil, wraps the notifier that sends to queues; the engine uses what it
	// returns.
	Notifier func(next state.Notifier, state state.State) state.Notifier
	// Log, when not nil, gets a line for each action that the engine commits; Count is told how
	// many, by outcome.
	Log   *slog.Logger
	Count func(outcome state.Status, n int)
	// Sets, when not nil, is told of the resource sets of which something was run.
	Sets func(env string, sets []string)
	// CacheBytes bounds what is kept of the state in memory; 0: 128 MB.
	CacheBytes int
}

// Variables are the environment variables that FromEnv reads, by the field of Config that they set.
const (
	EnvTable       = "SOUTHBOUND_TABLE"
	EnvBucket      = "SOUTHBOUND_BUCKET"
	EnvPrefix      = "SOUTHBOUND_PREFIX"
	EnvDeadLetters = "SOUTHBOUND_DEAD_LETTERS"
	EnvHandler     = "SOUTHBOUND_HANDLER"
	EnvLogQueue    = "SOUTHBOUND_LOG_QUEUE"
	EnvKMSKey      = "SOUTHBOUND_KMS_KEY"
	EnvCompile     = "SOUTHBOUND_COMPILE_QUEUE"
	EnvExportURL   = "SOUTHBOUND_EXPORT_URL"
	EnvIdleDays    = "SOUTHBOUND_IDLE_DAYS"
	EnvEndpoint    = "SOUTHBOUND_ENDPOINT"
)

var prefixPattern = pattern.Lazy(`^[A-Za-z0-9-]{1,20}$`)

// FromEnv reads the configuration from environment variables, which get returns by name. Invalid
// names everything that is missing.
func FromEnv(get func(name string) string) (Config, error) {
	c := Config{Table: get(EnvTable), Bucket: get(EnvBucket), Prefix: get(EnvPrefix),
		DeadLetters: get(EnvDeadLetters), Handler: get(EnvHandler),
		LogQueue: get(EnvLogQueue), CompileQueue: get(EnvCompile), KMSKey: get(EnvKMSKey),
		ExportURL: get(EnvExportURL), Endpoint: strings.TrimSuffix(get(EnvEndpoint), "/"),
		Region: cmp.Or(get("AWS_REGION"), get("AWS_DEFAULT_REGION"))}
	if days := get(EnvIdleDays); days != "" {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || !(n >= 0 && n <= 3650) { // what is not a number compares with nothing
			return c, fault.New(fault.Usage, "configure", "%s is %q", EnvIdleDays, days).
				WithHint("days, such as 14 or 0.5; 0: never")
		}
		if c.IdleAfter = time.Duration(n * 24 * float64(time.Hour)); n == 0 {
			c.IdleAfter = -1
		}
	}
	return c, c.check()
}

func (c *Config) check() error {
	var missing []string
	for _, v := range []struct{ name, value string }{{EnvTable, c.Table}, {EnvBucket, c.Bucket},
		{EnvPrefix, c.Prefix}} {
		if v.value == "" {
			missing = append(missing, v.name)
		}
	}
	switch {
	case len(missing) > 0:
		return fault.New(fault.Usage, "configure", "%s not set", strings.Join(missing, ", ")).
			WithHint("the outputs of the stack name them")
	case c.Makes && (c.Handler == "" || c.DeadLetters == ""):
		return fault.New(fault.Usage, "configure", "%s or %s is not set", EnvHandler,
			EnvDeadLetters).WithHint("the outputs of the stack name them")
	case !prefixPattern().MatchString(c.Prefix):
		return fault.New(fault.Usage, "configure", "%s is %q", EnvPrefix, c.Prefix).
			WithHint("at most 20 letters, digits and dashes")
	}
	return nil
}

// bucketURL is where the bucket is: as a host of its own in AWS, as a path on an emulator.
func (c *Config) bucketURL(region string) string {
	if c.Endpoint != "" {
		return c.Endpoint + "/" + c.Bucket
	}
	domain := "amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		domain += ".cn"
	}
	return fmt.Sprintf("https://%s.s3.%s.%s", c.Bucket, region, domain)
}

// queueBase is what the URLs of the stack's queues begin with, known from the one that is told;
// empty: they have to be looked up.
func (c *Config) queueBase() string {
	i := strings.LastIndexByte(c.LogQueue, '/')
	return c.LogQueue[:i+1]
}
