package exports

import (
	"context"
	"time"

	"southbound/shared/api/chunk"
	"southbound/shared/api/problem"
	"southbound/shared/api/versions"
	"southbound/shared/api/wire"
	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

func BundleOf(x deploy.Export, p chunk.Packed) Bundle {
	b := Bundle{Chunks: make([]string, len(p.Chunks)), Partial: x.Partial, DeleteSets: x.DeleteSets,
		NoRelease: x.NoRelease, Check: x.Check,
		Target: x.Target.Terms(), Defer: x.Defer, CheckAgents: x.CheckAgents,
		RetryFailed: x.RetryFailed, Settings: settingsOf(x.Settings),
		Fingerprint: x.Model.Fingerprint,
		Expect:      x.Expect}
	if x.Limits != nil {
		b.Limits = &Limits{x.Limits.Delete, x.Limits.Leave}
	}
	if o := versions.Origin(x.Origin); o != (versions.Origin{}) {
		b.Origin = &o
	}
	for i := range p.Chunks {
		b.Chunks[i] = p.Chunks[i].Hash
	}
	if p.Agents != nil {
		b.Agents = p.Agents.Hash
	}
	if p.Places != nil {
		b.Places = p.Places.Hash
	}
	return b
}

// Bundle is the transferred form of an export: the hashes of uploaded files, and the request.
//
// Large: it holds every option of an export.
type Bundle struct {
	Chunks      []string         `json:"chunks" maxItems:"20000" pattern:"^[0-9a-f]{64}$" patternDescription:"a SHA-256: 64 hexadecimal digits in lower case" doc:"hashes of files of resources"`
	Agents      string           `json:"agents,omitempty" pattern:"^([0-9a-f]{64})?$" doc:"hash of a file of agents"`
	Places      string           `json:"places,omitempty" pattern:"^([0-9a-f]{64})?$" doc:"hash of a file with the places of the resources, for people; see docs/design/places.md"`
	Partial     bool             `json:"partial,omitempty" doc:"replace only the resource sets that are exported"`
	DeleteSets  []string         `json:"delete_sets,omitempty" maxItems:"1000" maxLength:"255" doc:"sets to remove, with partial"`
	Target      []string         `json:"target,omitempty" maxItems:"20000" maxLength:"4096" doc:"terms of a filter: only matching resources and those that they require; all others stay as in the version in force"`
	Defer       bool             `json:"defer,omitempty" doc:"with target: a resource that would leave, and is still required, stays until a later export"`
	NoRelease   bool             `json:"no_release,omitempty" doc:"store the version without releasing it"`
	Check       bool             `json:"check,omitempty" doc:"check all other resources for drift"`
	CheckAgents []string         `json:"check_agents,omitempty" maxItems:"20000" doc:"with check: only resources of these agents"`
	RetryFailed bool             `json:"retry_failed,omitempty" doc:"also schedule failed resources"`
	Settings    *Settings        `json:"settings,omitempty" doc:"the settings of the environment; absent: they stay"`
	Fingerprint string           `json:"fingerprint,omitempty" maxLength:"200" doc:"fingerprint of the inputs, to recognise an equal export"`
	Origin      *versions.Origin `json:"origin,omitempty" doc:"origin of the version; stored with a new version"`
	Expect      string           `json:"expect,omitempty" pattern:"^([0-9a-f]{64})?$" doc:"digest of a plan's state: the export is refused unless it does exactly the same"`
	Limits      *Limits          `json:"limits,omitempty" doc:"limits of deletions and removals; the export is refused beyond them"`
}

// Limits bounds the resources that an export may remove from the model; see deploy.Limits.
type Limits struct {
	Delete int `json:"delete" minimum:"-1" maximum:"2147483647" doc:"maximum number of deleted resources; -1: no limit"`
	Leave  int `json:"leave" minimum:"-1" maximum:"2147483647" doc:"maximum number of resources that leave the model; -1: no limit"`
}

// Settings of an environment; see state.Settings.
type Settings struct {
	DeployTimer   string `json:"deploy_timer,omitempty" format:"timer" maxLength:"1000" doc:"whole seconds, or cron in UTC; 0: off; empty: the default"`
	RepairTimer   string `json:"repair_timer,omitempty" format:"timer" maxLength:"1000" doc:"whole seconds, or cron in UTC; 0: off; empty: the default"`
	RetryBaseMS   int64  `json:"retry_base_ms,omitempty" minimum:"0" maximum:"3153600000000" doc:"at most retry_max_ms, unless that is 0"`
	RetryMaxMS    int64  `json:"retry_max_ms,omitempty" minimum:"0" maximum:"3153600000000"`
	KeepVersions  int    `json:"keep_versions,omitempty" minimum:"0" maximum:"1000000"`
	KeepActionsMS int64  `json:"keep_actions_ms,omitempty" minimum:"0" maximum:"3153600000000"`
	Strict        string `json:"strict,omitempty" enum:"warning,error" doc:"reaction to values that a handler reports in another than its canonical form; absent: none"`
}

func settingsOf(s *state.Settings) *Settings {
	if s == nil {
		return nil
	}
	return &Settings{s.DeployTimer, s.RepairTimer, s.RetryBase.Milliseconds(),
		s.RetryMax.Milliseconds(), s.KeepVersions, s.KeepActions.Milliseconds(), string(s.Strict)}
}

// longest is the longest duration a setting takes.
const longest = 36500 * 24 * time.Hour

// engine returns the settings in the form of the engine. It rejects settings that a project file
// could not have.
func (s *Settings) engine() (*state.Settings, error) {
	if s == nil {
		return nil, nil
	}
	for name, timer := range map[string]string{"deploy_timer": s.DeployTimer,
		"repair_timer": s.RepairTimer} {
		if timer == "" {
			continue
		}
		if err := deploy.CheckTimer(timer); err != nil {
			return nil, &fault.Error{Kind: fault.Invalid, Op: name,
				Message: "it is whole seconds or a cron expression", Err: err}
		}
	}
	if s.Strict != "" && s.Strict != string(provider.StrictWarning) &&
		s.Strict != string(provider.StrictError) {
		return nil, fault.New(fault.Invalid, "read settings", "strict is warning or error")
	}
	limit := longest.Milliseconds()
	if min(s.RetryBaseMS, s.RetryMaxMS, s.KeepActionsMS) < 0 ||
		max(s.RetryBaseMS, s.RetryMaxMS, s.KeepActionsMS) > limit || s.KeepVersions < 0 {
		return nil, fault.New(fault.Invalid, "read settings", "a length of time is from 0 to %d ms",
			limit)
	}
	if s.RetryMaxMS != 0 && s.RetryBaseMS > s.RetryMaxMS {
		return nil, fault.New(fault.Invalid, "read settings",
			"retry_max_ms is less than retry_base_ms")
	}
	ms := func(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
	return &state.Settings{DeployTimer: s.DeployTimer, RepairTimer: s.RepairTimer,
		RetryBase: ms(s.RetryBaseMS), RetryMax: ms(s.RetryMaxMS), KeepVersions: s.KeepVersions,
		KeepActions: ms(s.KeepActionsMS), Strict: provider.Strictness(s.Strict)}, nil
}

// Unbundle reads the uploaded files to which an export refers.
func Unbundle(
	ctx context.Context, files state.Files, types *schema.Registry,
	wrong func(resource.Agent) []diag.Problem, b Bundle,
) (deploy.Export, error) {
	settings, err := b.Settings.engine()
	if err != nil {
		return deploy.Export{}, err
	}
	for _, h := range append([]string{b.Agents, b.Places}, b.Chunks...) {
		if h != "" && !wire.ValidHash(h) {
			return deploy.Export{}, fault.New(fault.Invalid, "read export",
				"%.80q is not a SHA-256", h)
		}
	}
	m := &model.Model{Fingerprint: b.Fingerprint, Where: func(i int, attribute string) diag.Pos {
		return diag.Pos{File: problem.PlaceMark + attribute, Line: i + 1}
	}, WhereAgent: func(name string) diag.Pos { return diag.Pos{File: problem.PlaceMark + name} }}
	u := chunk.NewReader(files, types, wrong)
	if b.Agents != "" {
		if m.Agents, err = u.Agents(ctx, b.Agents); err != nil {
			return deploy.Export{}, err
		}
	}
	m.Places = map[resource.ID]diag.Pos{} // Where knows none of the documents
	if b.Places != "" {
		if m.Places, err = u.Places(ctx, b.Places); err != nil {
			return deploy.Export{}, err
		}
	}
	if m.Resources, err = u.Resources(ctx, b.Chunks); err != nil {
		return deploy.Export{}, err
	}
	target, err := state.ParseFilter(b.Target)
	if err == nil {
		err = target.Stored()
	}
	if err != nil {
		return deploy.Export{}, err
	}
	x := deploy.Export{Model: m, Target: target, Defer: b.Defer, CheckAgents: b.CheckAgents,
		Partial: b.Partial, DeleteSets: b.DeleteSets, NoRelease: b.NoRelease,
		Check: b.Check, RetryFailed: b.RetryFailed, Settings: settings, Expect: b.Expect}
	if b.Limits != nil {
		x.Limits = &deploy.Limits{Delete: b.Limits.Delete, Leave: b.Limits.Leave}
	}
	if b.Origin != nil {
		x.Origin = state.Origin(*b.Origin)
	}
	return x, nil
}
