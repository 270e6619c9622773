package tf

import (
	"bytes"
	"encoding/json"

	"github.com/zclconf/go-cty/cty"

	"southbound/shared/provider"
	"southbound/shared/tf/wire"
)

// keptForm is the form of a kept state that this program writes, and the newest that it reads.
const keptForm = 1

// kept is the kept state of one resource. The engine compresses and seals it.
type kept struct {
	Form    int     `json:"form"`
	Current *record `json:"current,omitempty"`
	// Deposed are objects that were replaced before they were deleted, the oldest first.
	Deposed []record `json:"deposed,omitempty"`
}

// record is the state of one object. State is the state as the provider has answered it: a translation
// would lose parts.
type record struct {
	Provider        string          `json:"provider"`
	Digest          string          `json:"digest"` // of the provider's program
	Type            string          `json:"type"`
	Version         int64           `json:"schema_version"`
	State           json.RawMessage `json:"state"`
	Private         []byte          `json:"private,omitempty"`
	Identity        json.RawMessage `json:"identity,omitempty"`
	IdentityVersion int64           `json:"identity_version,omitempty"`
	// Tainted states that the create of the object failed after it was made. It has to be replaced.
	Tainted bool `json:"tainted,omitempty"`
	// Doubtful states that an update failed, so State may be what was planned. It has to be read.
	Doubtful bool `json:"doubtful,omitempty"`
	// Token is that of the create that made the object; "": it was imported.
	Token string `json:"token,omitempty"`
	// Import is the identifier by which the object was imported, if it was.
	Import string `json:"import,omitempty"`
}

// live is the state of an object in the present schema.
type live struct {
	state             cty.Value
	private           []byte
	identity          wire.DynamicValue
	tainted, doubtful bool
	token, imported   string
}

// readKept decodes a kept state; nil bytes are the state of a resource that was never made.
func readKept(b []byte) (*kept, error) {
	if len(b) == 0 {
		return &kept{Form: keptForm}, nil
	}
	var form struct {
		Form int `json:"form"`
	}
	if err := json.Unmarshal(b, &form); err == nil && form.Form > keptForm {
		return nil, provider.Errorf(provider.Terminal, "the kept state has the form %d, and this program "+
			"reads forms up to %d; use a newer version of this program", form.Form, keptForm)
	}
	out, d := new(kept), json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	err := d.Decode(out)
	if err != nil || d.More() || out.Form != keptForm {
		return nil, provider.Errorf(provider.Terminal, "the kept state is damaged; restore it with "+
			"`southbound state import`, or remove it with `southbound state forget` and adopt the object "+
			"with the attribute %s", attrImport)
	}
	return out, nil
}

// bytes encodes a kept state. It is empty if there is no object.
func (k *kept) bytes() ([]byte, error) {
	if k.Current == nil && len(k.Deposed) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(k); err != nil {
		return nil, provider.Errorf(provider.Terminal, "the state cannot be kept: %v", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// check returns an error if the record is not one of the type.
func (r *record) check(m *meta, version int64) error {
	switch {
	case r.Type != m.theirs || r.Provider != m.provider.String():
		return provider.Errorf(provider.Terminal, "the kept state is that of a %s of the provider %s, and "+
			"%s is a %s of %s; export the former type, or remove the state with `southbound state forget`",
			r.Type, r.Provider, m.name, m.theirs, m.provider)
	case r.Version > version:
		return provider.Errorf(provider.Terminal, "the kept state has version %d of the schema of %s, and "+
			"the provider %s %s has version %d; use the newer version of the provider again", r.Version,
			r.Type, m.provider, m.version, version)
	case len(r.State) == 0:
		return provider.Errorf(provider.Terminal, "the kept state has no object; remove it with "+
			"`southbound state forget`")
	}
	return nil
}
