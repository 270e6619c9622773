package ssh_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/cli"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport/ssh/sshtest"
)

// whole is a type that does all that a handler can do, served by two providers: files in the
// directory of an agent.
func whole() provider.Definition {
	return provider.Define(schema.Type{Name: "test::Whole", Description: "Everything.",
		Machine: true, Attributes: []schema.Attribute{
			{Name: "name", Type: "Pattern[/\\A[a-z]+\\z/]", Behaviour: schema.Namevar,
				Description: "its name"},
			{Name: "value", Type: "Optional[String]",
				Description: "what it holds; case does not count"},
			{Name: "bytes", Type: "Optional[String]", Behaviour: schema.Parameter,
				Description: "a file of which it tells the size"},
			{Name: "secret", Type: "Optional[Sensitive[String]]", Behaviour: schema.Parameter,
				Description: "what nobody may see"},
		}}, provider.Provider{Name: "plain", Description: "nothing", Handler: wholeHandler{}},
		provider.Provider{Name: "picky", Description: "what is there until it was used",
			Preference: 1, Handler: wholeHandler{},
			Needs: provider.Needs{Check: func(ctx *provider.Context) string {
				marker := filepath.Join(wholeDir(ctx), ".gone")
				if _, err := os.Stat(marker); err == nil {
					return "it was used"
				}
				// so it suits once: the run has to stay with it
				_ = os.WriteFile(marker, nil, 0o600)
				return ""
			}}})
}

func wholeDir(ctx *provider.Context) string {
	dir := filepath.Join(os.TempDir(), ctx.ID().Agent())
	_ = os.MkdirAll(dir, 0o700)
	return dir
}

func wholePath(ctx *provider.Context, r provider.Resource) string {
	name, _ := r.Attributes["name"].(string)
	return filepath.Join(wholeDir(ctx), name)
}

type wholeHandler struct{}

func (wholeHandler) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	made, err := provider.Cached(ctx, provider.Key{Name: "made"}, provider.Keep{},
		func(*provider.Context) (int, error) {
			ctx.Info("it is made once")
			return 7, nil
		})
	secret, _ := req.Resource.Attributes["secret"].(string)
	ctx.Debug("debug", "made", made)
	ctx.Warning("warning", "list", []string{"a"}, "secret", secret, "error", err)
	ctx.Error("error", "size", int64(1)<<40)
	if seen := visible(secret); secret != "" && seen != "" {
		return provider.Observation{}, fmt.Errorf("the secret can be seen in %s", seen)
	}
	text, err := os.ReadFile(wholePath(ctx, req.Resource))
	if errors.Is(err, os.ErrNotExist) {
		return provider.Observation{}, nil
	}
	return provider.Observation{Exists: true, Attributes: map[string]any{"value": string(text)}},
		err
}

// visible returns a process in whose arguments a text is.
func visible(text string) string {
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range lines {
		if b, _ := os.ReadFile(name); bytes.Contains(b, []byte(text)) {
			return name
		}
	}
	return ""
}

func (wholeHandler) Create(
	ctx *provider.Context, req provider.CreateRequest,
) (provider.Result, error) {
	if len(ctx.State()) == 0 {
		ctx.Info("it begins")
		return provider.Result{Again: &provider.Again{After: time.Millisecond,
			State: []byte("half")}}, nil
	}
	switch f := req.Resource.Attributes["bytes"].(type) {
	case string: // a file that is text, for an attribute that is text
		ctx.Info("it is there", "size", len(f))
	case resource.File:
		r, err := ctx.Files().Open(ctx, f.Hash)
		if err != nil {
			return provider.Result{}, err
		}
		defer r.Close()
		n, err := io.Copy(io.Discard, r)
		if err != nil {
			return provider.Result{}, err
		}
		ctx.Info("it was read", "size", n)
	}
	ctx.Fact("state", string(ctx.State()))
	return provider.Result{}, ctx.Creating("the file", func(ctx *provider.Context) error {
		return os.WriteFile(wholePath(ctx, req.Resource),
			[]byte(fmt.Sprint(req.Resource.Attributes["value"])), 0o600)
	})
}

func (wholeHandler) Update(
	ctx *provider.Context, req provider.UpdateRequest,
) (provider.Result, error) {
	ctx.Changed("value", req.Observed.Attributes["value"], "changed")
	return provider.Result{}, os.WriteFile(wholePath(ctx, req.Resource),
		[]byte(fmt.Sprint(req.Changes["value"].Desired)), 0o600)
}

func (wholeHandler) Delete(
	ctx *provider.Context, req provider.DeleteRequest,
) (provider.Result, error) {
	return provider.Result{}, os.Remove(wholePath(ctx, req.Resource))
}

func (wholeHandler) Reload(ctx *provider.Context, _ provider.ReadRequest) error {
	ctx.Info("it is reloaded", "reloading", ctx.Reloading())
	return nil
}

func (wholeHandler) Facts(
	ctx *provider.Context, req provider.ReadRequest,
) (map[string]any, error) {
	text, err := os.ReadFile(wholePath(ctx, req.Resource))
	return map[string]any{"size": fmt.Sprint(len(text)),
		"parts": []any{map[string]any{"n": len(text), "r": 5.0, "is": true, "no": nil}}}, err
}

func (wholeHandler) InSync(
	_ *provider.Context, attribute string, desired, seen any,
) (provider.Verdict, error) {
	if attribute == "value" && strings.EqualFold(fmt.Sprint(desired), fmt.Sprint(seen)) &&
		desired != seen {
		return provider.Verdict{Sync: provider.Same, Why: "case does not count"}, nil
	}
	return provider.Verdict{}, nil
}

func (wholeHandler) Noop(ctx *provider.Context, planned provider.BatchChange) error {
	ctx.Info("it would", "change", string(planned.Change), "dry", ctx.DryRun())
	return nil
}

func (wholeHandler) Flush(_ context.Context, done []provider.BatchChange) error {
	for _, d := range done {
		d.Context.Info("flushed") // how many go together depends on how fast they are
	}
	return nil
}

func (wholeHandler) List(ctx *provider.Context, found func(provider.Found) error) error {
	entries, err := os.ReadDir(wholeDir(ctx))
	for _, e := range entries {
		if err == nil && !strings.HasPrefix(e.Name(), ".") {
			text, _ := os.ReadFile(filepath.Join(wholeDir(ctx), e.Name()))
			err = found(
				provider.Found{Attributes: map[string]any{"name": e.Name(), "value": string(text)}})
		}
	}
	return err
}

// TestWhole does everything here and on a machine, and the records are the same.
func TestWhole(t *testing.T) {
	const secret = "hunter2-of-the-tests"
	t.Setenv("WHOLE_SECRET", secret)
	t.Setenv("SOUTHBOUND_PROGRAMS", small.Dir)
	s, types := start(t, sshtest.Self(t)), definitions()
	agent := fmt.Sprintf("sb-whole-%d", os.Getpid())
	things, programs := filepath.Join(os.TempDir(), agent), filepath.Join(t.TempDir(), "programs")
	t.Cleanup(func() { _ = os.RemoveAll(things) })
	var records [2]string
	for i, transport := range []string{"{transport: local}",
		fmt.Sprintf(
			"{transport: ssh, host: 127.0.0.1, port: %d, user: %s, key_file: %s, host_key: %q, "+
				"directory: %s}", s.Port, s.Login, s.User.File, s.Host.Public, programs)} {
		_ = os.RemoveAll(things)
		dir := t.TempDir()
		var all strings.Builder
		run := func(code int, args ...string) {
			t.Helper()
			var out, say bytes.Buffer
			if got := cli.Main(types, append(args, "--data", filepath.Join(dir, "data"),
				"--no-color", "--json"), nil, &out, &say); got != code {
				t.Errorf("%v: exit code %d, expected %d\n%s%s", args, got, code, &out, &say)
			}
			all.WriteString(strings.Join(args[:1], " ") + "\n" + plain(out.String()))
		}
		write(t, filepath.Join(dir, "bytes"), strings.Repeat("x", 700_000), 0o600)
		site := filepath.Join(dir, "site.yaml")
		document := fmt.Sprintf(
			"southbound: 1\nagents:\n  %[1]s: %[2]s\ndefaults: {agent: %[1]s}\nresources:\n"+
				"  - {type: test::Whole, send_event: true, attributes: {name: a, value: one, "+
				"bytes: "+
				"{file: bytes}, secret: {secret: \"env:WHOLE_SECRET\"}}}\n"+
				"  - {type: test::Whole, attributes: {name: b, value: two, provider: plain}, "+
				"requires: [\"test::Whole[%[1]s,name=a]\"]}\n"+
				"  - {type: test::Whole, attributes: {name: c, value: {text: [{fact: parts/0/n, of: "+
				"\"test::Whole[%[1]s,name=a]\"}]}}}\n", agent, transport)
		write(t, site, document, 0o600)
		run(0, "apply", site)
		run(0, "facts")
		write(t, filepath.Join(things, "a"), "drift", 0o600)
		write(t, filepath.Join(things, "b"), "TWO", 0o600)
		run(0, "dryrun")
		run(0, "repair")
		run(0, "discover", "test::Whole", "--agent", agent)
		write(t, site, strings.ReplaceAll(document, "{type: test::Whole,",
			"{type: test::Whole, purged: true,"), 0o600)
		run(0, "apply", site)
		run(0, "logs")
		records[i] = all.String()
		if strings.Contains(records[i], secret) {
			t.Error("the secret is in the output")
		}
		holds(t, secret, dir, things, programs)
	}
	for _, part := range []string{"it is made once", "DEBUG", "it begins", `"size":700000`,
		`"value":[{"is":true,"n":3,"no":null,"r":5}]`, "half",
		"it is reloaded", "case does not count", "it would", "flushed", `"provider":"picky"`} {
		if !strings.Contains(records[0], part) {
			t.Errorf("no %q in the records", part)
		}
	}
	if d := cmp.Diff(records[0], records[1]); d != "" {
		t.Errorf("here (-) and on a machine (+):\n%s", d)
	}
}

// holds checks that no file below directories holds a text.
func holds(t *testing.T, text string, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return nil // it is not there
			}
			if b, _ := os.ReadFile(path); bytes.Contains(b, []byte(text)) {
				t.Errorf("%s holds the secret", path)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// plain removes from lines of JSON what differs between two runs of the same.
func plain(lines string) string {
	var out []string
	for line := range strings.Lines(lines) {
		var v any
		if json.Unmarshal([]byte(line), &v) != nil {
			out = append(out, line)
			continue
		}
		b, _ := json.Marshal(without(v))
		out = append(out, string(b)+"\n")
	}
	slices.Sort(out)
	return strings.Join(out, "")
}

func without(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for name, e := range v {
			switch name {
			case "agents", "id", "at", "seen_at", "started", "finished", "duration_ms",
				"last_action", "pack", "took", "took_ms", "ms", "updated":
				delete(v, name)
			default:
				v[name] = without(e)
			}
		}
	case []any:
		for i := range v {
			v[i] = without(v[i])
		}
	}
	return v
}
