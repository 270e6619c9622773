package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"southbound/shared/plan"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// faults are ways in which the handler of this test can be wrong.
type faults struct {
	createTwiceFails, deleteGoneFails, readWrites, dryReadWrites, ignoresSize, alwaysDiffers, missesFixed, leavesTrace, tellsSecret,
	secretInError, undeclared, parameterReported, wrongType, changesInput, batchSwaps, batchShort, batchSkips, updateAdds, updateGoneStuck,
	hangsWhenCanceled, canonicalMoves, createsTwin, panics, misfinds, ghost bool
}

// String names the faults that are switched on.
func (f faults) String() string {
	type plain faults
	on := slices.DeleteFunc(strings.Fields(strings.Trim(fmt.Sprintf("%+v", plain(f)), "{}")), func(s string) bool { return !strings.HasSuffix(s, ":true") })
	return strings.Join(on, " ")
}

// shelf is a target in memory with a handler for test::Box on it.
type shelf struct {
	faults
	mu    sync.Mutex
	boxes map[string]map[string]any
	made  map[string]bool // tokens
	trace int
}

func boxType() schema.Type {
	return schema.Type{
		Name: "test::Box", Description: "a box on a shelf", Assigned: true,
		Attributes: []schema.Attribute{
			{Name: "name", Type: "String[1]", Behaviour: schema.Namevar, Description: "its name"},
			{Name: "size", Type: "Integer", Default: int64(1), Description: "how large it is"},
			{Name: "colour", Type: "Optional[String]", Description: "how it looks"},
			{Name: "wood", Type: "String", Default: "oak", Behaviour: schema.InitOnly, Description: "what it is made of"},
			{Name: "care", Type: "Optional[String]", Behaviour: schema.Parameter, Description: "how it is handled"},
		},
	}
}

func subject(f faults) Subject {
	s := &shelf{faults: f, boxes: map[string]map[string]any{}, made: map[string]bool{}}
	places := 0
	return Subject{
		Definition: provider.Definition{Type: boxType(), Handler: s},
		New: func(string, *Host) (Case, error) {
			places++
			return boxCase(s, fmt.Sprintf("place %d/", places)), nil
		},
	}
}

// boxCase is a case with boxes whose names begin with place.
func boxCase(s *shelf, place string) Case {
	return Case{
		Attributes: map[string]any{"name": place + "a", "colour": "RED", "care": "s3cr3t"},
		Updates:    []map[string]any{{"size": int64(2)}, {"colour": "blue", "size": int64(3)}},
		InitOnly:   map[string]any{"wood": "pine"},
		Others:     []map[string]any{{"name": place + "b"}, {"name": place + "c", "size": int64(7)}, {"name": place + "d"}},
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
		Secrets: []string{"s3cr3t"},
	}
}

func nameOf(r provider.Resource) string { s, _ := r.Attributes["name"].(string); return s }

func (s *shelf) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	if s.panics {
		panic("broken")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.readWrites || s.dryReadWrites && ctx.DryRun() {
		s.trace++
	}
	if s.tellsSecret {
		ctx.Info("careful", "care", req.Resource.Attributes["care"])
	}
	if s.changesInput {
		req.Resource.Attributes["colour"] = "black"
	}
	box, ok := s.boxes[nameOf(req.Resource)]
	if !ok {
		if s.ghost {
			return provider.Observation{Attributes: map[string]any{"size": int64(0)}}, nil
		}
		return provider.Observation{}, nil
	}
	out := map[string]any{"size": box["size"], "colour": box["colour"], "wood": box["wood"]}
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
	if s.hangsWhenCanceled && ctx.Err() != nil {
		select {}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	name := nameOf(req.Resource)
	if s.boxes[name] != nil && s.createTwiceFails {
		return provider.Result{}, errors.New("it exists")
	}
	if s.createsTwin && s.boxes[name] != nil {
		name += "'"
	}
	if s.secretInError && ctx.Err() != nil {
		return provider.Result{}, fmt.Errorf("cannot handle %v", req.Resource.Attributes["care"])
	}
	s.boxes[name] = s.store(req.Resource)
	s.made[req.Token] = true
	return provider.Result{}, nil
}

func (s *shelf) store(r provider.Resource) map[string]any {
	colour, _ := r.Attributes["colour"].(string)
	box := map[string]any{"size": r.Attributes["size"], "wood": r.Attributes["wood"]}
	if colour != "" {
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
	s.boxes[name] = s.store(req.Resource)
	return provider.Result{}, nil
}

func (s *shelf) Delete(_ *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := nameOf(req.Resource)
	if s.boxes[name] == nil && s.deleteGoneFails {
		return provider.Result{}, errors.New("it is gone")
	}
	if s.leavesTrace {
		s.trace++
	}
	delete(s.boxes, name)
	return provider.Result{}, nil
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
	return s.made[req.Token] != s.misfinds, nil
}

func (s *shelf) ReadBatch(_ context.Context, items []provider.BatchRead) []provider.Reading {
	out := make([]provider.Reading, len(items))
	for i, item := range items {
		out[i].Observation, out[i].Err = s.Read(item.Context, item.ReadRequest)
	}
	if s.batchSwaps {
		slices.Reverse(out)
	}
	return out
}

func (s *shelf) ApplyBatch(_ context.Context, items []provider.BatchChange) []provider.Applied {
	out := make([]provider.Applied, len(items))
	for i, item := range items {
		switch {
		case s.batchSkips && i == 1:
		case item.Change == plan.Created:
			out[i].Result, out[i].Err = s.Create(item.Context, provider.CreateRequest{Resource: item.Resource, Token: item.Token})
		case item.Change == plan.Updated:
			out[i].Result, out[i].Err = s.Update(item.Context, provider.UpdateRequest{Resource: item.Resource, Observed: item.Observed, Changes: item.Changes})
		case item.Change == plan.Purged:
			out[i].Result, out[i].Err = s.Delete(item.Context, provider.DeleteRequest{Resource: item.Resource, Observed: item.Observed})
		}
	}
	if s.batchShort {
		out = out[:len(out)-1]
	}
	return out
}

func TestGoodHandlerPasses(t *testing.T) {
	Run(t, subject(faults{}))
}

// TestSuiteCanFail breaks the handler in one way after the other; the named check has to find each.
func TestSuiteCanFail(t *testing.T) {
	for check, list := range map[string][]faults{
		"create":       {{alwaysDiffers: true}, {undeclared: true}, {parameterReported: true}, {wrongType: true}, {changesInput: true}, {tellsSecret: true}, {panics: true}, {ghost: true}, {canonicalMoves: true}},
		"create_twice": {{createTwiceFails: true}, {createsTwin: true}},
		"update":       {{ignoresSize: true}, {updateAdds: true}},
		"update_gone":  {{updateGoneStuck: true}},
		"init_only":    {{missesFixed: true}},
		"delete":       {{deleteGoneFails: true}, {leavesTrace: true}},
		"dry_run":      {{readWrites: true}, {dryReadWrites: true}},
		"batch":        {{batchSwaps: true}, {batchShort: true}, {batchSkips: true}},
		"canceled":     {{secretInError: true}},
		"canonical":    {{canonicalMoves: true}},
		"find":         {{misfinds: true}},
	} {
		for _, f := range list {
			t.Run(check+" finds "+f.String(), func(t *testing.T) {
				var found []string
				for _, failure := range Verify(t.Context(), subject(f), func() (string, error) { return t.TempDir(), nil }) {
					found = append(found, failure.Check)
				}
				if !slices.Contains(found, check) {
					t.Fatalf("found by %v", found)
				}
			})
		}
	}
}

func TestSuiteEndsWhatHangs(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	var found []string
	for _, failure := range Verify(ctx, subject(faults{hangsWhenCanceled: true}), func() (string, error) { return t.TempDir(), nil }) {
		found = append(found, failure.Check)
	}
	if !slices.Contains(found, "canceled") {
		t.Fatalf("found by %v", found)
	}
}
