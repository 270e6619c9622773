// Package home is the AWS home: the engine on DynamoDB, S3 and SQS, assembled from the outputs of
// the stack.
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

// Config defines where the parts of the home are, and what the engine in this process may do.
//
// Large: each field is the name of a part that the stack made, or a permission of the function. A
// function receives them as separate variables.
type Config struct {
	Table       string // table of the state
	Bucket      string // of files and of bodies of the log
	Prefix      string // prefix of the names of agents' queues
	DeadLetters string // ARN of the queue of unhandled messages
	Handler     string // name of the function that serves agents' queues
	LogQueue    string // URL; empty: actions are recorded in the state only
	// CompileQueue is the URL of the queue of the compile function. If it is empty, orders are not
	// handled.
	CompileQueue string
	KMSKey       string // for resources that this home makes; empty: keys of AWS
	// IdleAfter is how long an agent must have had no lease before polling of its queue is
	// disabled; 0: DefaultIdle of package provision, negative: never.
	IdleAfter time.Duration
	ExportURL string // where exports go; empty: unknown
	// ReadOnlyRoles are the names of IAM roles and users whose callers may only read.
	ReadOnlyRoles []string
	Endpoint      string // of an emulator; empty: AWS
	// Python describes the function that runs handlers in Python.
	Python PythonConfig
	Region string // empty: the SDK determines it

	// Definitions are the types and their handlers.
	Definitions []provider.Definition
	// Packs are the transports of the types.
	Packs transport.Packs
	// Machine resolves secrets of the machine: env: and file:. If it is nil, they are rejected, as
	// in a function.
	Machine state.Secrets
	// Connector returns the connector of agents, given the resolver of secrets. If it is nil,
	// agents cannot be connected, as in a function that runs no handlers.
	Connector func(known state.Secrets) state.Connector
	// Code runs handlers that are shipped with resources. If it is nil, this process runs none, as
	// in a function.
	Code run.Code
	// AWS replaces the credentials and the region that the SDK determines.
	AWS *aws.Config
	// Makes is set if this process may make queues and mappings, and enable the mappings of idle
	// agents. The process has to do so: notifying only records the missing parts, for
	// Provisioner.Prepare. A process without Makes treats a missing queue as not found, and leaves
	// it to the sweep.
	Makes bool
	// Leave reports whether this process leaves an agent to other processes; nil: none. See
	// worker.View.
	Leave func(a resource.Agent) bool
	// Notifier, if not nil, wraps the notifier that sends to queues. The engine uses the notifier
	// that it returns.
	Notifier func(next state.Notifier, state state.State) state.Notifier
	// Log, if not nil, receives a line for each action that the engine commits. Count, if not nil,
	// receives the number of actions by outcome.
	Log   *slog.Logger
	Count func(outcome state.Status, n int)
	// Sets, if not nil, is called with the resource sets whose resources were run.
	Sets func(env string, sets []string)
}

// The environment variables that FromEnv reads, named after the field of Config that they set.
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
	EnvReadOnly    = "SOUTHBOUND_READ_ONLY_ROLES"

	EnvPythonFunction = "SOUTHBOUND_PYTHON_HANDLER"
	EnvPythonRuntime  = "SOUTHBOUND_PYTHON_RUNTIME"
	EnvPythonTimeout  = "SOUTHBOUND_PYTHON_TIMEOUT"
	EnvPythonStorage  = "SOUTHBOUND_PYTHON_STORAGE"
)

var prefixPattern = pattern.Lazy(`^[A-Za-z0-9-]{1,20}$`)

// FromEnv reads the configuration from environment variables, which get returns by name. If
// required variables are missing, FromEnv fails with their names.
func FromEnv(get func(name string) string) (Config, error) {
	c := Config{Table: get(EnvTable), Bucket: get(EnvBucket), Prefix: get(EnvPrefix),
		DeadLetters: get(EnvDeadLetters), Handler: get(EnvHandler),
		LogQueue: get(EnvLogQueue), CompileQueue: get(EnvCompile), KMSKey: get(EnvKMSKey),
		ExportURL: get(EnvExportURL), Endpoint: strings.TrimSuffix(get(EnvEndpoint), "/"),
		Region: cmp.Or(get("AWS_REGION"), get("AWS_DEFAULT_REGION"))}
	for name := range strings.SplitSeq(get(EnvReadOnly), ",") {
		if name = strings.TrimSpace(name); name != "" {
			c.ReadOnlyRoles = append(c.ReadOnlyRoles, name)
		}
	}
	if days := get(EnvIdleDays); days != "" {
		n, err := strconv.ParseFloat(days, 64)
		if err != nil || !(n >= 0 && n <= 3650) { // NaN fails both comparisons
			return c, fault.New(fault.Usage, "configure", "%s is %q", EnvIdleDays, days).
				WithHint("days, such as 14 or 0.5; 0: never")
		}
		if c.IdleAfter = time.Duration(n * 24 * float64(time.Hour)); n == 0 {
			c.IdleAfter = -1
		}
	}
	if err := c.Python.fromEnv(get); err != nil {
		return c, err
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

// bucketURL returns the URL of the bucket: a host of its own in AWS, a path on an emulator.
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

// queueBase returns the common prefix of the URLs of the stack's queues, taken from the URL of the
// log queue. If there is no log queue, it returns "", and URLs have to be looked up.
func (c *Config) queueBase() string {
	i := strings.LastIndexByte(c.LogQueue, '/')
	return c.LogQueue[:i+1]
}
