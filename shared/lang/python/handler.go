package python

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"slices"
	"strings"

	"southbound/shared/deploy/model"
	"southbound/shared/diff"
	"southbound/shared/fault"
	"southbound/shared/lang/types"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// handler serves resources of one agent with the code that comes with them. If changes are allowed,
// Read does the whole deployment, as the library does: the Python handler deploys the resource, and
// Read reports that the resource is as desired. The context records the changes.
type handler struct {
	pack       *Pack
	env, agent string
	code       resource.File
	packages   resource.File // zero: those of the virtual environment
}

// asked is the request of a run, as it is sent to the process.
type asked struct {
	Agent    string          `json:"agent"`
	Dry      bool            `json:"dry"`
	Reload   bool            `json:"reload"`
	New      bool            `json:"new"`
	Facts    bool            `json:"facts"`
	Files    map[string]bool `json:"files"`
	Resource map[string]any  `json:"resource"`
	// Known are the facts that references in the resource resolve to, by resource.
	Known map[string]map[string]string `json:"known"`
}

// ended is the result of a run.
type ended struct {
	State    string            `json:"state"`
	Change   string            `json:"change"`
	Changes  map[string][2]any `json:"changes"`
	Facts    map[string]string `json:"facts"`
	Idle     bool              `json:"idle"`
	Reloaded bool              `json:"reloaded"`
	Error    string            `json:"error"`
	Places   [][4]any          `json:"places"`
	Failed   [][3]any          `json:"failed"`
}

// Read implements provider.Handler.
func (h *handler) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	stored := ctx.Stored()
	only := ctx.DryRun() || stored != nil && stored.ReportOnly
	what := asked{Dry: only, Reload: ctx.Reloading(), New: ctx.New()}
	out, err := h.run(ctx, req.Resource, what)
	if err != nil {
		return provider.Observation{}, err
	}
	if !only {
		out.report(ctx)
		return provider.Observation{Exists: !req.Resource.Purged}, nil
	}
	return out.observed(req.Resource), nil
}

// Diff implements provider.Differ: it returns the differences that the Python handler found.
func (h *handler) Diff(
	_ *provider.Context, _ provider.Resource, seen provider.Observation,
) (map[string]diff.Diff, error) {
	found, _ := seen.Attributes[model.SeenAttribute].(map[string]any)
	out := map[string]diff.Diff{}
	for name, v := range found {
		if pair, ok := v.([]any); ok && len(pair) == 2 {
			out[name] = diff.Diff{Current: pair[0], Desired: pair[1]}
		}
	}
	return out, nil
}

// Facts implements provider.FactReader.
func (h *handler) Facts(
	ctx *provider.Context, req provider.ReadRequest,
) (map[string]any, error) {
	out, err := h.run(ctx, req.Resource, asked{Facts: true})
	if err != nil {
		return nil, err
	}
	return provider.TextFacts(out.Facts), nil
}

// errDone is returned if the engine calls a step that Read has already done.
var errDone = errors.New("a handler in Python is not called for parts of a run")

// Create implements provider.Handler.
func (h *handler) Create(*provider.Context, provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, errDone
}

// Update implements provider.Handler.
func (h *handler) Update(*provider.Context, provider.UpdateRequest) (provider.Result, error) {
	return provider.Result{}, errDone
}

// Delete implements provider.Handler.
func (h *handler) Delete(*provider.Context, provider.DeleteRequest) (provider.Result, error) {
	return provider.Result{}, errDone
}

// run runs the Python handler of a resource.
func (h *handler) run(
	ctx *provider.Context, r provider.Resource, what asked,
) (*ended, error) {
	files, _ := r.Attributes[model.FilesAttribute].(map[string]any)
	what.Agent, what.Files = h.env+"\n"+r.Agent, map[string]bool{}
	for name := range files {
		what.Files[name] = true
	}
	what.Known = factsOf(r)
	var err error
	if what.Resource, err = fieldsOf(ctx, r); err != nil {
		return nil, err
	}
	body, err := json.Marshal(what)
	if err != nil {
		return nil, provider.Errorf(provider.NeedsChange, "its attributes cannot be sent: %w", err)
	}
	message := append(appendText([]byte(`["run",`), string(body)), ']')
	var out *ended
	err = h.pack.use(ctx, h, func(host *Host) error {
		kind, v, err := host.converse(message, "the handler of "+string(r.ID), talk(ctx, files))
		if err != nil {
			return h.broken(err)
		}
		if kind != "done" || len(v) != 1 {
			return fault.Wrap(fault.Internal, "run Python", errFrame)
		}
		host.end()
		out = &ended{}
		return readJSON(text(v[0]), out)
	})
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(out.Facts)) {
		ctx.Fact(name, out.Facts[name])
	}
	return out, out.err()
}

// broken classifies the error of a run: if the process ended, the run can be retried.
func (h *handler) broken(err error) error {
	var gone *Ended
	if errors.As(err, &gone) {
		return provider.Errorf(provider.Retryable, "%w", err)
	}
	return err
}

// talk answers the requests of a handler, and records its log lines and secrets.
func talk(ctx *provider.Context, files map[string]any) answer {
	return func(kind string, v []types.Value, b []byte) ([]byte, bool, error) {
		switch {
		case kind == "print" && len(v) == 1:
			ctx.Info("printed: " + strings.TrimRight(text(v[0]), "\n"))
		case kind == "secret" && len(v) == 1:
			ctx.Secret(text(v[0]))
		case kind == "log" && len(v) == 3:
			say(ctx, v)
		case kind == "file" && len(v) == 1:
			content, err := fileOf(ctx, files[text(v[0])])
			if err != nil {
				return append(appendText(append(b, `["error",`...), err.Error()), ']'), true, nil
			}
			b = appendText(append(b, `["v",`...), base64.StdEncoding.EncodeToString(content))
			return append(b, ']'), true, nil
		default:
			return nil, false, nil
		}
		return nil, true, nil
	}
}

// say logs a line from a handler.
func say(ctx *provider.Context, v []types.Value) {
	level, _ := v[0].(int64)
	kwargs := map[string]any{}
	_ = readJSON(text(v[2]), &kwargs) // the host wrote it as JSON
	kv := make([]any, 0, 2*len(kwargs))
	for _, name := range slices.Sorted(maps.Keys(kwargs)) {
		kv = append(kv, name, whole(kwargs[name]))
	}
	const warning, errors, info = 30, 40, 20
	switch {
	case level >= errors:
		ctx.Error(text(v[1]), kv...)
	case level >= warning:
		ctx.Warning(text(v[1]), kv...)
	case level >= info:
		ctx.Info(text(v[1]), kv...)
	default:
		ctx.Debug(text(v[1]), kv...)
	}
}

func fileOf(ctx *provider.Context, v any) ([]byte, error) {
	f, ok := v.(resource.File)
	if !ok {
		return nil, errors.New("there is no such file")
	}
	in, err := ctx.Files().Open(ctx, f.Hash)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	return io.ReadAll(in)
}

// err returns the error of a run that failed, was skipped or could not start; nil otherwise.
func (e *ended) err() error {
	text := e.Error
	for i, p := range e.Places {
		if i < maxPlaces {
			text += fmt.Sprintf("\n  %v:%v: in %v: %v", p[0], p[1], p[2], p[3])
		}
	}
	switch e.State {
	case "failed":
		return errors.New(strings.TrimSpace("the handler failed: " + text))
	case "unavailable":
		for _, f := range e.Failed {
			text += fmt.Sprintf("; the module %v cannot be imported: %v", f[0], f[1])
		}
		return provider.With(errors.New(text), provider.ErrUnavailable)
	case "skipped", "skipped_for_dependency":
		return provider.With(errors.New("skipped by its handler: "+text), provider.ErrSkip)
	}
	return nil
}

// maxPlaces is the maximum number of traceback places in a message.
const maxPlaces = 8

// report records the changes of a run. Idle marks a run whose handler reported no change and left
// all differences as they were; it counts as no change.
func (e *ended) report(ctx *provider.Context) {
	change := diff.Change(e.Change)
	if e.Idle && !e.Reloaded {
		ctx.Debug("the handler reports differences, and has left them as they were",
			"attributes", slices.Sorted(maps.Keys(e.Changes)))
		return
	}
	for name, c := range e.Changes {
		ctx.Changed(name, whole(c[0]), whole(c[1]))
	}
	if change == diff.NoChange {
		change = e.purging()
	}
	switch {
	case change == diff.NoChange && e.Reloaded:
		change = diff.Updated
	case change == diff.NoChange:
		return
	}
	ctx.SetChange(change)
}

// purging returns the change that a difference in "purged" stands for.
func (e *ended) purging() diff.Change {
	c, ok := e.Changes["purged"]
	switch {
	case !ok:
		return diff.NoChange
	case c[1] == true:
		return diff.Purged
	}
	return diff.Created
}

// observed returns the observation of a run that changes nothing.
func (e *ended) observed(want provider.Resource) provider.Observation {
	out := provider.Observation{Exists: true, Attributes: map[string]any{}}
	switch e.purging() {
	case diff.Created:
		return provider.Observation{}
	case diff.NoChange:
		out.Exists = !want.Purged
	}
	found := map[string]any{}
	for name, v := range want.Attributes {
		if !strings.HasPrefix(name, "_") {
			out.Attributes[name] = v
		}
	}
	for name, c := range e.Changes {
		found[name] = []any{whole(c[0]), whole(c[1])}
		if _, has := want.Attributes[name]; has {
			out.Attributes[name] = whole(c[0])
		}
	}
	out.Attributes[model.SeenAttribute] = found
	return out
}

// fieldsOf returns a resource in the format of the library.
func fieldsOf(ctx *provider.Context, r provider.Resource) (map[string]any, error) {
	id, err := libraryID(r.ID)
	if err != nil {
		return nil, err
	}
	out := map[string]any{
		"id": fmt.Sprintf("%s,v=%d", id, max(ctx.Version(), 1)), "purged": r.Purged,
		"managed": true, "requires": []string{},
	}
	for name, v := range r.Attributes {
		if !strings.HasPrefix(name, "_") {
			out[name] = plainJSON(v)
		}
	}
	if s := ctx.Stored(); s != nil {
		requires := make([]string, 0, len(s.Requires))
		for _, on := range s.Requires {
			if id, err := libraryID(on); err == nil {
				requires = append(requires, id)
			}
		}
		out["requires"] = requires
		out["purge_on_delete"], out["report_only"] = s.PurgeOnDelete, s.ReportOnly
		out["send_event"], out["receive_events"] = s.SendEvent, s.ReceiveEvents
	}
	return out, nil
}

// factsOf returns the facts that references in a resource resolve to.
func factsOf(r provider.Resource) map[string]map[string]string {
	out := map[string]map[string]string{}
	list, _ := r.Attributes[model.FactsAttribute].([]any)
	for _, item := range list {
		fact, _ := item.(map[string]any)
		of, _ := fact["resource"].(string)
		name, _ := fact["name"].(string)
		if out[of] == nil {
			out[of] = map[string]string{}
		}
		out[of][name] = textOf(fact["value"])
	}
	return out
}

// textOf returns the value of a fact as the library knows facts: a text. Any other value is its JSON.
func textOf(v any) string {
	d, err := resource.DataOf(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return d.Text()
}

// readJSON parses JSON from the process. Numbers stay json.Number; whole converts them.
func readJSON(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	return d.Decode(into)
}

// whole converts the numbers of a JSON value to the number types of resource values.
func whole(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, ok := new(big.Int).SetString(v.String(), 10); ok {
			if n.IsInt64() {
				return n.Int64()
			}
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i, e := range v {
			v[i] = whole(e)
		}
	case map[string]any:
		for k, e := range v {
			v[k] = whole(e)
		}
	}
	return v
}

// libraryID formats an id as the library does, without escapes.
func libraryID(id resource.ID) (string, error) {
	p, err := resource.ParseID(string(id))
	if err != nil {
		return "", err
	}
	keys := make([]string, len(p.Keys))
	for i, k := range p.Keys {
		keys[i] = k.Name + "=" + k.Value
	}
	return p.Type + "[" + p.Agent + "," + strings.Join(keys, ",") + "]", nil
}

// plainJSON prepares a value for JSON so that a float stays a float.
func plainJSON(v any) any {
	switch v := v.(type) {
	case float64:
		return json.RawMessage(appendFloat(nil, v)) // a float with an integral value stays a float
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = plainJSON(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = plainJSON(e)
		}
		return out
	}
	return v
}

var (
	_ provider.Differ     = (*handler)(nil)
	_ provider.FactReader = (*handler)(nil)
)
