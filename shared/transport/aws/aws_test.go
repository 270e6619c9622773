package aws_test

import (
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"southbound/shared/fault"
	"southbound/shared/transport/aws"
)

func client(c *aws.Conn) *sts.Client {
	return aws.Client(c, func(cfg sdk.Config) *sts.Client { return sts.NewFromConfig(cfg) })
}

// TestSessions pins that runs with the same options share a session, and that it ends when nobody
// has used it for long.
func TestSessions(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "testtest")
	now := time.Unix(1_000_000, 0)
	s := &aws.Sessions{Now: func() time.Time { return now }}
	connect := func(region string) *aws.Conn {
		t.Helper()
		c, err := s.Connect(t.Context(), "a", map[string]any{"region": region})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := connect("eu-west-1")
	have := client(first)
	if region := first.Config().Region; region != "eu-west-1" {
		t.Errorf("the region is %s", region)
	}
	_, _ = first.Close(), first.Close() // twice is once
	now = now.Add(5 * time.Minute)
	if other := connect("eu-west-2"); client(other) == have {
		t.Error("another region has the same session")
	}
	second := connect("eu-west-1")
	if client(second) != have {
		t.Error("the next run has another session")
	}
	now = now.Add(time.Hour)
	third := connect("eu-west-1")
	if client(third) != have {
		t.Error("a session that is in use was forgotten")
	}
	_, _ = second.Close(), third.Close()
	now = now.Add(time.Hour)
	if client(connect("eu-west-1")) == have {
		t.Error("a session that nobody used for an hour was kept")
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestEndpoint pins that a process on an emulator stays there, unless an agent says otherwise.
func TestEndpoint(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "testtest")
	t.Setenv("AWS_ENDPOINT_URL", "")
	s := aws.Sessions{Endpoint: "http://127.0.0.1:4566"}
	for own, want := range map[string]string{"": "http://127.0.0.1:4566",
		"http://127.0.0.1:9": "http://127.0.0.1:9"} {
		options := map[string]any{"region": "eu-west-1"}
		if own != "" {
			options["endpoint"] = own
		}
		c, err := s.Connect(t.Context(), "a", options)
		if err != nil {
			t.Fatal(err)
		}
		if cfg := c.Config(); cfg.BaseEndpoint == nil || *cfg.BaseEndpoint != want {
			t.Errorf("agent's own %q: the endpoint is %v, want %s", own, cfg.BaseEndpoint, want)
		}
		_ = c.Close()
	}
	_ = s.Close()
}

// TestNoCredentials pins that an agent without credentials is told apart at once, with what to do.
func TestNoCredentials(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", "/nonexistent")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
	var s aws.Sessions
	_, err := s.Connect(t.Context(), "a", map[string]any{"region": "eu-west-1"})
	if err == nil || fault.HintOf(err) == "" {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
	_, err = s.Connect(t.Context(), "a",
		map[string]any{"region": "eu-west-1", "profile": "missing"})
	if !fault.Is(err, fault.Invalid) {
		t.Errorf("a profile that does not exist: %v", err)
	}
}
