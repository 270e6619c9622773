package http

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"southbound/localstack/server"
	"southbound/shared/provider/providertest"
	conn "southbound/shared/transport/http"
)

// alertmanager starts a real Alertmanager and returns the base of its API.
func alertmanager(t *testing.T) string {
	t.Helper()
	program, err := server.Program(t.Context(), "prometheus-alertmanager",
		"prometheus-alertmanager")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "am.yml"),
		[]byte("route: {receiver: none}\nreceivers: [{name: none}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	run := append(withShared(program), program, "--config.file="+filepath.Join(dir, "am.yml"),
		"--storage.path="+dir, "--web.listen-address="+address, "--cluster.listen-address=")
	cmd := exec.Command(run[0], run[1:]...)
	var said bytes.Buffer
	cmd.Stderr = &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	base := "http://" + address + "/api/v2"
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/silences", nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
			return base
		}
		timer := time.NewTimer(20 * time.Millisecond)
		select {
		case <-timer.C:
		case <-ctx.Done():
			t.Fatalf("it does not start: %s", said.String())
		}
	}
}

// withShared returns the beginning of a command that sees the shared files of a package that is
// unpacked and not installed where it looks for them: nothing when it is installed.
func withShared(program string) []string {
	const shared = "/usr/share/prometheus/alertmanager"
	if _, err := os.Stat(shared); err == nil {
		return nil
	}
	unpacked := filepath.Join(filepath.Dir(filepath.Dir(program)), shared)
	const script = `mount -t tmpfs none /usr/share && mkdir /usr/share/prometheus && ln -s "$0" /usr/share/prometheus/alertmanager && exec "$@"`
	run := []string{"unshare", "--mount"}
	if os.Geteuid() != 0 {
		run = append(run, "--map-root-user")
	}
	return append(run, "sh", "-c", script, unpacked)
}

// silence is one of Alertmanager.
type silence struct {
	ID      string `json:"id"`
	Comment string `json:"comment"`
	Status  struct {
		State string `json:"state"`
	} `json:"status"`
	Matchers []map[string]any `json:"matchers"`
}

// TestAlertmanager runs the suite against an API that chooses ids, says them at another place than
// that of the object, replaces objects by others when some of their members change, takes updates
// where it takes creates, and shows what was deleted for days.
func TestAlertmanager(t *testing.T) {
	t.Parallel()
	base := alertmanager(t)
	var sessions conn.Sessions
	defer sessions.Close()
	options := m{"url": base, "retry": int64(2)}
	c, err := sessions.Connect(t.Context(), options, nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method, path string, out any) error {
		req, err := http.NewRequestWithContext(context.Background(), method, base+path, nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		defer func() { _ = res.Body.Close() }()
		if out == nil {
			return nil
		}
		return json.NewDecoder(res.Body).Decode(out)
	}
	there := func(prefix string) (out []silence, err error) {
		var all []silence
		err = ask(http.MethodGet, "/silences", &all)
		for _, s := range all {
			if s.Status.State != "expired" && strings.HasPrefix(s.Comment, prefix) {
				out = append(out, s)
			}
		}
		return out, err
	}
	var places atomic.Int64
	providertest.Run(t, providertest.Subject{Definition: resolved(), Transport: c,
		New: func(string, *providertest.Host) (providertest.Case, error) {
			prefix := fmt.Sprintf("p%d-", places.Add(1))
			bodies := func(job string, more m) m {
				body := m{"comment": "${prefix}${name}", "createdBy": "ops",
					"startsAt": "2100-01-01T00:00:00Z", "endsAt": "2100-01-02T00:00:00.000Z",
					"matchers": []any{m{"name": "job", "value": job, "isRegex": false,
						"isEqual": true}}}
				for k, v := range more {
					body[k] = v
				}
				return m{"body": body}
			}
			of := func(name, job string) m {
				out := bodies(job, nil)
				maps.Copy(out, m{"name": name, "vars": m{"prefix": prefix},
					"collection": "/silences", "path": "/silence/{id}",
					"methods": m{"update": "POST"}, "paths": m{"update": "/silences"},
					"new_id_at": "/silenceID", "update_id": "id", "ignore": []any{"/startsAt"},
					"gone": m{"status": m{"state": "expired"}}, "settle": int64(1),
					"facts": m{"state": "/status/state"}})
				return out
			}
			return providertest.Case{Attributes: of("x", "batch"),
				Updates: []map[string]any{bodies("batch", m{"createdBy": "others"}),
					bodies("web", nil), bodies("web", m{"endsAt": "2100-02-02T00:00:00.000Z"})},
				Others: []map[string]any{of("y", "y"), of("z", "z")},
				World: func() (string, error) {
					all, err := there(prefix)
					var lines []string
					for _, s := range all {
						lines = append(lines, fmt.Sprint(strings.TrimPrefix(s.Comment, prefix),
							s.Matchers))
					}
					slices.Sort(lines)
					return strings.Join(lines, "\n"), err
				},
				Vanish: func() error {
					all, err := there(prefix + "x")
					for _, s := range all {
						err = ask(http.MethodDelete, "/silence/"+s.ID, nil)
					}
					return err
				},
				Like: m{"name": "/comment", "collection": "/silences", "path": "/silence/{id}",
					"gone": m{"status": m{"state": "expired"}}},
				Unlisted: "all places are in one list"}, nil
		}})
	if all, err := there("p"); err != nil || places.Load() == 0 {
		t.Errorf("%d places, %v, %v", places.Load(), all, err)
	}
}
