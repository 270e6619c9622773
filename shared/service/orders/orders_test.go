package orders_test

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/local"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

const env = "default"

func ptr[T any](v T) *T { return &v }

// fixture is where orders are placed, over a home in files.
type fixture struct {
	*testing.T
	*orders.Service
	told int // times that tasks were announced
	// invalid and broken are identities of instances that no validation lets through, and whose
	// resources fail.
	invalid, broken map[string]bool
}

func open(t *testing.T) *fixture {
	t.Helper()
	home, err := local.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = home.Close() })
	defs := home.Definitions()
	if err := defs.Put(t.Context(), env, "b",
		[]definition.Service{customer(t), site(t)}); err != nil {
		t.Fatal(err)
	}
	d := &fixture{T: t}
	d.Service = orders.New(orders.Config{
		Definitions: defs, Instances: home.Instances(), Book: home.Instances(),
		Changed: func(string) { d.told++ },
	})
	return d
}

func machine(t *testing.T, name string) lifecycle.Machine {
	t.Helper()
	data, err := os.ReadFile("../lifecycle/testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	m := new(lifecycle.Machine)
	if err := json.Unmarshal(data, m); err != nil {
		t.Fatal(err)
	}
	return *m
}

func customer(t *testing.T) definition.Service {
	return definition.Service{
		Name: "customer", Default: true, Identity: ptr("name"), Lifecycle: machine(t, "service"),
		Part: definition.Part{Attributes: []definition.Attribute{
			{Name: "name", Type: "string", Modifier: definition.Once},
			{Name: "mail", Type: "string?", Modifier: definition.ReadWrite},
		}},
	}
}

// site has attributes of every modifier, members that are held, and relations to customers.
func site(t *testing.T) definition.Service {
	quota := definition.Attribute{
		Name: "quota", Type: "int", Modifier: definition.ReadWrite, DefaultSet: true, Default: 5,
		ValidationType: ptr("pydantic.conint"), ValidationParam: map[string]any{"ge": 1, "le": 100},
	}
	return definition.Service{
		Name: "site", Default: true, Identity: ptr("host"), Strict: true,
		Lifecycle: machine(t, "service"),
		Part: definition.Part{
			Attributes: []definition.Attribute{
				{Name: "host", Type: "string", Modifier: definition.Once}, quota,
				{Name: "address", Type: "string?", Modifier: definition.ReadOnly},
				{Name: "note", Type: "string?", Modifier: definition.ReadWrite},
			},
			Embedded: []definition.Embedded{{
				Name: "databases", Modifier: definition.Once,
				Part: definition.Part{
					KeyAttributes: []string{"name"},
					Attributes: []definition.Attribute{
						{Name: "name", Type: "string", Modifier: definition.Once},
						{Name: "size", Type: "int", Modifier: definition.ReadWrite},
					},
					Relations: []definition.Relation{{
						Name: "payer", Service: "customer", Modifier: definition.ReadWrite,
						Limits: definition.Limits{Upper: ptr(1)},
					}},
				},
			}},
			Relations: []definition.Relation{{
				Name: "customer", Service: "customer", Modifier: definition.Once,
				Limits: definition.Limits{Lower: 1, Upper: ptr(1)},
			}},
		},
	}
}

func object(t *testing.T, text string) orders.Attributes {
	t.Helper()
	var out orders.Attributes
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// create orders an instance that is taken.
func (d *fixture) create(service, attributes string) orders.Instance {
	d.Helper()
	i, err := d.Create(d.Context(), env, orders.Creation{
		Service: service, Attributes: object(d.T, attributes),
	})
	if err != nil {
		d.Fatal(err)
	}
	return i
}

// work does all tasks, as a home does.
func (d *fixture) work() {
	d.Helper()
	for range 100 {
		due, err := d.Instances.Due(d.Context(), env, d.Now(), 0)
		if err != nil {
			d.Fatal(err)
		}
		if len(due) == 0 {
			return
		}
		for _, r := range due {
			d.task(r)
		}
	}
	d.Fatal("there is no end")
}

func (d *fixture) task(r inventory.Record) {
	d.Helper()
	kept, err := d.Definitions.Of(d.Context(), env, r.Service, r.ServiceVersion, r.Definition)
	if err != nil {
		d.Fatal(err)
	}
	task := r.Tasks[0]
	r = r.Finish(task)
	c := inventory.Change{Record: r}
	var e lifecycle.Event
	switch task.Kind {
	case inventory.TaskValidate:
		e = lifecycle.Validated{Version: task.Number, Failed: d.invalid[r.Identity]}
	case inventory.TaskExport:
		done := lifecycle.Resources{Desired: task.Number, Outcome: lifecycle.Deployed}
		if d.broken[r.Identity] {
			done.Outcome = lifecycle.Failed
		}
		e = done
	case inventory.TaskContinue:
		e = lifecycle.Auto{}
	case inventory.TaskGone:
	}
	if e != nil {
		if c, err = inventory.Advance(&kept.Service, r, e, d.Now()); err != nil {
			d.Fatal(err)
		}
	}
	if _, err = d.Instances.Write(d.Context(), env, []inventory.Change{c}); err != nil {
		d.Fatal(err)
	}
}

func (d *fixture) is(ref orders.Ref) orders.Instance {
	d.Helper()
	i, err := d.Instance(d.Context(), env, ref)
	if err != nil {
		d.Fatal(err)
	}
	return i
}

// said returns what an error is about: attributes and codes, or its kind.
func said(err error) string {
	problems, _ := diag.Of(err)
	if len(problems) == 0 {
		return string(fault.KindOf(err))
	}
	var out []string
	for _, p := range problems {
		out = append(out, strings.TrimSpace(p.Resource+" "+p.Attribute+" "+p.Code))
	}
	return strings.Join(out, ", ")
}

// TestLife takes an instance from its order to its end.
func TestLife(t *testing.T) {
	t.Parallel()
	d := open(t)
	acme := d.create("customer", `{"name": "acme"}`)
	if acme.State != "start" || acme.Version != 1 || acme.Settled || *acme.Identity != "acme" ||
		d.told != 1 {
		t.Fatalf("%+v", acme)
	}
	d.work()
	one := d.create("site", `{"host": "a.example", "customer": "identity=acme",
		"databases": [{"name": "shop", "size": 1, "payer": "name=acme"}]}`)
	if one.Candidate["customer"] != acme.ID || fmt.Sprint(one.Candidate["quota"]) != "5" {
		t.Fatalf("%+v", one.Candidate)
	}
	d.work()
	ref := orders.Ref{Service: "site", ID: "host=a.example"}
	one = d.is(ref)
	if one.State != "up" || one.Label != "success" || !one.Settled || one.Failed {
		t.Fatalf("%+v", one)
	}
	if by := d.is(orders.Ref{ID: acme.ID}).ReferredBy; len(by) != 1 || by[0] != one.ID {
		t.Errorf("referred by %q", by)
	}
	_, err := d.Delete(t.Context(), env, orders.Wish{Ref: orders.Ref{ID: acme.ID}})
	if want := "customer/acme is needed by site/a.example,"; said(err) != "refused" ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("what is needed is deleted: %v", err)
	}
	up, err := d.Update(
		t.Context(),
		env,
		orders.Wish{Ref: ref, Version: &one.Version, Message: "more"},
		object(t, `{"quota": 7}`),
	)
	if err != nil || up.State != "update_start" || fmt.Sprint(up.Candidate["quota"]) != "7" {
		t.Fatalf("%+v, %v", up, err)
	}
	d.work()
	up, err = d.Edit(t.Context(), env, orders.Wish{Ref: ref}, []inventory.Edit{
		{ID: "1", Operation: inventory.Replace, Target: "databases[name=shop].size", Value: 3},
		{ID: "2", Operation: inventory.Replace, Target: ".", Value: map[string]any{"note": "n"}},
	})
	if err != nil || up.Candidate["note"] != "n" {
		t.Fatalf("%+v, %v", up, err)
	}
	d.work()
	if _, err = d.Delete(t.Context(), env, orders.Wish{Ref: ref}); err != nil {
		t.Fatal(err)
	}
	d.work()
	if one = d.is(orders.Ref{ID: one.ID}); !one.Deleted || !one.Settled {
		t.Errorf("%+v", one)
	}
	d.events(one.ID)
}

// events wants the history to begin with the order, and to have the message of the update.
func (d *fixture) events(id string) {
	d.Helper()
	ref := orders.Ref{ID: id}
	page, err := d.Events(d.Context(), env, ref, orders.EventQuery{})
	all := page.Items
	if err != nil || all[0].Type != "CREATE_TRANSITION" || *all[0].To != "start" ||
		all[0].From != nil || !all[0].Entered() {
		d.Fatalf("%+v, %v", all, err)
	}
	last, messages := all[len(all)-1], ""
	for _, e := range all {
		messages += e.Message
	}
	if *last.To != "terminated" || messages != "more" {
		d.Errorf("%+v, %q", last, messages)
	}
	d.eventPages(ref, all)
	d.logged(ref, all)
}

// eventPages wants each filter to leave those events that it is about, page by page, either way.
func (d *fixture) eventPages(ref orders.Ref, all []orders.Event) {
	d.Helper()
	at := all[2].At
	for why, c := range map[string]struct {
		q    orders.EventQuery
		want func(*orders.Event) bool
	}{
		"all": {orders.EventQuery{}, func(*orders.Event) bool { return true }},
		"updates": {orders.EventQuery{Types: []string{"ON_UPDATE_TRANSITION", "x"}},
			func(e *orders.Event) bool { return e.Trigger == lifecycle.ByUpdate }},
		"from up": {orders.EventQuery{Sources: []string{"up"}},
			func(e *orders.Event) bool { return e.From != nil && *e.From == "up" }},
		"to up or start": {orders.EventQuery{Destinations: []string{"up", "start"}},
			func(e *orders.Event) bool { return e.To != nil && (*e.To == "up" || *e.To == "start") }},
		"version": {orders.EventQuery{Versions: []string{"2"}},
			func(e *orders.Event) bool { return e.Version == 2 }},
		"versions": {orders.EventQuery{Versions: []string{"gt:1", "le:4"}},
			func(e *orders.Event) bool { return e.Version > 1 && e.Version <= 4 }},
		"times": {orders.EventQuery{Times: []string{
			"ge:" + at.UTC().Format("2006-01-02+15:04:05.999999"),
			"lt:" + at.Add(time.Hour).Format(time.RFC3339Nano)}},
			func(e *orders.Event) bool { return !e.At.Before(at) }},
		"none": {orders.EventQuery{Versions: []string{"lt:1"}},
			func(*orders.Event) bool { return false }},
	} {
		var want []string
		for i := range all {
			if c.want(&all[i]) {
				want = append(want, all[i].ID)
			}
		}
		for _, down := range []bool{false, true} {
			q := c.q
			q.Descending, q.Limit, q.Count = down, 2, true
			var got []string
			for {
				p, err := d.Events(d.Context(), env, ref, q)
				if err != nil || p.Counts != (orders.Counts{Total: len(want), Before: len(got),
					After: len(want) - len(got) - len(p.Items)}) {
					d.Fatalf("%s: %+v, %v", why, p.Counts, err)
				}
				for _, e := range p.Items {
					got = append(got, e.ID)
				}
				if q.After = p.Next; p.Next == "" {
					break
				}
			}
			if down {
				slices.Reverse(got)
			}
			if !slices.Equal(got, want) {
				d.Errorf("%s: %v, and not %v", why, got, want)
			}
		}
	}
	for _, q := range []orders.EventQuery{
		{Versions: []string{"x"}}, {Versions: []string{"ne:1"}}, {Times: []string{"ge:"}},
		{Times: []string{"2026-13-01"}},
	} {
		if _, err := d.Events(d.Context(), env, ref, q); !fault.Is(err, fault.Invalid) {
			d.Errorf("%+v: %v", q, err)
		}
	}
	if _, err := d.Events(d.Context(), env, ref, orders.EventQuery{
		Place: orders.Place{After: "x"},
	}); !fault.Is(err, fault.Usage) {
		d.Error(err)
	}
}

// logged wants the log to have each version once, with the events of it.
func (d *fixture) logged(ref orders.Ref, all []orders.Event) {
	d.Helper()
	is := d.is(ref)
	var q orders.LogQuery
	q.Descending, q.Limit, q.Count = true, 2, true
	version, events := is.Version, 0
	for {
		p, err := d.Service.Log(d.Context(), env, ref, q)
		if err != nil || p.Total != int(is.Version) {
			d.Fatalf("%+v, %v", p, err)
		}
		for _, e := range p.Items {
			if e.Version != version || e.Environment != env || e.Instance != is.ID {
				d.Errorf("%+v, and not version %d", e, version)
			}
			version--
			events += len(e.Events)
			for _, of := range e.Events {
				if of.Version != e.Version || of.To != nil && *of.To != e.State {
					d.Errorf("%+v is an event of %+v", of, e)
				}
			}
		}
		if q.After = p.Next; p.Next == "" {
			break
		}
	}
	if version != 0 || events != len(all) {
		d.Errorf("it ends at version %d, with %d of %d events", version, events, len(all))
	}
	q = orders.LogQuery{Versions: []string{"ge:" + fmt.Sprint(is.Version)}}
	p, err := d.Service.Log(d.Context(), env, ref, q)
	if err != nil || len(p.Items) != 1 || p.Items[0].State != is.State || !p.Items[0].Deleted {
		d.Errorf("the last one: %+v, %v", p, err)
	}
}

// TestRefused wants every bad input to be refused with what it is about, and nothing changed.
func TestRefused(t *testing.T) {
	t.Parallel()
	d := open(t)
	acme := d.create("customer", `{"name": "acme"}`)
	d.work()
	had := d.create("site", `{"host": "taken", "customer": "`+acme.ID+`",
		"databases": [{"name": "shop", "size": 1}]}`)
	d.work()
	had = d.is(orders.Ref{ID: had.ID})
	big := strings.Repeat("x", 1<<20)
	const rest = `, "host": "a", "customer": "C"}`
	for order, want := range map[string]string{
		`{"colour": 1` + rest:                    "colour attribute_unknown",
		`{"quota": 101` + rest:                   "quota attribute_value",
		`{"quota": 1.5` + rest:                   "quota attribute_type",
		`{"address": "x"` + rest:                 "address attribute_modifier",
		`{"note": "` + big + `"` + rest:          "note too_large",
		`{"customer": "x", "host": 1}`:           "customer attribute_value, host attribute_type",
		`{"customer": "C"}`:                      "host attribute_missing",
		`{"host": "a"}`:                          "customer attribute_missing",
		`{"host": 1, "customer": "C"}`:           "host attribute_type",
		`{"host": "taken", "customer": "C"}`:     "host attribute_identity",
		`{"host": "a", "customer": "S"}`:         "customer attribute_value",
		`{"host": "a", "customer": "none"}`:      "customer attribute_value",
		`{"host": "a", "customer": "name=none"}`: "customer attribute_value",
		`{"host": "a", "customer": "mail=x"}`:    "customer attribute_value",
		`{"databases": [{"name": "d", "size": 1, "payer": "S"}]` +
			rest: "databases[name=d].payer " +
			"attribute_value",
	} {
		order = strings.NewReplacer(`"C"`, `"`+acme.ID+`"`, `"S"`, `"`+had.ID+`"`).Replace(order)
		_, err := d.Create(t.Context(), env, orders.Creation{
			Service: "site", Attributes: object(t, order),
		})
		if said(err) != want {
			t.Errorf("%.90s: %v, and not %s", order, said(err), want)
		}
	}
	for change, want := range map[string]string{
		`{"host": "b"}`:     "host attribute_modifier",
		`{"address": "b"}`:  "address attribute_modifier",
		`{"databases": []}`: "databases[name=shop] attribute_modifier",
		`{"databases": [{"name": "shop", "size": 1}, {"name": "blog", "size": 1}]}`: "databases[name=blog] attribute_modifier",
		`{"quota": 0}`: "quota attribute_value",
	} {
		_, err := d.Update(
			t.Context(),
			env,
			orders.Wish{Ref: orders.Ref{ID: had.ID}},
			object(t, change),
		)
		if said(err) != want {
			t.Errorf("%s: %v, and not %s", change, said(err), want)
		}
	}
	d.unchanged(had)
}

// unchanged wants an instance to be what it was, and alone.
func (d *fixture) unchanged(was orders.Instance) {
	d.Helper()
	if is := d.is(orders.Ref{ID: was.ID}); !cmp.Equal(is, was) {
		d.Errorf("it has changed:\n%s", cmp.Diff(was, is))
	}
	p, err := d.List(d.Context(), env, orders.Query{Filter: orders.Filter{Service: was.Service}})
	if err != nil || len(p.Items) != 1 {
		d.Errorf("%d of %s, %v", len(p.Items), was.Service, err)
	}
}

// TestAsked wants what an instance cannot be asked for to be refused with its kind.
func TestAsked(t *testing.T) {
	t.Parallel()
	d := open(t)
	acme := d.create("customer", `{"name": "acme"}`)
	d.work()
	acme = d.is(orders.Ref{ID: acme.ID})
	ctx, ref := t.Context(), orders.Ref{ID: acme.ID}
	stale := orders.Wish{Ref: ref, Version: ptr(int64(1))}
	for what, do := range map[string]func() error{
		"conflict stale update": func() error {
			_, err := d.Update(ctx, env, stale, object(t, `{"name": "other"}`))
			return err
		},
		"conflict stale delete": func() error { _, err := d.Delete(ctx, env, stale); return err },
		"conflict no such transfer": func() error {
			_, err := d.SetState(ctx, env, orders.Wish{Ref: ref}, "start")
			return err
		},
		"invalid no such state": func() error {
			_, err := d.Force(ctx, env, orders.Wish{Ref: ref}, "nowhere", "")
			return err
		},
		"invalid no such setting": func() error {
			_, err := d.Configure(ctx, env, orders.Wish{Ref: ref}, map[string]bool{"x": true})
			return err
		},
		"not_found no settings of nothing": func() error {
			none := orders.Ref{Service: "customer", ID: "none"}
			_, err := d.Configure(ctx, env, orders.Wish{Ref: none}, nil)
			return err
		},
		"conflict no settings of another version": func() error {
			_, err := d.Configure(ctx, env, orders.Wish{Ref: ref, Version: ptr(int64(99))}, nil)
			return err
		},
		"invalid no edits": func() error {
			_, err := d.Edit(ctx, env, orders.Wish{Ref: ref}, nil)
			return err
		},
		"not_found instance": func() error {
			_, err := d.Instance(ctx, env, orders.Ref{ID: "x"})
			return err
		},
		"not_found of a service": func() error {
			_, err := d.Instance(ctx, env, orders.Ref{Service: "site", ID: acme.ID})
			return err
		},
		"not_found identity": func() error {
			_, err := d.Instance(ctx, env, orders.Ref{Service: "customer", ID: "name=x"})
			return err
		},
		"invalid identity of what": func() error {
			_, err := d.Instance(ctx, env, orders.Ref{ID: "a=b"})
			return err
		},
		"not_found service": func() error {
			_, err := d.Create(ctx, env, orders.Creation{Service: "none"})
			return err
		},
		"invalid id": func() error {
			_, err := d.Create(ctx, env, orders.Creation{Service: "customer", ID: "x"})
			return err
		},
		"invalid metadata": func() error {
			_, err := d.SetMetadata(ctx, env, orders.Wish{Ref: ref}, "k",
				ptr(strings.Repeat("x", 1<<15)))
			return err
		},
	} {
		want, _, _ := strings.Cut(what, " ")
		if got := said(do()); got != want {
			t.Errorf("%s: %s", what, got)
		}
	}
	d.unchanged(acme)
}

// TestKept wants what is not attributes to be kept: metadata, a state that is forced, and an order
// that is placed twice.
func TestKept(t *testing.T) {
	t.Parallel()
	d := open(t)
	o := orders.Creation{
		Service: "customer", ID: d.NewID(), Attributes: object(t, `{"name": "acme"}`),
		Metadata: map[string]string{"by": "shop"},
	}
	a, err := d.Create(t.Context(), env, o)
	if err != nil || a.Metadata["by"] != "shop" {
		t.Fatalf("%+v, %v", a, err)
	}
	d.work()
	b, err := d.Create(t.Context(), env, o)
	if err != nil || b.ID != a.ID || b.State != "up" {
		t.Fatalf("%+v, %v", b, err)
	}
	o.Attributes = object(t, `{"name": "other"}`)
	if _, err = d.Create(t.Context(), env, o); said(err) != "conflict" {
		t.Errorf("another order has the same id: %v", err)
	}
	d.again(a.ID)
	w := orders.Wish{Ref: orders.Ref{ID: a.ID}}
	if a, err = d.SetMetadata(t.Context(), env, w, "for", ptr("them")); err != nil ||
		len(a.Metadata) != 2 {
		t.Errorf("%+v, %v", a.Metadata, err)
	}
	if a, err = d.SetMetadata(t.Context(), env, w, "by", nil); err != nil || len(a.Metadata) != 1 {
		t.Errorf("%+v, %v", a.Metadata, err)
	}
	a, err = d.Force(t.Context(), env, w, "failed", lifecycle.NoOperation)
	if err != nil || a.State != "failed" || !a.Failed {
		t.Errorf("%+v, %v", a, err)
	}
}

// again wants an order to be the same one when the model has set what customers do not.
func (d *fixture) again(customer string) {
	d.Helper()
	o := orders.Creation{Service: "site", ID: d.NewID(), Attributes: object(d.T, `{"host": "h",
		"customer": "name=acme", "databases": [{"name": "d", "size": 1}]}`)}
	if _, err := d.Create(d.Context(), env, o); err != nil {
		d.Fatal(err)
	}
	d.work()
	r, err := d.Instances.Instance(d.Context(), env, o.ID)
	if err != nil {
		d.Fatal(err)
	}
	r.Active["address"] = "10.0.0.1"
	if _, err = d.Instances.Write(d.Context(), env, []inventory.Change{{Record: r}}); err != nil {
		d.Fatal(err)
	}
	is, err := d.Create(d.Context(), env, o)
	if err != nil || is.ID != o.ID || is.Active["customer"] != customer {
		d.Errorf("%+v, %v", is, err)
	}
	o.Attributes["databases"] = []any{}
	if _, err = d.Create(d.Context(), env, o); said(err) != "conflict" {
		d.Errorf("another order with the id: %v", err)
	}
}

// TestTwoOfOneIdentity wants one of several orders of an identity to be taken that come at once.
func TestTwoOfOneIdentity(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.Changed = func(string) {}
	var wg sync.WaitGroup
	results := make([]error, 8)
	for n := range results {
		wg.Go(func() {
			_, results[n] = d.Create(t.Context(), env, orders.Creation{
				Service: "customer", Attributes: object(t, `{"name": "acme"}`),
			})
		})
	}
	wg.Wait()
	taken := 0
	for _, err := range results {
		switch {
		case err == nil:
			taken++
		case said(err) != "name attribute_identity":
			t.Error(err)
		}
	}
	if taken != 1 {
		t.Errorf("%d were taken", taken)
	}
}

// TestCatalog wants what can be ordered to be shown, with how many instances there are.
func TestCatalog(t *testing.T) {
	t.Parallel()
	d := open(t)
	d.create("customer", `{"name": "acme"}`)
	offers, err := d.Catalog(t.Context(), env, false, true)
	if err != nil || len(offers) != 2 || offers[0].Name != "customer" ||
		offers[0].Environment != env {
		t.Fatalf("%+v, %v", offers, err)
	}
	s := offers[0].Summary
	if s.Total != 1 || s.ByState["start"] != 1 || s.ByLabel.Info != 1 {
		t.Errorf("%+v", s)
	}
	one, err := d.Offer(t.Context(), env, "site", -1, false)
	if err != nil || one.Summary != nil || one.Entity != "" || *one.Identity != "host" {
		t.Errorf("%+v, %v", one, err)
	}
	if _, err = d.Offer(t.Context(), env, "none", -1, false); !fault.Is(err, fault.NotFound) {
		t.Error(err)
	}
}
