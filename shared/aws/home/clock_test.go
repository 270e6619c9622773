package home

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"southbound/shared/aws/awstest"
)

// TestClock pins that the time is that of the answers, as far as the clock of the machine is off by
// more than they say exactly, and that people are told.
func TestClock(t *testing.T) {
	t.Parallel()
	var off time.Duration
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(off).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, "{}")
	}))
	defer server.Close()
	var said bytes.Buffer
	c := &clock{log: slog.New(slog.NewTextHandler(&said, nil))}
	cfg := awstest.Config(server.URL, nil)
	c.install(&cfg)
	api := dynamodb.NewFromConfig(cfg)
	for _, step := range []struct {
		why  string
		off  time.Duration
		want time.Duration
		says string
	}{
		{"agrees", 0, 0, ""},
		{"a little off, which answers cannot tell", 2 * time.Second, 0, ""},
		{"behind", 5 * time.Minute, 5 * time.Minute, "5m0s behind"},
		{"about as far", 5*time.Minute + time.Second, 5 * time.Minute, ""},
		{"ahead", -time.Hour, -time.Hour, "1h0m0s ahead"},
		{"set right", 0, 0, ""},
	} {
		off = step.off
		said.Reset()
		if _, err := api.ListTables(t.Context(), &dynamodb.ListTablesInput{}); err != nil {
			t.Fatal(err)
		}
		if got := time.Until(c.Now()); (got - step.want).Abs() > 30*time.Second {
			t.Errorf("%s: the time is off by %v, expected %v", step.why, got, step.want)
		}
		if !strings.Contains(said.String(), step.says) ||
			step.says == "" && step.off != 0 && said.Len() > 0 {
			t.Errorf("%s: it says %q", step.why, said.String())
		}
	}
}
