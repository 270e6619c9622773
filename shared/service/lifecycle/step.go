package lifecycle

import (
	"maps"
	"slices"
	"strings"

	"southbound/shared/fault"
)

// Outcome is the result of deploying the resources of an instance.
type Outcome string

// The outcomes. Pending means that the outcome is not known yet.
const (
	Pending  Outcome = ""
	Deployed Outcome = "deployed"
	Failed   Outcome = "failed"
)

// Instance is the part of an instance that the lifecycle uses. Sets are never modified, only
// replaced; nil means that the set does not exist.
type Instance struct {
	State   string `json:"state"`
	Version int64  `json:"version"`
	// Desired counts the changes of the desired resources.
	Desired   int64           `json:"desired_state_version"`
	Candidate map[string]any  `json:"candidate_attributes"`
	Active    map[string]any  `json:"active_attributes"`
	Rollback  map[string]any  `json:"rollback_attributes"`
	Config    map[string]bool `json:"config"`
	Deleted   bool            `json:"deleted"`
	// Outcome is the outcome of the resources at Desired.
	Outcome Outcome `json:"outcome,omitempty"`
	// Validating is the target of the transfer that waits for its compile; "" if none does. Trigger
	// is the trigger of that transfer.
	Validating string  `json:"validating,omitempty"`
	Trigger    Trigger `json:"trigger,omitempty"`
}

// Trigger is a way to begin a transfer.
type Trigger string

// The triggers.
const (
	ByItself    Trigger = "auto"
	BySetState  Trigger = "api_set_state"
	ByUpdate    Trigger = "on_update"
	ByDelete    Trigger = "on_delete"
	ByResources Trigger = "resource_based"
	ByForce     Trigger = "force"
)

// Event is an event of the lifecycle: one of Create, Auto, SetState, Update, Delete, Configure,
// Force, Redeploy, Validated and Resources.
type Event interface{ event() }

type (
	// Create creates the instance. State is one of the alternative initial states, or "".
	Create struct {
		Attributes map[string]any
		State      string
	}
	// Auto begins an automatic transfer. It is sent after a transfer, and after a start of the
	// program.
	Auto struct{}
	// SetState requests another state.
	SetState struct {
		Target  string
		Version int64 // that the caller has read
	}
	// Update requests other attributes. Attributes is the complete set.
	Update struct {
		Attributes map[string]any
		Version    int64
	}
	// Delete requests the end of the instance.
	Delete struct{ Version int64 }
	// Configure turns an automatic transfer on or off.
	Configure struct {
		Name    string
		On      bool
		Version int64
	}
	// Force sets the state without a transfer, for experts. Operation may be NoOperation.
	Force struct {
		Target    string
		Operation Operation
		Version   int64
	}
	// Redeploy deploys the resources of an instance again in its current state, because its
	// definition or its model has changed. Exported means that some of them are in the model.
	Redeploy struct {
		Version  int64
		Exported bool
	}
	// Validated is the result of the compile that Validate requested.
	Validated struct {
		Version int64
		Failed  bool
	}
	// Resources is the outcome of the resources that Export requested.
	Resources struct {
		Desired int64
		Outcome Outcome
	}
)

func (Create) event()    {}
func (Auto) event()      {}
func (SetState) event()  {}
func (Update) event()    {}
func (Delete) event()    {}
func (Configure) event() {}
func (Force) event()     {}
func (Redeploy) event()  {}
func (Validated) event() {}
func (Resources) event() {}

// Effect is an action to carry out after a step: Validate, Export, Continue or Gone.
type Effect interface{ effect() }

type (
	// Validate requests a compile in which the instance has the attributes of a set. With NoSet,
	// the compile omits the instance. The answer is Validated with the same version.
	Validate struct {
		Set     Set
		Version int64
	}
	// Export requests a compile and a deploy of the resources that the instance needs now. With
	// Purge its resources are removed. Without Present they leave the model.
	Export struct {
		Desired        int64
		Present, Purge bool
	}
	// Continue requests Auto.
	Continue struct{}
	// Gone means that the instance has ended.
	Gone struct{}
)

func (Validate) effect() {}
func (Export) effect()   {}
func (Continue) effect() {}
func (Gone) effect()     {}

// Taken is a completed transfer.
type Taken struct {
	From, To  string
	Trigger   Trigger
	Error     bool // it led to the error state
	Operation Operation
}

// Result is the result of a step.
type Result struct {
	Instance Instance
	Effects  []Effect
	Taken    *Taken // nil if no transfer was completed
}

// Step returns the instance after an event. It modifies neither m nor i. If the event is rejected,
// Step returns the reason and the instance stays as it is. The reason is fault.Conflict for a
// version or a state that has moved on, and fault.Invalid for names that the machine lacks. Late or
// repeated events are no error: Step returns the instance unchanged, without effects.
func Step(m *Machine, i Instance, e Event) (Result, error) {
	s := &stepper{m: m, in: i, trigger: ByItself}
	if c, ok := e.(Create); ok {
		return s.create(c)
	}
	from, ok := m.State(i.State)
	if !ok {
		return Result{}, fault.New(fault.Invalid, "", "the lifecycle %s has no state %s",
			m.Name, i.State).WithHint("set one of its states by force")
	}
	s.from = from
	switch e := e.(type) {
	case Auto:
		return s.auto()
	case Validated:
		return s.validated(e)
	case Resources:
		return s.resources(e)
	}
	return s.asked(e)
}

// stepper is one step.
type stepper struct {
	m       *Machine
	in      Instance
	from    *State
	trigger Trigger
}

// same returns the instance without a transfer.
func (s *stepper) same(effects ...Effect) (Result, error) {
	return Result{Instance: s.in, Effects: effects}, nil
}

func (s *stepper) create(e Create) (Result, error) {
	if s.in.State != "" {
		return Result{}, fault.New(fault.Conflict, "", "the instance is there already")
	}
	name := s.m.Initial
	if e.State != "" {
		name = e.State
	}
	known := name == s.m.Initial
	for _, a := range s.m.Alternatives {
		known = known || a == name
	}
	to, ok := s.m.State(name)
	if !ok || !known {
		return Result{}, fault.New(fault.Invalid, "", "%s is not a state to begin in", name).
			WithHint("leave it out, or use one of the alternative_initial_states")
	}
	s.in = Instance{State: to.Name, Version: 1, Desired: 1, Candidate: e.Attributes}
	if s.in.Candidate == nil {
		s.in.Candidate = map[string]any{}
	}
	effects := []Effect{}
	if to.ExportResources {
		effects = append(effects, export(s.in.Desired, to))
	}
	return s.same(append(effects, Continue{})...)
}

// asked handles a request of a caller who has read a version.
func (s *stepper) asked(e Event) (Result, error) {
	var version int64
	switch e := e.(type) {
	case SetState:
		version = e.Version
	case Update:
		version = e.Version
	case Delete:
		version = e.Version
	case Configure:
		version = e.Version
	case Force:
		version = e.Version
	case Redeploy:
		version = e.Version
	}
	if version != s.in.Version {
		return Result{}, fault.New(fault.Conflict, "",
			"the instance has the version %d, and not %d",
			s.in.Version, version).
			WithHint("read it again, and decide again")
	}
	if f, ok := e.(Force); ok {
		return s.force(f)
	}
	if s.in.Deleted {
		return Result{}, fault.New(fault.Conflict, "", "the instance is deleted")
	}
	if c, ok := e.(Configure); ok {
		return s.configure(c)
	}
	if s.in.Validating != "" {
		return Result{}, fault.New(fault.Conflict, "",
			"the instance is on its way from %s to %s, and is being validated",
			s.in.State, s.in.Validating).WithHint("try again when that is done")
	}
	if r, ok := e.(Redeploy); ok {
		return s.redeploy(r)
	}
	return s.transfer(e)
}

func (s *stepper) configure(e Configure) (Result, error) {
	if _, ok := s.configured(e.Name); !ok {
		return Result{}, fault.New(fault.Invalid, "", "the lifecycle %s has no setting %s",
			s.m.Name, e.Name).WithHint("%s", s.m.settings())
	}
	config := maps.Clone(s.in.Config)
	if config == nil {
		config = map[string]bool{}
	}
	config[e.Name] = e.On
	s.in.Config = config
	return s.same(Continue{})
}

// settings returns a hint with the settings of the machine.
func (m *Machine) settings() string {
	var names []string
	for i := range m.Transfers {
		if name := m.Transfers[i].ConfigName; name != "" {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "it has none: no transfer of it has a config_name"
	}
	slices.Sort(names)
	return "its settings are " + strings.Join(slices.Compact(names), ", ")
}

func (s *stepper) configured(name string) (*Transfer, bool) {
	for i := range s.m.Transfers {
		if t := &s.m.Transfers[i]; t.ConfigName == name && name != "" {
			return t, true
		}
	}
	return nil, false
}

// transfer begins the transfer for an update, a delete or a requested state.
func (s *stepper) transfer(e Event) (Result, error) {
	var t *Transfer
	ok, what := false, ""
	switch e := e.(type) {
	case Update:
		s.trigger, what = ByUpdate, "it cannot be updated"
		t, ok = s.m.from(s.in.State, func(t *Transfer) bool { return t.OnUpdate })
		s.in.Candidate = e.Attributes
	case Delete:
		s.trigger, what = ByDelete, "it cannot be deleted"
		t, ok = s.m.from(s.in.State, func(t *Transfer) bool { return t.OnDelete })
	case SetState:
		s.trigger, what = BySetState, "no transfer to "+e.Target+" can be requested"
		t, ok = s.m.from(s.in.State, func(t *Transfer) bool {
			return t.APISetState && t.Target == e.Target
		})
	}
	if !ok {
		return Result{}, fault.New(fault.Conflict, "",
			"the instance is in the state %s, in which %s",
			s.in.State, what).
			WithHint("%s", s.choices())
	}
	return s.begin(t)
}

// begin performs a transfer, or requests its validation first.
func (s *stepper) begin(t *Transfer) (Result, error) {
	if !t.Validate {
		return s.take(t, false)
	}
	s.in.Validating, s.in.Trigger = t.Target, s.trigger
	if s.trigger == ByUpdate || s.trigger == BySetState || s.trigger == ByDelete {
		s.in.Version++ // callers who have read the earlier version do not know of this transfer
	}
	return s.same(Validate{Set: s.from.ValidateSelf, Version: s.in.Version})
}

// auto begins an automatic transfer. If a validation is pending, it requests the compile again.
func (s *stepper) auto() (Result, error) {
	if s.in.Deleted {
		return s.same()
	}
	if s.in.Validating != "" {
		return s.same(Validate{Set: s.from.ValidateSelf, Version: s.in.Version})
	}
	t, ok := s.m.from(s.in.State, func(t *Transfer) bool { return t.Auto })
	if on, set := s.in.Config[configName(t)]; ok && (on || !set) {
		return s.begin(t)
	}
	return s.follow()
}

func configName(t *Transfer) string {
	if t == nil {
		return ""
	}
	return t.ConfigName
}

// follow performs the transfer that the outcome of the resources begins.
func (s *stepper) follow() (Result, error) {
	t, ok := s.m.from(s.in.State, func(t *Transfer) bool { return t.ResourceBased })
	failed := s.in.Outcome == Failed
	if !ok || s.in.Outcome == Pending || failed && t.Error == "" {
		return s.same()
	}
	s.trigger = ByResources
	return s.take(t, failed)
}

func (s *stepper) validated(e Validated) (Result, error) {
	if s.in.Validating == "" || e.Version != s.in.Version {
		return s.same() // late, or twice
	}
	s.trigger = s.in.Trigger
	t, ok := s.m.from(s.in.State, func(t *Transfer) bool {
		return t.Validate && t.Target == s.in.Validating && t.begunBy(s.trigger)
	})
	if !ok {
		return Result{}, fault.New(fault.Invalid, "",
			"the lifecycle %s has no transfer from %s to %s",
			s.m.Name, s.in.State, s.in.Validating).
			WithHint("set another state by force")
	}
	return s.take(t, e.Failed)
}

func (t *Transfer) begunBy(by Trigger) bool {
	switch by {
	case ByItself:
		return t.Auto
	case BySetState:
		return t.APISetState
	case ByUpdate:
		return t.OnUpdate
	case ByDelete:
		return t.OnDelete
	case ByResources:
		return t.ResourceBased
	case ByForce:
	}
	return false
}

func (s *stepper) resources(e Resources) (Result, error) {
	if s.in.Deleted || e.Desired != s.in.Desired || !s.from.ExportResources ||
		e.Outcome == s.in.Outcome {
		return s.same() // late, or twice
	}
	s.in.Outcome = e.Outcome
	if s.in.Validating != "" {
		return s.same()
	}
	if t, ok := s.m.from(s.in.State, func(t *Transfer) bool { return t.Auto }); ok {
		if on, set := s.in.Config[t.ConfigName]; on || !set {
			return s.same(Continue{})
		}
	}
	return s.follow()
}
