//go:build servers

package secrets_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/localstack/server"
	"southbound/shared/aws/awstest"
	"southbound/shared/aws/secrets"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

func TestMain(m *testing.M) {
	server.Load("ssm", "secretsmanager", "kms")
	os.Exit(server.Tests(m.Run, server.LocalStack, server.MiniStack))
}

// counter counts requests by operation.
type counter struct {
	mu   sync.Mutex
	seen []string
}

// RoundTrip implements http.RoundTripper.
func (c *counter) RoundTrip(req *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	c.mu.Lock()
	c.seen = append(c.seen, operation)
	c.mu.Unlock()
	return http.DefaultTransport.RoundTrip(req)
}

// since returns what was asked since it was called before.
func (c *counter) since() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := strings.Join(c.seen, " ")
	c.seen = nil
	return out
}

const value = "s3cr3t-value-1"

// place is what a test has: clients of a server, and a resolver whose requests are counted.
type place struct {
	ssm     *ssm.Client
	manager *secretsmanager.Client
	name    string
	calls   *counter
	now     time.Time
	secrets *secrets.Secrets
}

func newPlace(t *testing.T, kind server.Kind) *place {
	t.Helper()
	cfg := awstest.Config(server.URL(kind), nil)
	p := &place{ssm: ssm.NewFromConfig(cfg), manager: secretsmanager.NewFromConfig(cfg),
		name: awstest.Unique(t), calls: &counter{}, now: time.Unix(1_000_000, 0)}
	p.secrets = secrets.New(secrets.Config{Now: func() time.Time { return p.now },
		Load: func(context.Context) (aws.Config, error) {
			return awstest.Config(server.URL(kind), p.calls), nil
		}})
	return p
}

func (p *place) put(t *testing.T, name, value string) {
	t.Helper()
	if _, err := p.ssm.PutParameter(t.Context(),
		&ssm.PutParameterInput{Name: &name, Value: &value, Type: types.ParameterTypeSecureString,
			Overwrite: aws.Bool(true)}); err != nil {
		t.Fatal(err)
	}
}

// resolves demands a value and a version, and which requests that took.
func (p *place) resolves(
	t *testing.T, why string, ref resource.Secret, wantValue, wantVersion, wantCalls string,
) {
	t.Helper()
	value, version, err := p.secrets.Resolve(t.Context(), ref)
	if calls := p.calls.since(); err != nil || value != wantValue || version != wantVersion ||
		calls != wantCalls {
		t.Errorf("%s: %q, version %s, %v, by %s; expected %q, %s by %s", why, value, version, err,
			calls, wantValue, wantVersion, wantCalls)
	}
}

// versions demands a version, and which requests that took.
func (p *place) versions(t *testing.T, why string, ref resource.Secret, want, wantCalls string) {
	t.Helper()
	version, err := p.secrets.Version(t.Context(), ref)
	if calls := p.calls.since(); err != nil || version != want || calls != wantCalls {
		t.Errorf("%s: version %s, %v, by %s; expected %s by %s", why, version, err, calls, want,
			wantCalls)
	}
}

// refused demands an error of a kind, with a hint and without the value.
func (p *place) refused(t *testing.T, why string, ref resource.Secret, kind fault.Kind) {
	t.Helper()
	_, _, err := p.secrets.Resolve(t.Context(), ref)
	_, err2 := p.secrets.Version(t.Context(), ref)
	for _, e := range []error{err, err2} {
		if e == nil {
			continue // of a member only the reader knows
		}
		if !fault.Is(e, kind) || fault.HintOf(e) == "" && kind != fault.Invalid ||
			strings.Contains(fmt.Sprintf("%+v", e), value) {
			t.Errorf("%s: %v is %s, hint %q; expected %s", why, e, fault.KindOf(e), fault.HintOf(e),
				kind)
		}
	}
	if err == nil {
		t.Errorf("%s: it was resolved", why)
	}
	p.calls.since()
}

// TestParameters resolves references to Parameter Store.
func TestParameters(t *testing.T) {
	t.Parallel()
	for _, kind := range server.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, kind)
			name := "/" + p.name + "/a"
			p.put(t, name, value)
			ref := resource.Secret{Source: "ssm:" + name}
			p.versions(t, "a version is told by a description", ref, "1", "DescribeParameters")
			p.versions(t, "and kept", ref, "1", "")
			p.resolves(t, "a value", ref, value, "1", "GetParameter")
			p.resolves(t, "and kept", ref, value, "1", "")
			p.put(t, name, "second")
			p.versions(t, "while one export lasts", ref, "1", "")
			p.now = p.now.Add(4 * time.Second)
			p.versions(t, "then it is asked for again", ref, "2", "DescribeParameters")
			p.resolves(t, "an intent's version", resource.Secret{Source: ref.Source, Version: "1"},
				value, "1", "GetParameter")
			p.resolves(t, "the same in the source", resource.Secret{Source: ref.Source + ":1"},
				value, "1", "")
			p.versions(t, "an exact version is known",
				resource.Secret{Source: ref.Source, Version: "1"}, "1", "")
			p.resolves(t, "values are kept for minutes", ref, value, "1", "")
			p.now = p.now.Add(6 * time.Minute)
			p.resolves(t, "the newest", ref, "second", "2", "GetParameter")
			if _, err := p.ssm.LabelParameterVersion(t.Context(),
				&ssm.LabelParameterVersionInput{Name: &name, Labels: []string{"stable"},
					ParameterVersion: aws.Int64(1)}); err != nil {
				t.Fatal(err)
			}
			p.versions(t, "a label becomes a version",
				resource.Secret{Source: ref.Source, Version: "stable"}, "1", "GetParameter")
			p.resolves(t, "a label", resource.Secret{Source: ref.Source + ":stable"}, value, "1",
				"GetParameter")
			p.refused(t, "a parameter that is not there",
				resource.Secret{Source: "ssm:/" + p.name + "/none"}, fault.NotFound)
			p.refused(t, "a version that is not there",
				resource.Secret{Source: ref.Source, Version: "99"}, fault.NotFound)
			p.refused(t, "no name", resource.Secret{Source: "ssm:a b"}, fault.Invalid)
			p.refused(t, "an unknown scheme", resource.Secret{Source: "vault:x"}, fault.Unsupported)
		})
	}
}

// TestBatches fetches many parameters in few requests.
func TestBatches(t *testing.T) {
	t.Parallel()
	for _, kind := range server.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, kind)
			var refs, pinned []resource.Secret
			for i := range 12 {
				name := fmt.Sprintf("/%s/%d", p.name, i)
				p.put(t, name, fmt.Sprint(value, i))
				refs = append(refs, resource.Secret{Source: "ssm:" + name})
				pinned = append(pinned, resource.Secret{Source: "ssm:" + name, Version: "1"})
			}
			refs = append(refs, refs[0], resource.Secret{Source: "ssm:/" + p.name + "/none"},
				resource.Secret{Source: "env:X"}, resource.Secret{Source: "nonsense"})
			p.secrets.Prefetch(t.Context(), refs, false)
			// LocalStack has pages of 10, and the one that is not there is asked for alone.
			if calls := strings.Fields(p.calls.since()); len(calls) > 4 ||
				strings.Join(slices.Compact(calls), " ") != "DescribeParameters GetParameter" {
				t.Errorf("versions were fetched by %s", calls)
			}
			p.secrets.Prefetch(t.Context(), append(pinned, refs[12:]...), true)
			if calls := p.calls.since(); calls != "GetParameters GetParameters GetParameter" {
				t.Errorf("values were fetched by %s", calls)
			}
			for i := range 12 {
				p.versions(t, "fetched before", refs[i], "1", "")
				p.resolves(t, "fetched before", pinned[i], fmt.Sprint(value, i), "1", "")
			}
		})
	}
}

// TestManaged resolves references to Secrets Manager.
func TestManaged(t *testing.T) {
	t.Parallel()
	for _, kind := range server.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, kind)
			made, err := p.manager.CreateSecret(t.Context(),
				&secretsmanager.CreateSecretInput{Name: &p.name, SecretString: aws.String(value)})
			if err != nil {
				t.Fatal(err)
			}
			first, ref := *made.VersionId, resource.Secret{Source: "secretsmanager:" + p.name}
			p.versions(t, "a version is told by a description", ref, first, "DescribeSecret")
			p.resolves(t, "a value", ref, value, first, "GetSecretValue")
			next, err := p.manager.PutSecretValue(t.Context(),
				&secretsmanager.PutSecretValueInput{SecretId: &p.name,
					SecretString: aws.String(`{"user":"u","password":"` + value +
						`","port":5432}`)})
			if err != nil {
				t.Fatal(err)
			}
			p.now = p.now.Add(6 * time.Minute)
			second := *next.VersionId
			p.versions(t, "the newest", ref, second, "DescribeSecret")
			p.versions(t, "a stage", resource.Secret{Source: ref.Source, Version: "AWSPREVIOUS"},
				first, "DescribeSecret")
			p.resolves(t, "a stage", resource.Secret{Source: ref.Source, Version: "AWSPREVIOUS"},
				value, first, "GetSecretValue")
			p.resolves(t, "a version", resource.Secret{Source: ref.Source, Version: first}, value,
				first, "GetSecretValue")
			p.resolves(t, "by its ARN", resource.Secret{Source: "secretsmanager:" + *made.ARN,
				Version: first}, value, first, "GetSecretValue")
			p.resolves(t, "a member", resource.Secret{Source: ref.Source + "#password"}, value,
				second, "GetSecretValue")
			p.resolves(t, "a number", resource.Secret{Source: ref.Source + "#port"}, "5432", second,
				"GetSecretValue")
			p.refused(t, "no such member", resource.Secret{Source: ref.Source + "#none"},
				fault.NotFound)
			p.refused(t, "no object", resource.Secret{Source: ref.Source + "#password",
				Version: first}, fault.Invalid)
			p.refused(t, "no such stage", resource.Secret{Source: ref.Source, Version: "NONE"},
				fault.NotFound)
			p.refused(t, "a secret that is not there",
				resource.Secret{Source: ref.Source + "-none"}, fault.NotFound)
			p.refused(t, "a secret of a machine", resource.Secret{Source: "env:PATH"},
				fault.Unsupported)
		})
	}
}
