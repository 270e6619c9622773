//go:build servers

package cli_test

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/rogpeppe/go-internal/testscript"

	"southbound/handlers"
	"southbound/localstack/server"
	"southbound/shared/api"
	"southbound/shared/aws/home"
	"southbound/shared/aws/home/hometest"
	"southbound/shared/deploy"
	"southbound/shared/transport"
)

// TestScriptsOverAWS runs the scripts against the ports of AWS on an emulator: the API of that home is served here, agents of this machine are served
// by `southbound agent run`.
func TestScriptsOverAWS(t *testing.T) {
	s, err := server.Start(t.Context(), server.MiniStack)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	stack := hometest.New(t, s.URL, handlers.All())
	h := stack.Open(t, func(c *home.Config) {
		c.Connector = func(deploy.Secrets) deploy.Connector { return &transport.Connector{Local: true} }
	})
	h.Signer.Credentials = credentials.NewStaticCredentialsProvider("test", "test", "") // what the emulator checks presigned requests with
	service := api.New(api.Config{Engine: h.Engine, History: h.ParameterHistory, Sign: func(ctx context.Context, hash string, size int64) (api.Upload, error) {
		u, err := h.Signer.Upload(ctx, hash, size, time.Hour)
		return api.Upload(u), err
	}})
	there := httptest.NewServer(api.Handler(service))
	t.Cleanup(there.Close)
	for name, value := range map[string]string{home.EnvTable: stack.Config.Table, home.EnvBucket: stack.Config.Bucket, home.EnvPrefix: stack.Config.Prefix,
		home.EnvEndpoint: s.URL, "AWS_REGION": stack.AWS.Region, "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testtest", "AWS_EC2_METADATA_DISABLED": "true"} {
		t.Setenv(name, value)
	}
	stop := sweeps(t, h)
	defer stop()
	p := params("api")
	p.Dir = ""
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txtar")
		if notRemote[name] == "" && name != "whole" { // its secret is in a file, which functions have none of
			p.Files = append(p.Files, f)
		}
	}
	p.Setup = func(env *testscript.Env) error {
		ship(env)
		return through(env, there.URL)
	}
	t.Run("scripts", func(t *testing.T) { testscript.Run(t, p) })
}

// sweeps does each second what the sweep function does each minute, until it is stopped.
func sweeps(t *testing.T, h *home.Home) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for h.Engine.Clock.Sleep(ctx, time.Second) == nil {
			envs, err := h.State.Envs(ctx)
			for _, env := range envs {
				if _, e := h.Engine.Sweep(ctx, env); err == nil {
					err = e
				}
			}
			if err != nil && ctx.Err() == nil {
				t.Logf("sweep: %v", err)
			}
		}
	}()
	return func() {
		cancel()
		<-done
	}
}
