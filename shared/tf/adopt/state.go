// Package adopt reads state files of Terraform and OpenTofu, and plans how their objects become
// resources.
//
// It makes no calls, and does not know the engine. See docs/design/terraform.md.
package adopt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"

	"southbound/shared/fault"
)

// Format is the version of state files that Parse reads. Terraform writes it since 0.12, and all
// versions of OpenTofu write it.
const Format = 4

// The limits of a state file.
const (
	MaxBytes     = 256 << 20
	maxInstances = 200_000
)

// State is a state file.
type State struct {
	Writer  string // the version of the program that wrote it
	Lineage string
	Serial  uint64
	Objects []Object // in the order of the file
}

// Object is one object of a state file: the present one of an instance, or a deposed one.
type Object struct {
	Address  Address
	Provider Configuration
	Data     bool   // it is the result of a data source
	Deposed  string // the key of a deposed object; "": it is the present object
	Tainted  bool

	Version         int64           // of the schema
	Attributes      json.RawMessage // as the provider has answered them
	Private         []byte
	Identity        json.RawMessage
	IdentityVersion int64

	// Sensitive are the paths that the writer has marked, as value.Pointer writes them.
	Sensitive           []string
	Dependencies        []Address // resources, without keys
	CreateBeforeDestroy bool
	SkipDestroy         bool // destroy = false of OpenTofu: it never deletes the object

	// Damage is the reason why the object cannot be used; "": it can.
	Damage string
}

// The form of a state file.
type (
	file struct {
		Version   json.Number     `json:"version"`
		Writer    string          `json:"terraform_version"`
		Serial    uint64          `json:"serial"`
		Lineage   string          `json:"lineage"`
		Resources []fileResource  `json:"resources"`
		Encrypted json.RawMessage `json:"encrypted_data"`
	}
	fileResource struct {
		Module    string         `json:"module"`
		Mode      string         `json:"mode"`
		Type      string         `json:"type"`
		Name      string         `json:"name"`
		Provider  string         `json:"provider"`
		Instances []fileInstance `json:"instances"`
	}
	fileInstance struct {
		Key                 json.RawMessage   `json:"index_key"`
		Status              string            `json:"status"`
		Deposed             string            `json:"deposed"`
		Provider            string            `json:"provider"` // of OpenTofu, if it differs by instance
		Version             int64             `json:"schema_version"`
		Attributes          json.RawMessage   `json:"attributes"`
		Flat                json.RawMessage   `json:"attributes_flat"`
		IdentityVersion     int64             `json:"identity_schema_version"`
		Identity            json.RawMessage   `json:"identity"`
		Sensitive           []json.RawMessage `json:"sensitive_attributes"`
		Private             string            `json:"private"`
		Dependencies        []string          `json:"dependencies"`
		CreateBeforeDestroy bool              `json:"create_before_destroy"`
		SkipDestroy         bool              `json:"skip_destroy"`
	}
)

const what = "read state file"

// Parse reads a state file. It returns Invalid for text that is no state file, and Unsupported for one
// of another version or with encryption. A damaged object has a reason; it does not make the others
// unusable. Errors contain no values.
func Parse(text []byte) (*State, error) {
	f, err := decode(text)
	if err != nil {
		return nil, err
	}
	out := &State{Writer: f.Writer, Lineage: f.Lineage, Serial: f.Serial}
	seen := map[string]bool{}
	for i := range f.Resources {
		r := &f.Resources[i]
		if len(out.Objects)+len(r.Instances) > maxInstances {
			return nil, invalid("it has more than %d objects", maxInstances).
				WithHint("move some of them to another state with `terraform state mv -state-out`")
		}
		for n := range r.Instances {
			o, err := r.object(&r.Instances[n])
			if err != nil {
				return nil, err
			}
			key := o.Name()
			if seen[key] {
				return nil, invalid("it has two objects %s", key).WithHint("use an unchanged state file")
			}
			seen[key] = true
			out.Objects = append(out.Objects, *o)
		}
	}
	return out, nil
}

// decode reads the form of a state file, and checks its version.
func decode(text []byte) (*file, error) {
	if len(text) > MaxBytes {
		return nil, invalid("it has %d MiB, and %d MiB is the maximum", len(text)>>20, MaxBytes>>20)
	}
	var head struct {
		Version   any             `json:"version"`
		Encrypted json.RawMessage `json:"encrypted_data"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, unreadable(text, err)
	}
	switch {
	case len(head.Encrypted) > 0:
		return nil, fault.New(fault.Unsupported, what, "it is encrypted").
			WithHint("write it in clear with `tofu state pull`, pass it by a pipe, and name the file -")
	case head.Version == nil:
		return nil, invalid("it has no version").WithHint("use a state file, such as terraform.tfstate, " +
			"or the output of `terraform state pull`")
	case head.Version != float64(Format):
		return nil, fault.New(fault.Unsupported, what, "it has the version %.50q, and version %d is read",
			asText(head.Version), Format).
			WithHint("write it again with `terraform apply -refresh-only` of Terraform 0.12 or newer")
	}
	f := new(file)
	if err := json.Unmarshal(text, f); err != nil {
		return nil, unreadable(text, err)
	}
	return f, nil
}

func asText(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "?" // does not happen: v was JSON
	}
	return string(text)
}

func invalid(format string, args ...any) *fault.Error {
	return fault.New(fault.Invalid, what, format, args...)
}

// unreadable returns the error of text that is not JSON, or has another form. It quotes no text of the
// file, which may have secrets.
func unreadable(text []byte, err error) error {
	line := func(offset int64) int {
		return 1 + bytes.Count(text[:max(0, min(offset, int64(len(text))))], []byte("\n"))
	}
	const hint = "use an unchanged state file, or the output of `terraform state pull`"
	var syntax *json.SyntaxError
	var form *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax) && syntax.Offset >= int64(len(text)):
		return invalid("line %d: it ends too early", line(syntax.Offset)).WithHint(hint)
	case errors.As(err, &syntax):
		return invalid("line %d: it is not JSON", line(syntax.Offset)).WithHint(hint)
	case errors.As(err, &form):
		return invalid("line %d: %s has another form", line(form.Offset), form.Field).WithHint(hint)
	}
	return invalid("it has another form").WithHint(hint)
}

// object reads one instance of a resource. Its address has to be readable, since all reasons name it.
func (r *fileResource) object(i *fileInstance) (*Object, error) {
	o := &Object{Data: r.Mode == "data", Deposed: i.Deposed, Tainted: i.Status == "tainted",
		Version: i.Version, Attributes: present(i.Attributes), Identity: present(i.Identity),
		IdentityVersion: i.IdentityVersion, CreateBeforeDestroy: i.CreateBeforeDestroy,
		SkipDestroy: i.SkipDestroy}
	key, err := parseKey(i.Key)
	if err != nil {
		return nil, invalid("%s.%s: %v", r.Type, r.Name, err).WithHint("use an unchanged state file")
	}
	module, rest, err := parseModule(r.Module)
	if err != nil || rest != "" || r.Type == "" || r.Name == "" {
		return nil, invalid("%.200q in the module %.200q is no address of a resource", r.Type+"."+r.Name,
			r.Module).WithHint("use an unchanged state file")
	}
	o.Address = Address{Module: module, Type: r.Type, Name: r.Name, Key: key}
	configuration := r.Provider
	if i.Provider != "" {
		configuration = i.Provider
	}
	if o.Provider, err = ParseConfiguration(configuration); err != nil {
		o.Damage = "its provider is not readable"
	}
	o.fill(r, i)
	return o, nil
}

// fill sets the members that may be damaged.
func (o *Object) fill(r *fileResource, i *fileInstance) {
	damaged := func(reason string) {
		if o.Damage == "" {
			o.Damage = reason
		}
	}
	switch {
	case r.Mode != "managed" && r.Mode != "data":
		damaged("its mode is not known")
	case i.Status != "" && i.Status != "tainted":
		damaged("its status is not known")
	case present(i.Flat) != nil:
		damaged("it was written by Terraform 0.11; refresh it with a newer version first")
	case o.Attributes == nil:
		damaged("it has no attributes")
	}
	var err error
	if o.Private, err = base64.StdEncoding.DecodeString(i.Private); err != nil {
		damaged("its private data is damaged")
	}
	for _, path := range i.Sensitive {
		p, err := parsePath(path)
		if err != nil {
			damaged("the paths of its sensitive attributes are damaged")
		}
		o.Sensitive = append(o.Sensitive, p)
	}
	for _, text := range i.Dependencies {
		a, err := parseResource(text)
		if err != nil {
			damaged("its dependencies are damaged")
			continue
		}
		o.Dependencies = append(o.Dependencies, a)
	}
	o.Dependencies = slices.Clip(o.Dependencies)
}

// present returns a JSON value, or nil for null and for none.
func present(text json.RawMessage) json.RawMessage {
	if len(text) == 0 || string(text) == "null" {
		return nil
	}
	return text
}

// Name returns the address of an object for people. That of a deposed object has its key.
func (o *Object) Name() string {
	name := o.Address.String()
	if o.Data {
		name = o.Address.prefix() + "data." + o.Address.local()
	}
	if o.Deposed != "" {
		name += " (deposed " + o.Deposed + ")"
	}
	return name
}
