package cli

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"southbound/shared/api"
	"southbound/shared/aws/sigv4"
	"southbound/shared/fault"
)

// tokenFile is the file in a data directory with the token that clients of its server have to show.
const tokenFile = "api-token"

// connect makes commands ask a server.
func (a *app) connect() error {
	token, err := a.token()
	if err != nil {
		return err
	}
	via, err := emulated()
	if err != nil {
		return err
	}
	client, err := api.NewClient(api.ClientConfig{URL: a.api, Token: token, Program: "southbound/" + Version, Transport: via,
		Sign: func(ctx context.Context, _, region string) (http.RoundTripper, error) {
			t, err := sigv4.New(ctx, region)
			if err == nil {
				t.Next = via
			}
			return t, err
		}})
	if err != nil {
		return err
	}
	a.home = client
	return nil
}

// token returns the token to show to the server; "" if there is none. A token from a data directory
// is only sent to this machine.
func (a *app) token() (string, error) {
	if t := os.Getenv("SOUTHBOUND_TOKEN"); t != "" {
		return t, nil
	}
	if !api.Loopback(a.api) {
		return "", nil
	}
	b, err := os.ReadFile(filepath.Join(a.data, tokenFile))
	if os.IsNotExist(err) {
		return "", nil
	}
	return strings.TrimSpace(string(b)), fault.Wrap(fault.Denied, "read token", err)
}
