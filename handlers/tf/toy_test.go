package tf

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/encoding/protowire"

	"southbound/shared/tf/value"
	"southbound/shared/tf/wire"
)

// toyVariable names the folder of a toy's objects.
const toyVariable = "TOY"

// TestMain runs this program as a provider if a pool starts it.
func TestMain(m *testing.M) {
	if dir := os.Getenv(toyVariable); dir != "" {
		serveToy(dir)
		return
	}
	os.Exit(m.Run())
}

// toy is a provider of version 6 with the schemas of keepingSchema. Its objects are files of a folder,
// in which it also logs its calls. The file fault has the behaviour of the next apply:
//
//   - reject: an error, and nothing is done
//   - fail: done, and an error with the state
//   - mute: done, and an error without a state
//   - crash: done, and the process ends
//   - hang: done, and no answer before a Stop; then an error with the state
//   - lie: done, and the answer has another name than planned
//
// While there is a file due, the plan of an unchanged object computes its key again.
type toy struct {
	dir      string
	ty, id   *value.Type
	data     *value.Type
	stopping chan struct{} // closed by Stop

	mu sync.Mutex
}

// thing is an object.
type thing struct {
	ID, Name string
	List     []string
	Pin      string
}

func serveToy(dir string) {
	socket := filepath.Join(os.Getenv("TMPDIR"), "toy")
	l, err := net.Listen("unix", socket)
	s, invalid := wire.ParseSchemas([]byte(keepingSchema))
	if err = errors.Join(err, invalid); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	resource, of := s.Resources["x_y"], s.Identities["x_y"]
	identity := of.Schema()
	y := &toy{dir: dir, stopping: make(chan struct{})}
	y.ty, _ = value.Compile(&resource)
	y.id, _ = value.Compile(&identity)
	source := s.DataSources["x_z"]
	y.data, _ = value.Compile(&source)
	server := grpc.NewServer(grpc.UnknownServiceHandler(y.handle), grpc.ForceServerCodecV2(raw{}))
	fmt.Printf("1|6|unix|%s|grpc|\n", socket)
	_ = server.Serve(l)
}

// raw passes messages as bytes.
type raw struct{}

func (raw) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (raw) Unmarshal(data mem.BufferSlice, v any) error {
	*v.(*[]byte) = data.Materialize()
	return nil
}

func (raw) Name() string { return "proto" }

// fields are the fields of a message by their numbers.
type fields map[protowire.Number][]byte

func read(b []byte) fields {
	out := fields{}
	for len(b) > 0 {
		n, kind, size := protowire.ConsumeTag(b)
		b = b[size:]
		if kind == protowire.BytesType {
			v, size := protowire.ConsumeBytes(b)
			out[n], b = v, b[size:]
			continue
		}
		if kind == protowire.VarintType {
			v, _ := protowire.ConsumeVarint(b)
			out[n] = []byte(fmt.Sprint(v))
		}
		b = b[protowire.ConsumeFieldValue(n, kind, b):]
	}
	return out
}

// field returns a field of a message.
func field(n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), v)
}

// wrong returns a diagnostic as a field.
func wrong(n protowire.Number, summary, attribute string) []byte {
	d := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 1)
	d = append(d, field(2, []byte(summary))...)
	if attribute != "" {
		d = append(d, field(4, pathTo(attribute))...)
	}
	return field(n, d)
}

func pathTo(attribute string) []byte { return field(1, field(1, []byte(attribute))) }

func (y *toy) handle(_ any, s grpc.ServerStream) error {
	var q, a []byte
	if err := s.RecvMsg(&q); err != nil {
		return err
	}
	method, _ := grpc.MethodFromServerStream(s)
	method = method[strings.LastIndex(method, "/")+1:]
	switch method {
	case "Shutdown":
		os.Exit(0)
	case "StopProvider":
		y.mu.Lock()
		close(y.stopping)
		y.stopping = make(chan struct{})
		y.mu.Unlock()
	case "ValidateResourceConfig":
		a = y.validate(y.ty, read(q))
	case "ValidateDataResourceConfig":
		a = y.validate(y.data, read(q))
	case "ReadDataSource":
		a = y.query(read(q))
	case "PlanResourceChange":
		a = y.plan(read(q))
	case "ApplyResourceChange":
		a = y.apply(read(q))
	case "ReadResource":
		a = y.read(read(q))
	case "ImportResourceState":
		a = y.adopt(read(q))
	case "UpgradeResourceState":
		a = y.upgrade(read(q))
	}
	if strings.HasSuffix(method, "ResourceChange") || strings.Contains(method, "Resource") {
		y.log(method)
	}
	return s.SendMsg(&a)
}

func (y *toy) log(method string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(y.dir, "calls"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, _ = fmt.Fprintln(f, method)
		_ = f.Close()
	}
}

// in returns the value in a field.
func (y *toy) in(ty *value.Type, b []byte) cty.Value {
	v, err := ty.FromMsgpack(read(b)[1])
	if err != nil {
		return ty.Null()
	}
	return v
}

// out returns a value as a field.
func (y *toy) out(n protowire.Number, ty *value.Type, v cty.Value) []byte {
	b, err := ty.Msgpack(v)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	return field(n, field(1, b))
}

func (y *toy) identity(n protowire.Number, name string) []byte {
	v, _ := y.id.FromAttributes(map[string]any{"name": name})
	return field(n, y.out(1, y.id, v))
}

func text(v cty.Value, name string) string {
	if a := v.GetAttr(name); a.IsKnown() && !a.IsNull() {
		return a.AsString()
	}
	return ""
}

func (y *toy) validate(ty *value.Type, q fields) []byte {
	if text(y.in(ty, q[2]), "name") == "bad" {
		return wrong(1, "The name is bad", "name")
	}
	return nil
}

// query reads the data source: an object by its name.
func (y *toy) query(q fields) []byte {
	config := y.in(y.data, q[2])
	id := "t-" + text(config, "name")
	if !fileIsThere(y.path(id)) {
		return wrong(2, "There is no "+id, "")
	}
	return y.out(1, y.data, with(config, map[string]cty.Value{"id": cty.StringVal(id),
		"key": cty.StringVal("key of " + id)}))
}

func (y *toy) plan(q fields) []byte {
	prior, proposed := y.in(y.ty, q[2]), y.in(y.ty, q[3])
	if proposed.IsNull() {
		return append(y.out(1, y.ty, proposed), field(3, q[5])...)
	}
	null := cty.NullVal(cty.String)
	planned := with(proposed, map[string]cty.Value{"pin_wo": null, "words_wo": null})
	var a []byte
	if prior.IsNull() {
		planned = with(planned, map[string]cty.Value{"id": cty.UnknownVal(cty.String),
			"key": cty.UnknownVal(cty.String)})
	} else if text(prior, "name") != text(planned, "name") {
		a = field(2, pathTo("name"))
	} else if fileIsThere(filepath.Join(y.dir, "due")) {
		planned = with(planned, map[string]cty.Value{"key": cty.UnknownVal(cty.String)})
	}
	a = append(a, y.out(1, y.ty, planned)...)
	return append(a, field(3, append([]byte("planned after "), q[5]...))...)
}

// path returns the file of an object.
func (y *toy) path(id string) string { return filepath.Join(y.dir, id+".json") }

func (y *toy) store(t thing) {
	b, err := json.Marshal(t)
	if err == nil {
		err = os.WriteFile(y.path(t.ID), b, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

func (y *toy) apply(q fields) []byte {
	planned, config := y.in(y.ty, q[3]), y.in(y.ty, q[4])
	prior := y.in(y.ty, q[2])
	b, _ := os.ReadFile(filepath.Join(y.dir, "fault"))
	_ = os.Remove(filepath.Join(y.dir, "fault"))
	fault := string(b)
	if fault == "reject" {
		return append(y.out(1, y.ty, prior), wrong(3, "Rejected", "")...)
	}
	if planned.IsNull() {
		_ = os.Remove(y.path(text(prior, "id")))
		return y.out(1, y.ty, planned)
	}
	t := thing{ID: text(planned, "id"), Name: text(planned, "name"), Pin: text(config, "pin_wo")}
	if t.ID == "" {
		t.ID = "t-" + t.Name
		for n := 2; fileIsThere(y.path(t.ID)); n++ {
			t.ID = fmt.Sprintf("t-%s-%d", t.Name, n)
		}
	}
	if l := planned.GetAttr("list"); !l.IsNull() {
		for _, e := range l.AsValueSlice() {
			t.List = append(t.List, e.AsString())
		}
	}
	y.store(t)
	return y.applied(t, planned, fault)
}

func fileIsThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// applied answers an apply that was done.
func (y *toy) applied(t thing, planned cty.Value, fault string) []byte {
	state := with(planned, map[string]cty.Value{"id": cty.StringVal(t.ID),
		"key": cty.StringVal("key of " + t.ID)})
	var a []byte
	switch fault {
	case "mute":
		return append(y.out(1, y.ty, y.ty.Null()), wrong(3, "Failed", "")...)
	case "crash":
		fmt.Fprintln(os.Stderr, "the toy is broken")
		os.Exit(3)
	case "hang":
		y.mu.Lock()
		stop := y.stopping
		y.mu.Unlock()
		_ = os.WriteFile(filepath.Join(y.dir, "hangs"), nil, 0o600)
		<-stop
		a = wrong(3, "Interrupted", "")
	case "fail":
		a = wrong(3, "Failed", "")
	case "lie":
		state = with(state, map[string]cty.Value{"name": cty.StringVal("other")})
	}
	a = append(a, y.out(1, y.ty, state)...)
	a = append(a, field(2, []byte("made"))...)
	return append(a, y.identity(5, t.Name)...)
}

func (y *toy) read(q fields) []byte {
	prior := y.in(y.ty, q[2])
	b, err := os.ReadFile(y.path(text(prior, "id")))
	var t thing
	if err != nil || json.Unmarshal(b, &t) != nil {
		if len(q[6]) == 0 { // as providers on the framework do
			return wrong(2, "Missing Resource Identity After Read", "")
		}
		return y.out(1, y.ty, y.ty.Null())
	}
	list := cty.NullVal(cty.List(cty.String))
	if len(t.List) > 0 {
		var elements []cty.Value
		for _, e := range t.List {
			elements = append(elements, cty.StringVal(e))
		}
		list = cty.ListVal(elements)
	}
	state := with(prior, map[string]cty.Value{"name": cty.StringVal(t.Name), "list": list,
		"key": cty.StringVal("key of " + t.ID)})
	return append(append(y.out(1, y.ty, state), field(3, q[3])...), y.identity(5, t.Name)...)
}

// adopt imports by an id, or by an identity. It succeeds also if there is no object.
func (y *toy) adopt(q fields) []byte {
	id, name := string(q[2]), ""
	if len(q[4]) > 0 {
		name = text(y.in(y.id, read(q[4])[1]), "name")
		id = "none"
		for _, path := range slices.Sorted(slices.Values(globbed(y.dir))) {
			var t thing
			if b, err := os.ReadFile(path); err == nil && json.Unmarshal(b, &t) == nil && t.Name == name {
				id = t.ID
			}
		}
	}
	empty, _ := y.ty.FromJSON([]byte("{}"))
	state := with(empty, map[string]cty.Value{"id": cty.StringVal(id)})
	one := append(field(1, []byte("x_y")), y.out(2, y.ty, state)...)
	return field(1, append(one, y.identity(4, name)...))
}

func globbed(dir string) []string {
	out, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	return out
}

// upgrade accepts states of version 0, whose name was called title.
func (y *toy) upgrade(q fields) []byte {
	var state map[string]any
	if err := json.Unmarshal(read(q[3])[1], &state); err != nil {
		return wrong(2, "The state is not readable", "")
	}
	if title, former := state["title"]; former {
		state["name"] = title
		delete(state, "title")
	}
	b, _ := json.Marshal(state)
	v, err := y.ty.FromJSON(b)
	if err != nil {
		return wrong(2, err.Error(), "")
	}
	return y.out(1, y.ty, v)
}
