//go:build servers

package compile

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"

	"southbound/infra/aws/meter"
	"southbound/shared/service/callback"
)

const (
	parameterKey = "/southbound/callbacks/shop"
	managedKey   = "southbound/callbacks/stock"
)

// signed is a receiver that counts calls by their path and by whether a key has signed them.
type signed struct {
	*httptest.Server
	keys map[string]string
	mu   sync.Mutex
	good map[string]int
	bad  map[string]int
}

func newSigned(t *testing.T, keys map[string]string) *signed {
	t.Helper()
	s := &signed{keys: keys, good: map[string]int{}, bad: map[string]int{}}
	s.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		want := callback.Signature([]byte(keys[r.URL.Path]), r.Header.Get(callback.TimeHeader), body)
		s.mu.Lock()
		defer s.mu.Unlock()
		if err == nil && r.Header.Get(callback.SignatureHeader) == want {
			s.good[r.URL.Path]++
		} else {
			s.bad[r.URL.Path]++
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// TestSignedCalls signs calls with keys of Parameter Store and Secrets Manager. The requests for the
// keys are those that the policy in docs/iam.md permits, and no others.
func TestSignedCalls(t *testing.T) {
	m := &meter.Meter{}
	s := counting(t, m)
	keys := map[string]string{"/shop": strings.Repeat("shop", 8), "/stock": strings.Repeat("stock", 8)}
	_, err := ssm.NewFromConfig(s.f.Home.AWS).PutParameter(t.Context(), &ssm.PutParameterInput{
		Name: aws.String(parameterKey), Value: aws.String(keys["/shop"]),
		Type: types.ParameterTypeSecureString, Overwrite: aws.Bool(true),
	})
	s.must(err)
	_, err = secretsmanager.NewFromConfig(s.f.Home.AWS).CreateSecret(t.Context(),
		&secretsmanager.CreateSecretInput{
			Name: aws.String(managedKey), SecretString: aws.String(keys["/stock"]),
		})
	s.must(err)
	r := newSigned(t, keys)
	for id, source := range map[string]string{
		"shop": "ssm:" + parameterKey, "stock": "secretsmanager:" + managedKey,
	} {
		s.must(s.f.Home.Callbacks.Register(t.Context(), "prod", callback.Callback{
			ID: id, URL: r.URL + "/" + id, Secret: source,
		}))
	}
	m.Take()
	s.order("one")
	for e := s.receive(); len(e.Records) > 0; e = s.receive() {
		s.serve(e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.bad) > 0 || r.good["/shop"] == 0 || r.good["/shop"] != r.good["/stock"] {
		t.Errorf("calls with a right signature %v, with a wrong one %v", r.good, r.bad)
	}
	asked := map[string]string{}
	for name := range m.Take() {
		for service, of := range map[string]string{"SSM.": "ssm:", "Secrets Manager.": "secretsmanager:"} {
			if action, is := strings.CutPrefix(name, service); is {
				asked[of+action] = map[string]string{
					"ssm:":            "arn:aws:ssm:eu-west-1:123456789012:parameter" + parameterKey,
					"secretsmanager:": "arn:aws:secretsmanager:eu-west-1:123456789012:secret:" + managedKey + "-a1B2c3",
				}[of]
			}
		}
	}
	if len(asked) != 2 {
		t.Errorf("requests for the keys: %v", asked)
	}
	permitted := documented(t)
	for action, resource := range asked {
		if !slices.ContainsFunc(permitted[action], func(pattern string) bool {
			prefix, all := strings.CutSuffix(pattern, "*")
			return all && strings.HasPrefix(resource, prefix)
		}) {
			t.Errorf("docs/iam.md does not permit %s on %s", action, resource)
		}
	}
	for action := range permitted {
		if asked[action] == "" {
			t.Errorf("docs/iam.md permits %s, which nothing asked for", action)
		}
	}
}

var jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)```")

// documented returns the resources of the policy for signing keys in docs/iam.md, by action.
func documented(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile(path.Join("..", "..", "..", "docs", "iam.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, block := range jsonBlock.FindAllSubmatch(text, -1) {
		var policy struct {
			Statement []struct{ Sid, Action, Resource string }
		}
		if json.Unmarshal(block[1], &policy) != nil {
			continue // a statement there has a list of actions, and is not for keys
		}
		for _, st := range policy.Statement {
			if strings.HasPrefix(st.Sid, "Signing") {
				out[st.Action] = append(out[st.Action], st.Resource)
			}
		}
	}
	return out
}
