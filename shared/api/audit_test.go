package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"southbound/shared/api"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// audit returns the newest entries of the audit, as text, and those of a client, which are the same.
func (w *world) audit(t *testing.T, env string, limit int) []string {
	t.Helper()
	var out []string
	for _, home := range []api.Home{w.service, w.client(t)} {
		page, err := home.AuditPage(t.Context(), env, api.AuditQuery{Limit: limit})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, e := range page.Items {
			texts = append(texts, fmt.Sprintf("%s:%s %s %s %q %s", e.Via, e.By, e.Act,
				strings.Join(e.Targets, ","), e.Message, e.Outcome))
		}
		if out != nil && !slices.Equal(out, texts) {
			t.Errorf("a client reads %q, and the service %q", texts, out)
		}
		out = texts
	}
	return out
}

// TestAuditRecords pins what each request leaves in the audit, in both homes.
func TestAuditRecords(t *testing.T) {
	t.Parallel()
	w, _, site := offices(t)
	if _, err := w.service.Export(t.Context(), "default", exportOf(nulls(2)), nil); err != nil {
		t.Fatal(err)
	}
	const env = "default"
	id := "std::Null[a,name=n0]"
	o, err := w.client(t).Orders()
	if err != nil {
		t.Fatal(err)
	}
	version := func() int64 {
		i, err := o.Instance(t.Context(), env, orders.Ref{Service: "site", ID: site})
		if err != nil {
			t.Fatal(err)
		}
		return i.Version
	}
	for _, c := range []struct {
		want string
		do   func(ctx context.Context, h api.Home) error
	}{
		{`pause a,b "why, ü 100%" done`, func(ctx context.Context, h api.Home) error {
			return h.Pause(ctx, env, true, "a", "b")
		}},
		{`resume a "why, ü 100%" done`, func(ctx context.Context, h api.Home) error {
			return h.Pause(ctx, env, false, "a")
		}},
		{`halt  "why, ü 100%" done`, func(ctx context.Context, h api.Home) error {
			return h.Halt(ctx, env, true)
		}},
		{`unhalt  "why, ü 100%" done`, func(ctx context.Context, h api.Home) error {
			return h.Halt(ctx, env, false)
		}},
		{`deploy agent=a,type=std::Null "why, ü 100%" done`, func(ctx context.Context, h api.Home) error {
			_, err := h.Schedule(ctx, env, api.Work{Filter: []string{"agent=a", "type=std::Null"}})
			return err
		}},
		{`repair  "why, ü 100%" done`, func(ctx context.Context, h api.Home) error {
			_, err := h.Schedule(ctx, env, api.Work{Repair: true})
			return err
		}},
		{`release version 1 "of the release" done`, func(ctx context.Context, h api.Home) error {
			_, err := h.Release(ctx, env, 1, api.Origin{Message: "of the release"})
			return err
		}},
		{`export commit abc,version 2,unchanged "of the version" done`, func(ctx context.Context, h api.Home) error {
			x := exportOf(nulls(2))
			x.Origin = state.Origin{Author: "ann", Message: "of the version", Commit: "abc"}
			_, err := h.Export(ctx, env, x, nil)
			return err
		}},
		{`forget ` + id + ` "why, ü 100%" failed`, func(ctx context.Context, h api.Home) error {
			if _, err := h.Forget(ctx, env, api.Forgetting{ID: "std::Null[a,name=n0]"}); err == nil {
				return errors.New("a managed resource was forgotten")
			}
			return nil
		}},
		{`set_parameter p "why, ü 100%" done`, func(ctx context.Context, h api.Home) error {
			_, err := h.SetParameter(ctx, env, "p", "a value")
			return err
		}},
		{`delete_parameter p "why, ü 100%" done`, func(ctx context.Context, h api.Home) error {
			return h.DeleteParameter(ctx, env, "p")
		}},
		{`force_state site/` + site + `,state up "of the order" done`,
			func(ctx context.Context, h api.Home) error {
				o, err := h.Orders()
				if err != nil {
					return err
				}
				v := version()
				_, err = o.Force(ctx, env, orders.Wish{Ref: orders.Ref{Service: "site", ID: site},
					Version: &v, Message: "of the order"}, "up", lifecycle.Operation(""))
				return err
			}},
	} {
		for caller, home := range map[string]api.Home{
			"token:" + tokenName: w.client(t), "console:ann": w.service,
		} {
			ctx := api.WithMessage(t.Context(), "why, ü 100%")
			if home == api.Home(w.service) {
				ctx = api.WithCaller(ctx, api.Caller{User: "ann", Via: api.ViaConsole})
			}
			if err := c.do(ctx, home); err != nil {
				t.Errorf("%s: %v", c.want, err)
			}
			if got := w.audit(t, env, 1)[0]; got != caller+" "+c.want {
				t.Errorf("%q, want %q", got, caller+" "+c.want)
			}
		}
	}
	if _, err := w.client(t).Export(api.WithMessage(t.Context(), "more"), env, exportOf(nulls(3)), nil); err != nil {
		t.Fatal(err)
	}
	if got, want := w.audit(t, env, 1)[0], "token:"+tokenName+` export version 3 "more" done`; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	// what reads leaves nothing, and neither does what the engine does itself
	before := len(w.audit(t, env, 1000))
	if _, err := w.service.Resource(t.Context(), env, "std::Null[a,name=n0]"); err != nil {
		t.Fatal(err)
	}
	if after := len(w.audit(t, env, 1000)); after != before {
		t.Errorf("%d entries, and then %d", before, after)
	}
	if text := strings.Join(w.audit(t, env, 1000), "\n"); strings.Contains(text, "a value") {
		t.Errorf("the value of a parameter: %s", text)
	}
}

// TestOnBehalf records the user for whom a console makes a request, with the bearer of the token, and
// refuses a header that names no user. The header grants nothing.
func TestOnBehalf(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	if _, err := w.service.Export(t.Context(), "e", exportOf(nulls(1)), nil); err != nil {
		t.Fatal(err)
	}
	for via, want := range map[string]string{
		api.ViaProxy: "console:änn (" + tokenName + ") halt  \"\" done", api.ViaOS: "token:" + tokenName + " halt  \"\" done",
	} {
		ctx := api.WithCaller(t.Context(), api.Caller{User: "änn", Via: via})
		if err := w.client(t).Halt(ctx, "e", true); err != nil {
			t.Fatal(err)
		}
		if got := w.audit(t, "e", 1)[0]; got != want {
			t.Errorf("%s: %q, want %q", via, got, want)
		}
	}
	for _, name := range []string{"%zz", "a%0Ab", strings.Repeat("x", 201), "%ff"} {
		if resp, text := w.ask(t, "POST", "/v1/environments/e/halt", `{"halted":true}`,
			"Southbound-User", name); resp.StatusCode != 422 || !strings.Contains(text, "does not name a user") {
			t.Errorf("%q: %d %s", name, resp.StatusCode, text)
		}
	}
}

// brokenAudit fails to write a record, of which the given number has been written.
type brokenAudit struct {
	state.AuditLog
	writes int
}

func (b *brokenAudit) PutAudit(ctx context.Context, env string, r state.AuditRecord) error {
	if b.writes--; b.writes < 0 {
		return fault.New(fault.Unavailable, "write audit", "the disk is away")
	}
	return b.AuditLog.PutAudit(ctx, env, r)
}

// TestNoActWithoutRecord pins that nothing happens that could not be recorded, and that what happened
// keeps its result if only its outcome could not be: then the record says unknown.
func TestNoActWithoutRecord(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	if _, err := w.service.Engine.Export(t.Context(), "e", exportOf(nulls(1))); err != nil {
		t.Fatal(err)
	}
	for writes, want := range []struct {
		halted  bool
		kind    fault.Kind
		outcome string
	}{{false, fault.Unavailable, ""}, {true, fault.Unknown, "unknown"}, {true, fault.Unknown, "done"}} {
		if err := w.service.Engine.Halt(t.Context(), "e", false); err != nil {
			t.Fatal(err)
		}
		s := api.New(api.Config{Engine: w.service.Engine,
			Audit: &brokenAudit{AuditLog: w.home, writes: writes}})
		err := s.Halt(t.Context(), "e", true)
		if kind := fault.KindOf(err); kind != want.kind && (err != nil || want.kind != fault.Unknown) {
			t.Errorf("%d writes: %v", writes, err)
		}
		p, err := s.Progress(t.Context(), "e")
		if err != nil || p.Halted != want.halted {
			t.Errorf("%d writes: halted is %v, %v", writes, p.Halted, err)
		}
		page, err := w.service.AuditPage(t.Context(), "e", api.AuditQuery{Limit: 1})
		switch {
		case err != nil:
			t.Error(err)
		case want.outcome == "" && len(page.Items) > 0,
			want.outcome != "" && page.Items[0].Outcome != want.outcome:
			t.Errorf("%d writes: %+v", writes, page.Items)
		}
	}
}

// TestAuditPages pins the order of pages, and their bounds.
func TestAuditPages(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	if _, err := w.service.Engine.Export(t.Context(), "e", exportOf(nulls(1))); err != nil {
		t.Fatal(err)
	}
	many := make([]string, 150)
	for i := range many {
		many[i] = fmt.Sprintf("agent-%03d", i)
	}
	for i := range 5 {
		if err := w.service.Pause(t.Context(), "e", i%2 == 0, many...); err != nil {
			t.Fatal(err)
		}
	}
	for _, home := range []api.Home{w.service, w.client(t)} {
		var acts []string
		q := api.AuditQuery{Limit: 2}
		for pages := 1; ; pages++ {
			page, err := home.AuditPage(t.Context(), "e", q)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range page.Items {
				acts = append(acts, e.Act)
				if len(e.Targets) != 100 || e.More != 50 || e.Ended == nil {
					t.Errorf("%+v", e)
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				if pages != 3 {
					t.Errorf("%d pages", pages)
				}
				break
			}
		}
		if got := strings.Join(acts, " "); got != "pause resume pause resume pause" {
			t.Error(got)
		}
		page, err := home.AuditPage(t.Context(), "e",
			api.AuditQuery{Limit: 9, Since: time.Now().Add(time.Hour)})
		if err != nil || len(page.Items) > 0 {
			t.Error(page, err)
		}
		if _, err := home.AuditPage(t.Context(), "x", api.AuditQuery{}); !fault.Is(err, fault.NotFound) {
			t.Error(err)
		}
	}
}

// TestRoles pins who may change something, and what discovery says about it.
func TestRoles(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	if _, err := w.service.Export(t.Context(), "e", exportOf(nulls(1)), nil); err != nil {
		t.Fatal(err)
	}
	g := api.Guard{Token: token, ReadToken: readToken, Names: [2]string{"all", "reads"},
		Hosts: []string{w.Listener.Addr().String()}, UserHeader: "X-User", RoleHeader: "X-Role",
		Behind: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}
	behind := g.Wrap(api.Handler(w.service))
	g.Behind = nil
	direct := g.Wrap(api.Handler(w.service))
	for _, c := range []struct {
		why, token, user, role string
		proxy                  bool
		wants                  string // user and whether it only reads; "": refused
	}{
		{"the token", token, "", "", false, "all false"},
		{"the token that reads", readToken, "", "", false, "reads true"},
		{"a wrong token", "x", "", "", false, ""},
		{"no token", "", "", "", false, ""},
		{"headers of a stranger", token, "eve", "viewer", false, "all false"},
		{"headers of a stranger, to get more", readToken, "eve", "operator", false, "reads true"},
		{"an operator", token, "ann", "operator", true, "ann false"},
		{"another role", token, "bob", "viewer", true, "bob true"},
		{"a role that is written in another way", token, "bob", "Operator", true, "bob true"},
		{"no role", token, "bob", "", true, "bob true"},
		{"a role gives no more than the token", readToken, "ann", "operator", true, "ann true"},
		{"a proxy without the token", "", "ann", "operator", true, ""},
	} {
		w.Config.Handler = direct
		if c.proxy {
			w.Config.Handler = behind
		}
		header := []string{"Authorization", "Bearer " + c.token, "X-User", c.user, "X-Role", c.role}
		_, text := w.ask(t, "GET", "/", "", header...)
		for _, part := range strings.Fields(c.wants)[:min(1, len(strings.Fields(c.wants)))] {
			if !strings.Contains(text, `"user":"`+part+`"`) {
				t.Errorf("%s: %s", c.why, text)
			}
		}
		reads := strings.HasSuffix(c.wants, "true")
		if strings.Contains(text, `"read_only":true`) != reads {
			t.Errorf("%s: %s", c.why, text)
		}
		if c.wants == "" && strings.Contains(text, `"user"`) {
			t.Errorf("%s: %s", c.why, text)
		}
		for method, path := range map[string]string{"GET": "/v1/environments/e/resources",
			"POST": "/v1/environments/e/halt", "PUT": "/v1/environments/e/parameters/p"} {
			body := map[string]string{"POST": `{"halted":false}`, "PUT": `{"value":"v"}`}[method]
			resp, text := w.ask(t, method, path, body,
				append(header, "Content-Type", "application/json")...)
			want := http.StatusOK
			switch {
			case c.wants == "":
				want = http.StatusUnauthorized
			case reads && method != "GET":
				want = http.StatusForbidden
			}
			if resp.StatusCode != want {
				t.Errorf("%s: %s: %d %s", c.why, method, resp.StatusCode, text)
			}
			if want == http.StatusForbidden && !strings.Contains(text, "this caller may only read") {
				t.Errorf("%s: %s", c.why, text)
			}
		}
	}
	// a page that calls the service in its process
	ctx := api.WithCaller(t.Context(), api.Caller{User: "bob", Via: api.ViaConsole, ReadOnly: true})
	if err := w.service.Halt(ctx, "e", true); !fault.Is(err, fault.Denied) {
		t.Error(err)
	}
}

// TestMessages pins which messages are refused, before anything happens.
func TestMessages(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	if _, err := w.service.Export(t.Context(), "e", exportOf(nulls(1)), nil); err != nil {
		t.Fatal(err)
	}
	for value, want := range map[string]int{
		"plain words": 200, "100%25": 200, "line%0Abreak": 200,
		strings.Repeat("x", 1000): 200, strings.Repeat("x", 1001): 422,
		"100%": 422, "%ff": 422, "bell%07": 422, "%00": 422,
	} {
		resp, text := w.ask(t, "POST", "/v1/environments/e/halt", `{"halted":true}`,
			"Content-Type", "application/json", "Southbound-Message", value)
		if resp.StatusCode != want {
			t.Errorf("%.20q: %d %s", value, resp.StatusCode, text)
		}
	}
	if n := len(w.audit(t, "e", 100)); n != 5 {
		t.Errorf("%d entries, want the export and 4", n)
	}
}

func exportOf(m *model.Model) deploy.Export { return deploy.Export{Model: m} }
