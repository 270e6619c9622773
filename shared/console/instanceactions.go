package console

import (
	"context"
	"strconv"
	"strings"

	"southbound/shared/api"
	"southbound/shared/console/form"
	"southbound/shared/fault"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

// instanceActions are the actions on one instance, and the pages that ask before something is lost.
func instanceActions() []route {
	return []route{
		{pattern: "GET /console/{env}/instances/{id}/delete", page: askDelete},
		{pattern: "GET /console/{env}/instances/{id}/force", page: askForce},
		{pattern: "POST /console/{env}/do/deleteinstance", page: deleteInstance},
		{pattern: "POST /console/{env}/do/setstate", page: setState},
		{pattern: "POST /console/{env}/do/forcestate", page: forceState},
		{pattern: "POST /console/{env}/do/destroyinstance", page: destroyInstance},
		{pattern: "POST /console/{env}/do/configure", page: configureInstance},
		{pattern: "POST /console/{env}/do/metadata", page: setMetadata},
	}
}

func noVersion(i *orders.Instance, n string) error {
	return fault.New(fault.NotFound, "", "%s: the version %.40q is not kept", instanceName(i), n).
		WithHint("choose a version from its history")
}

// wishOf returns the instance and the version that a form names.
func (r *request) wishOf() (orders.Wish, error) {
	w := orders.Wish{Ref: orders.Ref{ID: r.PostForm.Get(fieldID)}, Message: r.PostForm.Get(fieldMessage)}
	if w.ID == "" {
		return w, fault.New(fault.Usage, "", "the form names no instance").WithHint("reload the page")
	}
	if text := r.PostForm.Get(fieldSeen); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return w, fault.New(fault.Usage, "", "the version %.40q is not a number", text)
		}
		w.Version = &n
	}
	return w, nil
}

// change makes one change of an instance, and returns to its page. If another user has changed the
// instance, it shows that.
func (r *request) change(
	ctx context.Context, a act,
	do func(o api.Orders, w orders.Wish) (orders.Instance, error),
	say func(i *orders.Instance) string,
) (view, error) {
	w, err := r.wishOf()
	if err != nil {
		return view{}, err
	}
	o, err := r.orders(ctx)
	if err != nil {
		return view{}, err
	}
	if w.Service == "" { // a change names the service of its instance
		i, err := o.Instance(ctx, r.Env, w.Ref)
		if err != nil {
			return view{}, err
		}
		w.Service = i.Service
	}
	i, err := do(o, w)
	if fault.Is(err, fault.Conflict) && w.Version != nil {
		return r.conflict(ctx, o, w, a, err)
	}
	if err != nil {
		return view{}, err
	}
	r.flash("%s", say(&i))
	return view{Redirect: r.instanceURL(w.ID, "")}, nil
}

func setState(ctx context.Context, r *request) (view, error) {
	target := r.PostForm.Get("target")
	a := stateAct("set the state "+target, target)
	return r.change(ctx, a, func(o api.Orders, w orders.Wish) (orders.Instance, error) {
		return o.SetState(ctx, r.Env, w, target)
	}, func(i *orders.Instance) string {
		return instanceName(i) + ": the state " + target + " is requested; it is in the state " + i.State
	})
}

// typed rejects a form in which the name of an instance is not repeated.
func (r *request) typed(name string) error {
	if strings.TrimSpace(r.PostForm.Get("typed")) == name {
		return nil
	}
	return fault.New(fault.Usage, "", "the typed name is not %s", name).
		WithHint("go back, and type the name as it is shown")
}

func forceState(ctx context.Context, r *request) (view, error) {
	target, operation := r.PostForm.Get("target"), lifecycle.Operation(r.PostForm.Get("operation"))
	a := stateAct("force the state "+target, target)
	return r.change(ctx, a, func(o api.Orders, w orders.Wish) (orders.Instance, error) {
		i, err := o.Instance(ctx, r.Env, w.Ref)
		if err == nil {
			err = r.typed(instanceName(&i))
		}
		if err != nil {
			return i, err
		}
		return o.Force(ctx, r.Env, w, target, operation)
	}, func(i *orders.Instance) string { return instanceName(i) + " is forced into the state " + i.State })
}

func destroyInstance(ctx context.Context, r *request) (view, error) {
	a := stateAct("delete it without its lifecycle", "deleted")
	return r.change(ctx, a, func(o api.Orders, w orders.Wish) (orders.Instance, error) {
		i, err := o.Instance(ctx, r.Env, w.Ref)
		if err == nil {
			err = r.typed(instanceName(&i))
		}
		if err != nil {
			return i, err
		}
		return o.Destroy(ctx, r.Env, w)
	}, func(i *orders.Instance) string { return instanceName(i) + " is ended" })
}

func deleteInstance(ctx context.Context, r *request) (view, error) {
	a := stateAct("delete it", "deleted")
	return r.change(ctx, a, func(o api.Orders, w orders.Wish) (orders.Instance, error) {
		return o.Delete(ctx, r.Env, w)
	}, func(i *orders.Instance) string {
		return instanceName(i) + ": its end is requested; it is in the state " + i.State
	})
}

func configureInstance(ctx context.Context, r *request) (view, error) {
	values := map[string]bool{}
	for _, name := range r.PostForm["name"] {
		values[name] = false
	}
	for _, name := range r.PostForm["on"] {
		if _, is := values[name]; is {
			values[name] = true
		}
	}
	a := configAct(values)
	return r.change(ctx, a, func(o api.Orders, w orders.Wish) (orders.Instance, error) {
		return o.Configure(ctx, r.Env, w, values)
	}, func(i *orders.Instance) string { return instanceName(i) + ": the settings are stored" })
}

func setMetadata(ctx context.Context, r *request) (view, error) {
	key, value := strings.TrimSpace(r.PostForm.Get("key")), r.PostForm.Get("value")
	if key == "" {
		return view{}, fault.New(fault.Usage, "", "the text has no name").WithHint("fill in a name")
	}
	to := &value
	if r.PostForm.Has("remove") {
		key, to = r.PostForm.Get("remove"), nil
	}
	a := metadataAct(key, to)
	return r.change(ctx, a, func(o api.Orders, w orders.Wish) (orders.Instance, error) {
		return o.SetMetadata(ctx, r.Env, w, key, to)
	}, func(i *orders.Instance) string {
		if to == nil {
			return instanceName(i) + ": the text " + key + " is removed"
		}
		return instanceName(i) + ": the text " + key + " is stored"
	})
}

// lossView is the data of loss.html: it asks before something is lost.
type lossView struct {
	ID, Name   string
	Seen       int64
	Status     statusView
	Back       string
	Resources  string
	ReferredBy []form.Link
	Delete     string // the action; "": this page forces a state
	Force      string
	Destroy    string
	States     []form.Option
	Operations []form.Option
}

// loss returns what an instance has that would be lost.
func (r *request) loss(ctx context.Context) (lossView, *orders.Offer, error) {
	o, err := r.orders(ctx)
	if err != nil {
		return lossView{}, nil, err
	}
	i, err := o.Instance(ctx, r.Env, orders.Ref{ID: r.PathValue("id")})
	if err != nil {
		return lossView{}, nil, err
	}
	offer, err := o.Offer(ctx, r.Env, i.Service, i.ServiceVersion, false)
	if err != nil {
		return lossView{}, nil, err
	}
	d := lossView{
		ID: i.ID, Name: instanceName(&i), Seen: i.Version, Back: r.instanceURL(i.ID, ""),
		Status: lifecycleStatus(i.State, i.Label),
	}
	n := 0
	err = r.home(ctx).Resources(ctx, r.Env, []string{"set=" + i.ID}, func(*api.Resource) error {
		n++
		return nil
	})
	if d.Resources = plural(n, "resource"); err != nil {
		d.Resources = "its resources (they could not be counted)"
	}
	d.ReferredBy = r.linksTo(ctx, o, i.ReferredBy)
	for k := range offer.Lifecycle.States {
		s := offer.Lifecycle.States[k].Name
		d.States = append(d.States, form.Option{Value: s, Label: s, Selected: s == i.State})
	}
	return d, &offer, nil
}

// askDelete asks before an instance is deleted.
func askDelete(ctx context.Context, r *request) (view, error) {
	d, _, err := r.loss(ctx)
	d.Delete = r.url("do/deleteinstance")
	return view{Template: "loss.html", Title: "Delete " + d.Name + "?", Section: sectionServices, Data: d}, err
}

// askForce asks before a state is forced.
func askForce(ctx context.Context, r *request) (view, error) {
	d, _, err := r.loss(ctx)
	d.Force, d.Destroy = r.url("do/forcestate"), r.url("do/destroyinstance")
	d.Operations = append(d.Operations, form.Option{Label: "leave the attributes as they are"})
	for _, o := range []lifecycle.Operation{
		lifecycle.Promote, lifecycle.RollBack, lifecycle.ClearCandidate, lifecycle.ClearActive,
		lifecycle.ClearRollback,
	} {
		d.Operations = append(d.Operations, form.Option{Value: string(o), Label: string(o)})
	}
	return view{Template: "loss.html", Title: "Force the state of " + d.Name, Section: sectionServices,
		Data: d}, err
}
