package http

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"

	"southbound/shared/fault"
	"southbound/shared/patience"
	"southbound/shared/provider"
)

// tokens obtains and caches the OAuth 2 tokens of a client. All agents with the same options share
// it; one goroutine at a time requests a token.
type tokens struct {
	config clientcredentials.Config
	client *http.Client
	limit  time.Duration

	mu   sync.Mutex
	have *oauth2.Token
}

func newTokens(s *settings, via http.RoundTripper) *tokens {
	t := &tokens{limit: time.Duration(s.timeout) * time.Second, config: clientcredentials.Config{ClientID: s.clientID,
		ClientSecret: s.clientSecret, TokenURL: s.tokenURL, Scopes: s.scopes},
		client: &http.Client{Transport: via,
			CheckRedirect: func(*http.Request,
				[]*http.Request) error {
				return http.ErrUseLastResponse
			}}}
	if s.audience != "" {
		t.config.EndpointParams = url.Values{"audience": {s.audience}}
	}
	return t
}

// last returns the last issued token, "" for none.
func (t *tokens) last() string {
	if t == nil {
		return ""
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.have == nil {
		return ""
	}
	return t.have.AccessToken
}

// errToken, in an error, means that no token was obtained for a request.
var errToken = errors.New("no token")

// get returns a valid token: another one than refused.
func (t *tokens) get(ctx context.Context, refused string) (*oauth2.Token, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.have.Valid() && t.have.AccessToken != refused {
		return t.have, nil
	}
	ctx, cancel := patience.WithTimeout(ctx, t.limit)
	defer cancel()
	have, err := t.config.Token(context.WithValue(ctx, oauth2.HTTPClient, t.client))
	if err != nil {
		return nil, provider.With(tokenError(err), errToken)
	}
	t.have = have
	return have, nil
}

// tokenError returns why there is no token. It omits the text of the token server, which may
// contain the secret.
func tokenError(err error) error {
	var refused *oauth2.RetrieveError
	if !errors.As(err, &refused) || refused.Response == nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		if fault.Is(err, fault.Denied) {
			return err
		}
		return fault.Wrap(fault.Unavailable, "ask for a token", err)
	}
	kind := fault.Denied
	if s := refused.Response.StatusCode; s >= 500 || s == http.StatusTooManyRequests {
		kind = fault.Unavailable
	}
	what := refused.ErrorCode
	if len(what) > 100 {
		what = ""
	}
	return fault.New(kind, "ask for a token", "the server of tokens answers %s %s",
		refused.Response.Status, what).WithHint(
		"see token_url, client_id, client_secret and scopes of the agent")
}

// roundTrip makes a request with a token. If the API rejects the token, which may have expired
// early, roundTrip retries once with another one.
func (t *tokens) roundTrip(via http.RoundTripper, req *http.Request) (*http.Response, error) {
	token, err := t.get(req.Context(), "")
	if err != nil {
		return nil, err
	}
	token.SetAuthHeader(req)
	res, err := via.RoundTrip(req)
	if err != nil || res.StatusCode != http.StatusUnauthorized ||
		req.Body != nil && req.Body != http.NoBody && req.GetBody == nil {
		return res, err
	}
	another, err := t.get(req.Context(), token.AccessToken)
	if err != nil || another.AccessToken == token.AccessToken {
		return res, nil // the answer reports the rejection
	}
	_ = res.Body.Close()
	again := req.Clone(req.Context())
	if req.GetBody != nil {
		if again.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
	another.SetAuthHeader(again)
	return via.RoundTrip(again)
}
