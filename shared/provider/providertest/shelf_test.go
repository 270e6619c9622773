package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// box1 is the first box of the first place of a check.
const box1 = "test::Box[test,name=place 1/a]"

// faults are ways in which the handler of this test can be wrong.
type faults struct {
	createTwiceFails, deleteGoneFails, readWrites, dryReadWrites, ignoresSize, alwaysDiffers,
	missesFixed, leavesTrace, tellsSecret,
	secretInError, undeclared, parameterReported, wrongType, batchSwaps, batchShort,
	batchSkips, updateAdds, updateGoneStuck,
	canonicalMoves, createsTwin, panics, misfinds, ghost, noDescription,
	noAttributeDescription, negativeTimeout, oneAtATime,
	dryBlind, batchForgetsCanceled, batchReadsStale, reloadBreaks, reloadFails, factsWrite,
	secretInFact, asksForever, largeState, remembers, halfMade, leavesHalf,
	updateTwiceFails, secretInChange, findFails, cutsText, trimsText, narrowNumbers, losesEmpty,
	refusesAsRetryable, refusesTooLate, listsTwice,
	listsOther, listsGhosts, listGoesOn, listWrites, noopWrites, saysTooLittle, resets bool

	// These are no faults.
	patient bool // creating takes two calls
	byToken bool // creating twice with one token is creating once
}

// String names the faults that are switched on.
func (f faults) String() string {
	type plain faults
	on := slices.DeleteFunc(strings.Fields(strings.Trim(fmt.Sprintf("%+v", plain(f)), "{}")),
		func(s string) bool { return !strings.HasSuffix(s, ":true") })
	return strings.Join(on, " ")
}

// shelf is a target in memory with a handler for test::Box on it.
type shelf struct {
	faults
	Stopper
	mu       sync.Mutex
	boxes    map[string]map[string]any
	made     map[string]bool // tokens
	memory   map[string]bool // names that were seen
	trace    int
	meet     chan struct{}
	reloaded bool
}

func boxType() schema.Type {
	return schema.Type{
		Name: "test::Box", Description: "a box on a shelf", Assigned: true,
		Thing:    schema.ByIdentity("name"),
		Features: []string{"canonicalise", "batch", "noop", "facts", "reload", "discover"},
		Attributes: []schema.Attribute{
			{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
			{Name: "size", Type: "Integer", Default: int64(1), Description: "how large it is"},
			{Name: "colour", Type: "Optional[String]", Description: "how it looks"},
			{Name: "wood", Type: "String", Default: "oak", Behaviour: schema.InitOnly,
				Description: "what it is made of"},
			{Name: "tags", Type: "Array[String]", Default: []any{},
				Description: "what it is found by, in order"},
			{Name: "notes", Type: "Hash[String, String]", Default: map[string]any{},
				Description: "what is to be known of it"},
			{Name: "care", Type: "Optional[String]", Behaviour: schema.Parameter,
				Description: "how it is handled"},
		},
	}
}

func subject(f faults) Subject {
	s := &shelf{faults: f, boxes: map[string]map[string]any{}, made: map[string]bool{},
		memory: map[string]bool{}, meet: make(chan struct{})}
	places := 0
	typ := boxType()
	if f.saysTooLittle {
		typ.Features = typ.Features[:5]
	}
	if f.noDescription {
		typ.Description = ""
	}
	if f.noAttributeDescription {
		typ.Attributes[1].Description = ""
	}
	return Subject{
		Definition: provider.Definition{Type: typ, Handler: s},
		New: func(string, *Host) (Case, error) {
			places++
			return boxCase(s, fmt.Sprintf("place %d/", places)), nil
		},
	}
}

// boxCase is a case with boxes whose names begin with place.
func boxCase(s *shelf, place string) Case {
	return Case{
		Attributes: map[string]any{"name": place + "a", "colour": "RED", "care": "s3cr3t",
			"tags": []any{"b", "a"}},
		Updates:  []map[string]any{{"size": int64(2)}, {"colour": "blue", "size": int64(3)}},
		InitOnly: map[string]any{"wood": "pine"},
		Others: []map[string]any{{"name": place + "b"},
			{"name": place + "c", "size": int64(7), "wood": "pine"}, {"name": place + "d"}},
		World: func() (string, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			var b strings.Builder
			for _, name := range slices.Sorted(maps.Keys(s.boxes)) {
				if own, ok := strings.CutPrefix(name, place); ok {
					fmt.Fprintf(&b, "%s %v\n", own, s.boxes[name])
				}
			}
			return fmt.Sprintf("%s%d", b.String(), s.trace), nil
		},
		Vanish: func() error {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.boxes, place+"a")
			return nil
		},
		Interrupt: s.Interrupt,
		Secrets:   []string{"s3cr3t"},
		Edges:     []string{"*"},
		Unfit:     map[string]string{"care": "nothing is done with it"},
	}
}

func nameOf(r provider.Resource) string { s, _ := r.Attributes["name"].(string); return s }

func (s *shelf) Read(
	ctx *provider.Context, req provider.ReadRequest,
) (provider.Observation, error) {
	if s.panics {
		panic("broken")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readWrites || s.dryReadWrites && ctx.DryRun() {
		s.trace++
	}
	if s.secretInChange {
		ctx.Changed("care", nil, req.Resource.Attributes["care"])
	}
	if s.tellsSecret {
		ctx.Info("careful", "care", req.Resource.Attributes["care"])
	}
	box, ok := s.boxes[nameOf(req.Resource)]
	if s.dryBlind && ctx.DryRun() {
		ok = false
	}
	if s.remembers && s.memory[nameOf(req.Resource)] && !req.Resource.Purged {
		return provider.Observation{Exists: true,
			Attributes: map[string]any{"size": req.Resource.Attributes["size"], "colour": "red",
				"wood": req.Resource.Attributes["wood"]}}, nil
	}
	s.memory[nameOf(req.Resource)] = ok
	if !ok {
		if s.ghost {
			return provider.Observation{Attributes: map[string]any{"size": int64(0)}}, nil
		}
		return provider.Observation{}, nil
	}
	out := map[string]any{"size": box["size"], "colour": box["colour"], "wood": box["wood"],
		"tags": box["tags"], "notes": box["notes"]}
	switch {
	case s.ignoresSize:
		out["size"] = req.Resource.Attributes["size"]
	case s.alwaysDiffers:
		out["size"] = int64(-1)
	case s.missesFixed:
		out["wood"] = req.Resource.Attributes["wood"]
	case s.undeclared:
		out["weight"] = int64(1)
	case s.parameterReported:
		out["care"] = "gentle"
	case s.wrongType:
		out["size"] = "large"
	}
	return provider.Observation{Exists: true, Attributes: out}, nil
}

func (s *shelf) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	if s.oneAtATime {
		select {
		case s.meet <- struct{}{}:
			return provider.Result{}, errors.New("another call is under way")
		case <-s.meet:
			return provider.Result{}, errors.New("another call is under way")
		case <-time.After(20 * time.Millisecond):
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := nameOf(req.Resource)
	if s.byToken && s.made[req.Token] {
		return provider.Result{}, nil
	}
	if s.boxes[name] != nil && s.createTwiceFails {
		return provider.Result{}, errors.New("it exists")
	}
	if s.createsTwin && s.boxes[name] != nil {
		name += "'"
	}
	if s.secretInError && ctx.Err() != nil {
		return provider.Result{}, fmt.Errorf("cannot handle %v", req.Resource.Attributes["care"])
	}
	switch {
	case s.asksForever:
		return provider.Result{Again: &provider.Again{After: time.Hour}}, nil
	case s.largeState:
		return provider.Result{Again: &provider.Again{State: make([]byte, 5<<10)}}, nil
	case s.patient && ctx.State() == nil:
		return provider.Result{Again: &provider.Again{After: time.Hour, State: []byte("ordered")}},
			nil
	}
	return provider.Result{}, s.make(name, req)
}

// make makes a box in two steps; after the first it has what cannot be changed later.
func (s *shelf) make(name string, req provider.CreateRequest) error {
	if err := s.Before(); err != nil {
		return err
	}
	box := s.store(req.Resource)
	half := map[string]any{"wood": box["wood"], "size": int64(0)}
	if s.halfMade {
		half["wood"] = "unknown"
	}
	s.boxes[name], s.made[req.Token] = half, true
	if err := s.Before(); err != nil {
		return err
	}
	s.boxes[name] = box
	return nil
}

func (s *shelf) store(r provider.Resource) map[string]any {
	colour, painted := r.Attributes["colour"].(string)
	if s.losesEmpty && colour == "" {
		painted = false
	}
	if s.trimsText {
		colour = strings.TrimSpace(colour)
	}
	if s.cutsText && len(colour) > 32 {
		colour = colour[:32]
	}
	box := map[string]any{"size": r.Attributes["size"], "wood": r.Attributes["wood"],
		"tags": r.Attributes["tags"], "notes": r.Attributes["notes"]}
	if n, ok := box["size"].(int64); ok && s.narrowNumbers {
		box["size"] = int64(int32(n)) // that is the fault
	}
	if painted {
		box["colour"] = strings.ToLower(colour)
	}
	return box
}

func (s *shelf) Update(_ *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := nameOf(req.Resource)
	if s.boxes[name] == nil {
		if s.updateGoneStuck {
			s.boxes[name] = map[string]any{"size": int64(-1), "wood": "rotten"}
		}
		return provider.Result{}, nil
	}
	if s.updateAdds {
		size, _ := s.boxes[name]["size"].(int64)
		want, _ := req.Resource.Attributes["size"].(int64)
		observed, _ := req.Observed.Attributes["size"].(int64)
		s.boxes[name]["size"] = size + want - observed
		return provider.Result{}, nil
	}
	if s.updateTwiceFails && s.boxes[name]["size"] == req.Resource.Attributes["size"] &&
		s.boxes[name]["colour"] == req.Resource.Attributes["colour"] {
		return provider.Result{}, errors.New("nothing to do")
	}
	if s.leavesHalf {
		s.trace++
	}
	if err := s.Before(); err != nil {
		return provider.Result{}, err
	}
	if s.leavesHalf {
		s.trace--
	}
	if s.refusesTooLate && req.Resource.Attributes["colour"] == " " {
		s.boxes[name]["size"] = int64(99)
		return provider.Result{}, provider.Errorf(provider.NeedsChange, "no such colour")
	}
	if s.refusesAsRetryable && req.Resource.Attributes["colour"] == " " {
		return provider.Result{}, errors.New("no such colour")
	}
	box := s.store(req.Resource)
	if req.Resource.Attributes["colour"] == nil && !s.resets {
		box["colour"] = s.boxes[name]["colour"]
	}
	s.boxes[name] = box
	return provider.Result{}, nil
}

// List implements provider.Lister.
func (s *shelf) List(_ *provider.Context, found func(provider.Found) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listWrites {
		s.trace++
	}
	names := slices.Sorted(maps.Keys(s.boxes))
	if s.listsTwice {
		names = append(names, names...)
	}
	if s.listsGhosts {
		for name := range s.memory {
			names = append(names, name)
		}
		slices.Sort(names)
		names = slices.Compact(names)
	}
	for _, name := range names {
		attrs := maps.Clone(s.boxes[name])
		if attrs == nil {
			attrs = map[string]any{}
		}
		attrs["name"] = name
		if s.listsOther {
			attrs["size"] = int64(-5)
		}
		if err := found(provider.Found{Attributes: attrs}); err != nil && !s.listGoesOn {
			return err
		}
	}
	return nil
}

// Noop implements provider.Nooper.
func (s *shelf) Noop(_ *provider.Context, planned provider.BatchChange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.noopWrites {
		s.boxes[nameOf(planned.Resource)] = map[string]any{"size": int64(0)}
	}
	return nil
}

func (s *shelf) Delete(_ *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := nameOf(req.Resource)
	if s.boxes[name] == nil && s.deleteGoneFails {
		return provider.Result{}, errors.New("it is gone")
	}
	if err := s.Before(); err != nil {
		return provider.Result{}, err
	}
	if s.leavesTrace {
		s.trace++
	}
	delete(s.boxes, name)
	return provider.Result{}, nil
}

func (s *shelf) Reload(_ *provider.Context, req provider.ReadRequest) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reloadBreaks {
		delete(s.boxes, nameOf(req.Resource))
	}
	if s.reloadFails && s.reloaded {
		return errors.New("once is enough")
	}
	s.reloaded = true
	return nil
}

func (s *shelf) Facts(_ *provider.Context, req provider.ReadRequest) (map[string]any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.factsWrite {
		s.trace++
	}
	if s.secretInFact {
		return map[string]any{"care": fmt.Sprint(req.Resource.Attributes["care"])}, nil
	}
	return map[string]any{"boxes": "some"}, nil
}

func (s *shelf) CallTimeout(provider.Resource) time.Duration {
	if s.negativeTimeout {
		return -1
	}
	return 0
}

func (s *shelf) Canonicalise(attrs map[string]any) (map[string]any, error) {
	out := maps.Clone(attrs)
	if colour, ok := out["colour"].(string); ok {
		out["colour"] = strings.ToLower(colour)
		if s.canonicalMoves {
			out["colour"] = strings.ToLower(colour) + "ish"
		}
	}
	return out, nil
}

func (s *shelf) FindCreated(_ *provider.Context, req provider.CreateRequest) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.findFails {
		return false, errors.New("cannot look")
	}
	return s.made[req.Token] != s.misfinds, nil
}

func (s *shelf) ReadBatch(_ context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	for i, item := range items {
		out[i].Observation, out[i].Err = s.Read(item.Context, item.ReadRequest)
	}
	if s.batchReadsStale {
		for i := range out {
			out[i].Observation.Attributes = nil
		}
	}
	if s.batchSwaps {
		slices.Reverse(out)
	}
	return out
}

func (s *shelf) ApplyBatch(ctx context.Context, items []provider.BatchChange) []provider.Applied {
	if s.batchForgetsCanceled && ctx.Err() != nil {
		return nil
	}
	out := make([]provider.Applied, len(items))
	for i, item := range items {
		switch {
		case s.batchSkips && i == 1:
		case item.Change == diff.Created:
			out[i].Result, out[i].Err = s.Create(item.Context,
				provider.CreateRequest{Resource: item.Resource, Token: item.Token})
		case item.Change == diff.Updated:
			out[i].Result, out[i].Err = s.Update(item.Context,
				provider.UpdateRequest{Resource: item.Resource, Observed: item.Observed,
					Changes: item.Changes})
		case item.Change == diff.Purged:
			out[i].Result, out[i].Err = s.Delete(item.Context,
				provider.DeleteRequest{Resource: item.Resource, Observed: item.Observed})
		}
	}
	if s.batchShort {
		out = out[:len(out)-1]
	}
	return out
}
