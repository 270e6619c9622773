package python

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
)

// Export is the result of applying resource classes to a model.
type Export struct {
	Resources []Resource
	// Files are the file contents that resources refer to, by SHA-1.
	Files map[string][]byte
	// Codes are the units of code that handlers run with. Each holds the code of some modules and
	// of all modules that these use.
	Codes [][]byte
}

// Resource is a resource that a Python class made from an instance.
type Resource struct {
	Instance   *eval.Instance
	Type       string
	Agent      string
	Key, Value string // the attribute that identifies it on its agent
	ID         string // in the notation of the library, as in Requires
	Fields     *types.Dict
	Requires   []string
	Set        string
	Code       int // the index in Export.Codes of its code
}

// exporting is an export in progress.
type exporting struct {
	host  *Host
	model *eval.Result
	types map[string]*types.Entity
	out   *Export

	// the instances by their exact types; nil: not built yet
	alike    map[*types.Entity][]*eval.Instance
	place    map[*eval.Instance]int  // the index in its list of alike
	exported map[*eval.Instance]bool // whose attributes were sent
}

// Export makes resources of the compiled model with the resource classes of its modules. It returns
// errors of the model as diag.Problems.
func (h *Host) Export(model *eval.Result) (*Export, error) {
	e := newExporting(h, model)
	kind, v, err := h.converse([]byte(`["export"]`), "the export of resources", e.answer)
	switch {
	case err != nil:
		return nil, asFault(err)
	case kind == "failed" && len(v) == 3:
		return nil, diag.Problems{e.problem(v)}
	case kind != "ok":
		return nil, fmt.Errorf("%w: %s", errFrame, kind)
	}
	return e.out, nil
}

// newExporting returns an export that answers questions about a complete model.
func newExporting(h *Host, model *eval.Result) *exporting {
	e := &exporting{
		host: h, model: model, types: map[string]*types.Entity{},
		out: &Export{Files: map[string][]byte{}},
	}
	for _, t := range model.Entities {
		e.types[t.FullName()] = t
	}
	return e
}

// problem returns the problem for an instance that cannot become a resource.
func (e *exporting) problem(v []types.Value) diag.Problem {
	p := diag.Problem{
		Code: CodePython, Message: "the model cannot be exported: " + text(v[0]),
		Related: e.host.sources.places(v[1]),
	}
	if n, ok := v[2].(int64); ok {
		if o, ok := e.host.objects[n].(*eval.Instance); ok {
			p.Pos = o.Pos()
			p.Message = "this instance of " + o.Type().FullName() + " cannot become a resource: " +
				text(v[0])
		}
	} else if len(p.Related) > 0 {
		p.Pos, p.Related = p.Related[0].Pos, p.Related[1:]
	}
	return p
}

// answer answers the questions of resource classes about the model, and collects their resources.
func (e *exporting) answer(kind string, v []types.Value, b []byte) ([]byte, bool, error) {
	switch kind {
	case "print":
		return e.host.quiet(kind, v, b)
	case "files":
		return nil, true, e.takeFiles(items(v[0]))
	case "resources":
		return nil, true, e.takeAll(items(v[0]))
	case "code":
		e.out.Codes = append(e.out.Codes, []byte(text(v[0])))
		return nil, true, nil
	case "instances":
		return e.host.objects.list(b, e.instances(text(v[0]))), true, nil
	case "types":
		b = append(b, `["v",[`...)
		for i, t := range e.model.Entities {
			b = appendText(comma(b, i), t.FullName())
		}
		return append(b, "]]"...), true, nil
	case "all":
		return e.all(b, v)
	case "var":
		value, ok := e.model.Variables[text(v[0])]
		if !ok {
			return append(b, `["none"]`...), true, nil
		}
		return e.host.objects.found(b, value, nil), true, nil
	}
	return e.host.objects.common(b, kind, v, func(name string) types.Type {
		if t := e.types[name]; t != nil {
			return t
		}
		return nil
	})
}

func (e *exporting) instances(name string) []types.Object {
	t := e.types[name]
	var out []types.Object
	for _, o := range e.model.Instances {
		if t != nil && o.Type().Is(t) {
			out = append(out, o)
		}
	}
	return out
}

// batch is the size in bytes at which no more instances are added to an answer.
const batch = 64 << 10

// all answers with all attributes of an instance. It adds the following instances of the same type
// that were not sent yet, since Python code is likely to ask for them next.
func (e *exporting) all(b []byte, v []types.Value) ([]byte, bool, error) {
	o, ok := e.host.objects.object(v).(*eval.Instance)
	if !ok {
		return nil, false, errFrame
	}
	if e.alike == nil {
		e.arrange()
	}
	b = e.whole(append(b, `["v",[`...), o)
	alike := e.alike[o.Type()]
	for i := e.place[o] + 1; i < len(alike) && len(b) < batch; i++ {
		if next := alike[i]; !e.exported[next] {
			b = e.whole(append(b, ','), next)
		}
	}
	return append(b, "]]"...), true, nil
}

// arrange indexes the instances by type.
func (e *exporting) arrange() {
	e.alike = map[*types.Entity][]*eval.Instance{}
	e.place, e.exported = map[*eval.Instance]int{}, map[*eval.Instance]bool{}
	for _, o := range e.model.Instances {
		t := o.Type()
		e.place[o] = len(e.alike[t])
		e.alike[t] = append(e.alike[t], o)
	}
}

// whole appends an instance with all its attributes, and with the names of those that are put together
// where the resource is deployed (see later).
func (e *exporting) whole(b []byte, o *eval.Instance) []byte {
	e.exported[o] = true
	e.host.objects.seen(o)
	b = strconv.AppendInt(append(b, '['), int64(o.Number()), 10)
	b = append(appendText(append(b, ','), o.Type().FullName()), `,{"d":{`...)
	n := 0
	var deployed []byte
	for _, a := range o.Type().All() {
		value, ok := o.Value(a.Name)
		if !ok {
			continue
		}
		b = append(appendText(comma(b, n), a.Name), ':')
		b = appendValue(b, e.host.objects.seen(value))
		n++
		if later(value) {
			deployed = appendText(comma(deployed, len(deployed)), a.Name)
		}
	}
	b = append(append(b, `}},[`...), deployed...)
	return append(b, "]]"...)
}

// later reports whether a value holds secrets, parameters, facts or outputs, alone or in texts, that
// Southbound resolves before it calls a handler. References of Python code have no place beside them.
func later(v types.Value) bool {
	ours, other := false, false
	var visit func(v types.Value)
	visit = func(v types.Value) {
		switch v := v.(type) {
		case *types.List:
			for _, item := range v.Items {
				visit(item)
			}
		case *types.Dict:
			for _, k := range v.Keys() {
				item, _ := v.Get(k)
				visit(item)
			}
		case *types.Unknown:
			ours = ours || len(v.Parts) > 0
		case std.Reference:
			other = other || !v.InText() // Python's std makes the others, which are no problem beside ours
		case types.Reference:
			ours, other = ours || types.InText(v), other || !types.InText(v)
		}
	}
	visit(v)
	return ours && !other
}

// takeFiles records the contents of files.
func (e *exporting) takeFiles(files []types.Value) error {
	for _, f := range files {
		pair := items(f)
		if len(pair) != 2 {
			return errFrame
		}
		content, err := base64.StdEncoding.DecodeString(text(pair[1]))
		if err != nil {
			return fmt.Errorf("read the file %s: %w", text(pair[0]), err)
		}
		e.out.Files[text(pair[0])] = content
	}
	return nil
}

// takeAll records resources.
func (e *exporting) takeAll(all []types.Value) error {
	for _, r := range all {
		if err := e.take(items(r)); err != nil {
			return err
		}
	}
	return nil
}

// take records a resource.
func (e *exporting) take(v []types.Value) error {
	if len(v) != 10 {
		return errFrame
	}
	code, _ := v[9].(int64)
	if code < 0 || int(code) >= len(e.out.Codes) {
		return errFrame
	}
	o, ok := e.host.objects.object(v).(*eval.Instance)
	fields, is := v[6].(*types.Dict)
	if !ok || !is {
		return errFrame
	}
	r := Resource{
		Instance: o, Type: text(v[1]), Agent: text(v[2]), Key: text(v[3]), Value: text(v[4]),
		ID: text(v[5]), Fields: fields, Set: text(v[8]), Code: int(code),
	}
	for _, id := range items(v[7]) {
		r.Requires = append(r.Requires, text(id))
	}
	slices.Sort(r.Requires)
	e.out.Resources = append(e.out.Resources, r)
	return nil
}
