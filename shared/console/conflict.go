package console

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"southbound/shared/api"
	"southbound/shared/console/form"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
)

// act is a small action on an instance, in words, and the values that it sets.
type act struct {
	text   string // such as "set the state up"
	values []actValue
}

// actValue is a value that an action sets: its name, the wanted value, and the value of an instance.
type actValue struct {
	name, want string
	of         func(*orders.Instance) string
}

// stateAct is an action whose purpose is another state.
func stateAct(text, state string) act {
	return act{text, []actValue{{"State", state, func(i *orders.Instance) string { return i.State }}}}
}

// conflictView is the data of conflict.html: another user has changed an instance since the page was
// opened from which an action comes.
type conflictView struct {
	Name, URL string
	Act       string
	Seen, Now int64
	Status    statusView
	Theirs    []theirsRow
	Events    []eventRow // since
	Unknown   bool       // the version that was seen is not kept
	Action    string     // the address of the action
	Fields    []form.Pair
}

// maxEvents is the number of versions whose events a conflict lists.
const maxEvents = 20

// conflict shows what another user has changed beside what an action wants, and offers to do it still.
// It returns failed, the error of the action, if the instance has not changed.
func (r *request) conflict(
	ctx context.Context, o api.Orders, w orders.Wish, a act, failed error,
) (view, error) {
	now, err := o.Instance(ctx, r.Env, w.Ref)
	if err != nil || now.Version == *w.Version {
		return view{}, failed
	}
	d := conflictView{Name: instanceName(&now), URL: r.instanceURL(now.ID, ""), Act: a.text,
		Seen: *w.Version, Now: now.Version, Status: lifecycleStatus(now.State, now.Label)}
	page, err := o.Log(ctx, r.Env, w.Ref, orders.LogQuery{
		Versions: []string{"ge:" + strconv.FormatInt(*w.Version, 10)}, Place: orders.Place{Limit: maxEvents},
	})
	if err != nil {
		return view{}, failed
	}
	if d.Unknown = len(page.Items) == 0 || page.Items[0].Version != *w.Version; !d.Unknown {
		d.Theirs = r.theirsOf(ctx, o, a, pastInstance(&page.Items[0]), &now)
	}
	for n := range page.Items {
		if l := &page.Items[n]; l.Version > *w.Version {
			for m := range l.Events {
				d.Events = append(d.Events, r.eventRow(&l.Events[m]))
			}
		}
	}
	if !now.Deleted {
		d.Action = r.here()
		d.Fields = append(hiddenFields(r.PostForm, fieldSeen),
			form.Pair{Name: fieldSeen, Value: strconv.FormatInt(now.Version, 10)})
	}
	return view{Template: "conflict.html", Title: "Another user has changed " + d.Name,
		Section: sectionServices, Data: &d, Status: http.StatusConflict}, nil
}

// pastInstance returns an instance as it was at a version.
func pastInstance(l *orders.LogEntry) *orders.Instance {
	return &orders.Instance{State: l.State, Config: l.Config, Metadata: l.Metadata,
		Candidate: l.Candidate, Active: l.Active, Rollback: l.Rollback}
}

// theirsOf returns the values that an action sets, and the attributes that have changed. Related
// instances have their ids if the definition of the service cannot be read.
func (r *request) theirsOf(
	ctx context.Context, o api.Orders, a act, was, now *orders.Instance,
) []theirsRow {
	var out []theirsRow
	for _, v := range a.values {
		before, theirs := v.of(was), v.of(now)
		out = append(out, theirsRow{v.name, valueView{Text: before}, valueView{Text: theirs},
			valueView{Text: v.want}, before != theirs && theirs != v.want})
	}
	before, after := currentSet(was), currentSet(now)
	service := &definition.Service{}
	if offer, err := o.Offer(ctx, r.Env, now.Service, now.ServiceVersion, false); err == nil {
		service = &offer.Service
	}
	shown := r.naming(ctx, o, service, before, after)
	for _, name := range slices.Compact(slices.Sorted(slices.Values(append(sortedKeys(before), sortedKeys(after)...)))) {
		if !inventory.Equal(before[name], after[name]) {
			out = append(out, theirsRow{form.Title(name), shown.value(name, before[name]),
				shown.value(name, after[name]), valueView{Text: "–"}, false})
		}
	}
	return out
}

// configAct turns settings on and off.
func configAct(values map[string]bool) act {
	a := act{text: "store the settings"}
	word := func(on, has bool) string {
		switch {
		case !has:
			return "as the service has it"
		case on:
			return "on"
		}
		return "off"
	}
	for _, name := range sortedKeys(values) {
		a.values = append(a.values, actValue{name, word(values[name], true), func(i *orders.Instance) string {
			on, has := i.Config[name]
			return word(on, has)
		}})
	}
	return a
}

// metadataAct stores a text; nil removes it.
func metadataAct(key string, to *string) act {
	a := act{text: "remove the text " + key}
	want := "not set"
	if to != nil {
		a.text, want = "store the text "+key, *to
	}
	a.values = []actValue{{strings.TrimSpace("Text " + key), want, func(i *orders.Instance) string {
		if text, has := i.Metadata[key]; has {
			return text
		}
		return "not set"
	}}}
	return a
}
