// Package aws is the transport aws: agents that stand for an AWS account and a region. Handlers get
// a Conn with a configuration for clients.
//
// A session has the credentials of the process, or those of the role that the agent names, and is
// shared by agents with the same options. The buckets and tables of Southbound itself are reserved:
// handlers must not access them.
package aws

import (
	"context"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"southbound/shared/aws/awserr"
	"southbound/shared/fault"
	"southbound/shared/pattern"
	"southbound/shared/transport/internal/pool"
)

// Conn is the connection of an agent. It is safe for concurrent use.
type Conn struct {
	session  *session
	reserved []string
	done     func()
	once     sync.Once
}

// Reserved reports whether agents must not access a bucket or a table.
func (c *Conn) Reserved(name string) bool { return slices.Contains(c.reserved, name) }

// NewConn returns a connection with the given configuration, for tests of handlers.
func NewConn(cfg sdk.Config) *Conn { return &Conn{session: &session{config: cfg}, done: func() {}} }

// Config returns the configuration for clients: region, endpoint, credentials, retries.
func (c *Conn) Config() sdk.Config { return c.session.config }

// Facts implements provider.FactSource: aws.region, aws.account and aws.arn, the ARN of the caller.
// The request needs no permission.
func (c *Conn) Facts(ctx context.Context) (map[string]string, error) {
	out, err := Client(c, func(cfg sdk.Config) *sts.Client { return sts.NewFromConfig(cfg) }).
		GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	if err != nil {
		return nil, awserr.Fault("ask who acts", err)
	}
	return map[string]string{"aws.region": c.session.config.Region,
		"aws.account": sdk.ToString(out.Account),
		"aws.arn":     sdk.ToString(out.Arn)}, nil
}

// Close returns the connection. It may be called more than once.
func (c *Conn) Close() error {
	c.once.Do(c.done)
	return nil
}

// Client returns the client of type T of the connection's session, and creates it if the session
// has none. Runs of an agent thus share clients, and the clients' state of throttling.
func Client[T any](c *Conn, create func(sdk.Config) T) T {
	s, key := c.session, reflect.TypeFor[T]()
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, ok := s.clients[key].(T); ok {
		return have
	}
	made := create(s.config)
	if s.clients == nil {
		s.clients = map[reflect.Type]any{}
	}
	s.clients[key] = made
	return made
}

// Sessions keep state for agents across runs: credentials, connections and clients. The zero value
// is ready to use.
type Sessions struct {
	// RoleRequired rejects agents that name no role. It is for processes whose own credentials
	// authors of documents must not use, such as a function that may write the state.
	RoleRequired bool
	// Reserved are buckets and tables that no agent may access: those in which this process keeps
	// its own state, which its own credentials may write.
	Reserved []string
	// Endpoint is the endpoint of agents that name none; "": AWS. A process that runs against an
	// emulator sets it, so that it never reaches the real AWS.
	Endpoint string
	// Now returns the current time; nil: time.Now.
	Now func() time.Time

	once sync.Once
	pool pool.Pool[Options, *session]
}

// session is shared by agents with the same options.
type session struct {
	config sdk.Config
	http   *http.Client // nil: not closed by the session

	mu      sync.Mutex
	clients map[reflect.Type]any
}

// Connect returns a connection for an agent with these options (references resolved), after
// credentials were obtained. The caller closes the connection.
func (s *Sessions) Connect(
	ctx context.Context, agent string, options map[string]any,
) (*Conn, error) {
	o, err := parse(options)
	if err != nil {
		return nil, err
	}
	if o.Endpoint == "" {
		o.Endpoint = s.Endpoint
	}
	if s.RoleRequired && o.Role == "" {
		return nil, fault.New(fault.Unsupported, "connect",
			"the agent names no role, and functions do not lend their own permissions").
			WithHint("add `role: ARN` to the agent; the role must trust the role of the handler " +
				"function")
	}
	if s.RoleRequired && o.Profile != "" {
		return nil, fault.New(fault.Unsupported, "connect", "a function has no profiles").
			WithHint("remove `profile` from the agent and name a role")
	}
	s.once.Do(func() { s.pool.Now = s.Now })
	in, give, err := s.pool.Take(o, func() (*session, error) { return load(ctx, agent, o) })
	if err != nil {
		return nil, err
	}
	conn := &Conn{session: in, reserved: s.Reserved, done: give}
	if _, err := in.config.Credentials.Retrieve(ctx); err != nil {
		_ = conn.Close()
		return nil, credentialsError(o, err)
	}
	return conn, nil
}

// credentialsError adds a hint about missing credentials.
func credentialsError(o Options, err error) error {
	kind := awserr.Kind(err)
	e := &fault.Error{Kind: kind, Op: "get credentials", Err: err}
	switch {
	case kind == fault.Canceled || kind == fault.Timeout:
		return e
	case o.Role != "":
		return e.WithHint(
			"the role %s must exist, and trust who assumes it (and ask for the external_id that "+
				"the agent has)", o.Role)
	}
	return e.WithHint(
		"the credentials come from the environment, the AWS configuration files or the machine's " +
			"role; `aws sts get-caller-identity` tries them")
}

// Close closes the sessions. Connections that are still in use then fail or open new network
// connections.
func (s *Sessions) Close() error {
	s.pool.Close()
	return nil
}

// Close closes idle network connections.
func (in *session) Close() {
	if in.http == nil {
		return
	}
	in.http.CloseIdleConnections()
}

// tries is how often a request is attempted. The SDK waits between two attempts, with increasing
// pauses, and longer for throttling.
const tries = 6

// load makes a session. It makes no request except those that the default chain of credentials
// needs.
func load(ctx context.Context, agent string, o Options) (*session, error) {
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 64
	})
	set := []func(*config.LoadOptions) error{config.WithRegion(o.Region),
		config.WithHTTPClient(client), config.WithRetryMaxAttempts(tries),
		config.WithAppID("southbound")}
	if o.Profile != "" {
		set = append(set, config.WithSharedConfigProfile(o.Profile))
	}
	if o.Endpoint != "" {
		set = append(set, config.WithBaseEndpoint(o.Endpoint))
	}
	cfg, err := config.LoadDefaultConfig(ctx, set...)
	if err != nil {
		return nil, fault.Wrap(fault.Invalid, "read the AWS configuration", err)
	}
	in := &session{}
	if b, ok := cfg.HTTPClient.(*awshttp.BuildableClient); ok { // a BuildableClient has no Close
		own := &http.Client{Transport: b.GetTransport(),
			CheckRedirect: func(*http.Request,
				[]*http.Request) error {
				return http.ErrUseLastResponse
			}}
		cfg.HTTPClient, in.http = own, own
	}
	if o.Role != "" {
		provider := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), o.Role,
			func(r *stscreds.AssumeRoleOptions) {
				r.RoleSessionName = sessionName(agent)
				if o.ExternalID != "" {
					r.ExternalID = &o.ExternalID
				}
			})
		// Credentials are renewed a minute before they expire, so that they do not expire during a
		// call that has just begun.
		cfg.Credentials = sdk.NewCredentialsCache(provider, func(c *sdk.CredentialsCacheOptions) {
			c.ExpiryWindow = time.Minute
		})
	}
	in.config = cfg
	return in, nil
}

var notInSessionNames = pattern.Lazy(`[^\w+=,.@-]+`)

// sessionName is the name of the agent in the account's audit log. Agents with the same options
// share the session of the first of them.
func sessionName(agent string) string {
	name := "southbound-" + strings.Trim(notInSessionNames().ReplaceAllString(agent, "-"), "-")
	return name[:min(len(name), 64)]
}
