package vault

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/openbao/openbao/api/v2"

	"southbound/shared/fault"
)

// session is a client that is logged in.
type session struct {
	client *api.Client
	role   *role // nil: the token is from VAULT_TOKEN
	logins sync.Mutex

	mu      sync.Mutex
	mounts  map[string]mount // by the paths of secrets
	renewAt time.Time        // zero: the token cannot be renewed
}

// role is a login with AppRole.
type role struct{ path, id, secret string }

const setup = "set VAULT_ADDR to the address of the server, and VAULT_TOKEN, or VAULT_ROLE_ID and " +
	"VAULT_SECRET_ID"

// variable returns a variable that begins with BAO_ or, if there is none, with VAULT_.
func variable(name string) string { return api.ReadBaoVariable("BAO_" + name) }

// connect returns the session, and logs in if there is none.
func (r *Reader) connect(ctx context.Context) (*session, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session != nil {
		return r.session, nil
	}
	if variable("ADDR") == "" {
		return nil, fault.New(fault.Invalid, op, "no server is configured").WithHint(setup)
	}
	config := api.DefaultConfig()
	if config.Error != nil {
		return nil, fault.New(fault.Invalid, op, "the settings of the client are wrong: %v",
			config.Error).WithHint("correct the variables that begin with VAULT_ or BAO_")
	}
	config.Timeout = 0 // a wall clock; Read has a limit
	client, err := api.NewClient(config)
	if err != nil {
		return nil, fault.New(fault.Invalid, op, "the settings of the client are wrong: %v", err).
			WithHint("correct the variables that begin with VAULT_ or BAO_")
	}
	s := &session{client: client, mounts: map[string]mount{}}
	if client.Token() == "" {
		s.role = &role{path: variable("APPROLE_PATH"), id: variable("ROLE_ID"),
			secret: variable("SECRET_ID")}
		if s.role.path == "" {
			s.role.path = "approle"
		}
		if s.role.id == "" || s.role.secret == "" {
			return nil, fault.New(fault.Invalid, op, "no login is configured for %s",
				client.Address()).WithHint(setup)
		}
		if err := s.login(ctx); err != nil {
			return nil, err
		}
	} else {
		s.noteToken(ctx)
	}
	r.session = s
	return s, nil
}

// login gets a token with AppRole.
func (s *session) login(ctx context.Context) error {
	found, err := s.client.Logical().WriteWithContext(ctx, "auth/"+s.role.path+"/login",
		map[string]any{"role_id": s.role.id, "secret_id": s.role.secret})
	if err != nil || found == nil || found.Auth == nil {
		err = s.classify(ctx, err)
		if fault.Is(err, fault.Unavailable) {
			return err
		}
		return fault.New(fault.Denied, op, "the login with AppRole at auth/%s failed: %v",
			s.role.path, err).WithHint("set VAULT_ROLE_ID and VAULT_SECRET_ID to a role and an id " +
			"that has not expired, and VAULT_APPROLE_PATH if it is not mounted at approle")
	}
	s.client.SetToken(found.Auth.ClientToken)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(found.Auth.LeaseDuration, found.Auth.Renewable)
	return nil
}

// noteToken notes how long the token is valid, if it may look itself up.
func (s *session) noteToken(ctx context.Context) {
	found, err := s.client.Auth().Token().LookupSelfWithContext(ctx)
	if err != nil || found == nil {
		return // the first read tells
	}
	ttl, _ := found.Data["ttl"].(json.Number)
	seconds, _ := ttl.Int64()
	renewable, _ := found.Data["renewable"].(bool)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(int(seconds), renewable)
}

// note notes when a token is to be renewed: after half of its time.
func (s *session) note(seconds int, renewable bool) {
	s.renewAt = time.Time{}
	if renewable && seconds > 0 {
		s.renewAt = time.Now().Add(time.Duration(seconds) * time.Second / 2)
	}
}

// renew renews the token if half of its time is over.
func (s *session) renew(ctx context.Context) {
	s.mu.Lock()
	due := !s.renewAt.IsZero() && !time.Now().Before(s.renewAt)
	if due {
		s.renewAt = time.Time{} // other calls go on
	}
	s.mu.Unlock()
	if !due {
		return
	}
	found, err := s.client.Auth().Token().RenewSelfWithContext(ctx, 0)
	if err != nil || found == nil || found.Auth == nil {
		return // it may be over: the next request tells
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.note(found.Auth.LeaseDuration, found.Auth.Renewable)
}

// read reads a path.
func (s *session) read(
	ctx context.Context, path string, query map[string][]string,
) (*api.Secret, error) {
	return s.call(ctx, func() (*api.Secret, error) {
		found, err := s.client.Logical().ReadWithDataWithContext(ctx, path, query)
		if err == nil && found == nil {
			err = fault.New(fault.NotFound, op, "there is no secret at %s", path).
				WithHint("name a secret that exists, or write it")
		}
		return found, err
	})
}

// write writes to a path.
func (s *session) write(
	ctx context.Context, path string, data map[string]any,
) (*api.Secret, error) {
	return s.call(ctx, func() (*api.Secret, error) {
		return s.client.Logical().WriteWithContext(ctx, path, data)
	})
}

// call sends a request. If the token is no longer valid, it logs in once and sends the request
// again.
func (s *session) call(
	ctx context.Context, request func() (*api.Secret, error),
) (*api.Secret, error) {
	s.renew(ctx)
	token := s.client.Token()
	found, err := request()
	if status(err) != http.StatusForbidden || !s.isOver(ctx, token) {
		return found, s.classify(ctx, err)
	}
	if s.role == nil {
		return nil, fault.New(fault.Denied, op, "the token of VAULT_TOKEN is not valid at %s: it has "+
			"expired or was revoked", s.client.Address()).
			WithHint("set VAULT_TOKEN to a new token (`vault login -method=...`), or VAULT_ROLE_ID " +
				"and VAULT_SECRET_ID, so that this program gets one itself")
	}
	if err := s.loginAgain(ctx, token); err != nil {
		return nil, err
	}
	found, err = request()
	return found, s.classify(ctx, err)
}

// loginAgain logs in, unless another call has done so since a token was used.
func (s *session) loginAgain(ctx context.Context, used string) error {
	s.logins.Lock()
	defer s.logins.Unlock()
	if s.client.Token() != used {
		return nil
	}
	return s.login(ctx)
}

// isOver reports whether a token is no longer valid: it cannot look itself up.
func (s *session) isOver(ctx context.Context, token string) bool {
	if s.client.Token() != token {
		return true // another call has replaced it
	}
	_, err := s.client.Auth().Token().LookupSelfWithContext(ctx)
	return status(err) == http.StatusForbidden
}

// status returns the status of an answer that is an error; 0: there was no answer.
func status(err error) int {
	var answer *api.ResponseError
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}

// classify returns an error of the client with a kind.
func (s *session) classify(ctx context.Context, err error) error {
	var known *fault.Error
	var answer *api.ResponseError
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case ctx.Err() != nil:
		return fault.Wrap(fault.KindOf(ctx.Err()), op, ctx.Err())
	case !errors.As(err, &answer):
		return fault.New(fault.Unavailable, op, "%s cannot be reached: %v", s.client.Address(), err).
			WithHint("check VAULT_ADDR, and for a server with a certificate of your own, VAULT_CACERT")
	}
	said := strings.Join(answer.Errors, "; ")
	if len(said) > 500 {
		said = strings.ToValidUTF8(said[:500], "") + "..."
	}
	switch code := answer.StatusCode; {
	case code == http.StatusForbidden:
		return fault.New(fault.Denied, op, "permission denied: %s", said)
	case code == http.StatusNotFound:
		return fault.New(fault.NotFound, op, "nothing is there: %s", said)
	case code == http.StatusServiceUnavailable && s.isSealed(ctx):
		return fault.New(fault.Unavailable, op, "the server %s is sealed", s.client.Address()).
			WithHint("unseal it (`vault operator unseal`, `bao operator unseal`), then run this again")
	case code >= 500 || code == http.StatusTooManyRequests:
		return fault.New(fault.Unavailable, op, "the server %s answers %d: %s", s.client.Address(),
			code, said)
	default:
		return fault.New(fault.Invalid, op, "the server %s answers %d: %s", s.client.Address(), code,
			said)
	}
}

func (s *session) isSealed(ctx context.Context) bool {
	found, err := s.client.Sys().SealStatusWithContext(ctx)
	return err == nil && found != nil && found.Sealed
}

// explain adds the path of a secret to an error, and how to permit it.
func (s *session) explain(err error, path string) error {
	switch {
	case fault.Is(err, fault.Denied) && fault.HintOf(err) == "":
		return fault.New(fault.Denied, op, "%s: the policy of the token does not permit it", path).
			WithHint("grant read on %s (for a KV engine of version 2 on MOUNT/data/...) to the token "+
				"or role, or name a secret that exists", path)
	case fault.Is(err, fault.NotFound):
		return fault.New(fault.NotFound, op, "there is no secret at %s", path).
			WithHint("name a secret that exists, or write it; a version that is named must exist, too")
	}
	return err
}
