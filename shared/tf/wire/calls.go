package wire

import "google.golang.org/protobuf/encoding/protowire"

// Metadata names what a provider offers, without schemas.
type Metadata struct {
	Capabilities Capabilities
	DataSources  []string
	Resources    []string
	Functions    []string
	Ephemeral    []string
	Lists        []string
}

// Read requests the present state of a resource.
type Read struct {
	Type         string
	State        DynamicValue
	Private      []byte
	ProviderMeta DynamicValue // absent: none
	Identity     DynamicValue // absent: none
}

// ReadAnswer is the answer to Read. A null State means that the resource no longer exists.
type ReadAnswer struct {
	State       DynamicValue
	Private     []byte
	Identity    DynamicValue
	Diagnostics []Diagnostic
}

// Plan requests the plan of a change. A null Prior creates, a null Proposed deletes.
type Plan struct {
	Type         string
	Prior        DynamicValue
	Proposed     DynamicValue
	Config       DynamicValue
	Private      []byte
	ProviderMeta DynamicValue // absent: none
	Identity     DynamicValue // absent: none
}

// PlanAnswer is the answer to Plan.
type PlanAnswer struct {
	Planned         DynamicValue
	RequiresReplace []Path
	Private         []byte
	LegacyTypes     bool // the answer may contradict the configuration in the ways of old SDKs
	Identity        DynamicValue
	Diagnostics     []Diagnostic
}

// Apply requests the execution of a plan.
type Apply struct {
	Type         string
	Prior        DynamicValue
	Planned      DynamicValue
	Config       DynamicValue
	Private      []byte       // of the plan
	ProviderMeta DynamicValue // absent: none
	Identity     DynamicValue // of the plan; absent: none
}

// ApplyAnswer is the answer to Apply. State may be set although Diagnostics has an error: it is
// then the state of the objects that were made before the error.
type ApplyAnswer struct {
	State       DynamicValue
	Private     []byte
	LegacyTypes bool // see PlanAnswer
	Identity    DynamicValue
	Diagnostics []Diagnostic
}

// Import requests the states of an existing resource. Exactly one of ID and Identity is set.
type Import struct {
	Type     string
	ID       string
	Identity DynamicValue
}

// ImportAnswer is the answer to Import. A provider may answer several resources.
type ImportAnswer struct {
	Resources   []Imported
	Diagnostics []Diagnostic
}

// Imported is one imported resource. Its state is incomplete until the resource was read.
type Imported struct {
	Type     string
	State    DynamicValue
	Private  []byte
	Identity DynamicValue
}

// List requests the objects of a type that the provider lists.
type List struct {
	Type   string
	Config DynamicValue // of the type's schema in Schemas.Lists
	Limit  int64        // the largest number of objects; 0: no limit
}

// Listed is one object in the answers to List.
type Listed struct {
	Identity    DynamicValue
	Name        string // for people
	Diagnostics []Diagnostic
}

// Move requests the state of one resource type as the state of another.
type Move struct {
	SourceProvider        string // address
	SourceType            string
	SourceVersion         int64  // of the schema
	SourceState           []byte // JSON
	SourcePrivate         []byte
	SourceIdentity        []byte // JSON; nil: none
	SourceIdentityVersion int64
	Type                  string
}

// MoveAnswer is the answer to Move.
type MoveAnswer struct {
	State       DynamicValue
	Private     []byte
	Identity    DynamicValue
	Diagnostics []Diagnostic
}

func (q Read) encode() (m message) {
	m.text(1, q.Type)
	m.value(2, q.State)
	m.bytes(3, q.Private)
	m.value(4, q.ProviderMeta)
	m.writeOnly(5)
	m.identity(6, q.Identity)
	return m
}

func (v field) readAnswer() (a ReadAnswer) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			a.State = f.value()
		case 2:
			a.Diagnostics = append(a.Diagnostics, f.diagnostic())
		case 3:
			a.Private = f.bytes()
		case 4:
			f.deferred()
		case 5:
			a.Identity = f.identity()
		}
	})
	return a
}

func (q Plan) encode() (m message) {
	m.text(1, q.Type)
	m.value(2, q.Prior)
	m.value(3, q.Proposed)
	m.value(4, q.Config)
	m.bytes(5, q.Private)
	m.value(6, q.ProviderMeta)
	m.writeOnly(7)
	m.identity(8, q.Identity)
	return m
}

func (v field) planAnswer() (a PlanAnswer) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			a.Planned = f.value()
		case 2:
			a.RequiresReplace = append(a.RequiresReplace, f.path())
		case 3:
			a.Private = f.bytes()
		case 4:
			a.Diagnostics = append(a.Diagnostics, f.diagnostic())
		case 5:
			a.LegacyTypes = f.flag()
		case 6:
			f.deferred()
		case 7:
			a.Identity = f.identity()
		}
	})
	return a
}

func (q Apply) encode() (m message) {
	m.text(1, q.Type)
	m.value(2, q.Prior)
	m.value(3, q.Planned)
	m.value(4, q.Config)
	m.bytes(5, q.Private)
	m.value(6, q.ProviderMeta)
	m.identity(7, q.Identity)
	return m
}

func (v field) applyAnswer() (a ApplyAnswer) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			a.State = f.value()
		case 2:
			a.Private = f.bytes()
		case 3:
			a.Diagnostics = append(a.Diagnostics, f.diagnostic())
		case 4:
			a.LegacyTypes = f.flag()
		case 5:
			a.Identity = f.identity()
		}
	})
	return a
}

func (q Import) encode() (m message) {
	m.text(1, q.Type)
	m.text(2, q.ID)
	m.writeOnly(3)
	m.identity(4, q.Identity)
	return m
}

func (v field) importAnswer() (a ImportAnswer) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			a.Resources = append(a.Resources, f.imported())
		case 2:
			a.Diagnostics = append(a.Diagnostics, f.diagnostic())
		case 3:
			f.deferred()
		}
	})
	return a
}

func (v field) imported() (out Imported) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			out.Type = f.text()
		case 2:
			out.State = f.value()
		case 3:
			out.Private = f.bytes()
		case 4:
			out.Identity = f.identity()
		}
	})
	return out
}

func (q List) encode() (m message) {
	m.text(1, q.Type)
	m.value(2, q.Config)
	m.number(4, q.Limit)
	return m
}

func (v field) listed() (out Listed) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			out.Identity = f.identity()
		case 2:
			out.Name = f.text()
		case 4:
			out.Diagnostics = append(out.Diagnostics, f.diagnostic())
		}
	})
	return out
}

func (q Move) encode() (m message) {
	m.text(1, q.SourceProvider)
	m.text(2, q.SourceType)
	m.number(3, q.SourceVersion)
	m.rawState(4, q.SourceState)
	m.text(5, q.Type)
	m.bytes(6, q.SourcePrivate)
	if q.SourceIdentity != nil {
		m.rawState(7, q.SourceIdentity)
	}
	m.number(8, q.SourceIdentityVersion)
	return m
}

func (v field) moveAnswer() (a MoveAnswer) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			a.State = f.value()
		case 2:
			a.Diagnostics = append(a.Diagnostics, f.diagnostic())
		case 3:
			a.Private = f.bytes()
		case 4:
			a.Identity = f.identity()
		}
	})
	return a
}

// valueAnswer reads an answer of one value and diagnostics; 0: the answer has no value.
func (v field) valueAnswer(value, diagnostic protowire.Number) (out DynamicValue, d []Diagnostic) {
	v.each(func(f field) {
		switch f.number {
		case value:
			out = f.value()
		case diagnostic:
			d = append(d, f.diagnostic())
		}
	})
	return out, d
}
