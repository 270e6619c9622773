package api

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/state"
)

// Scheduled is the number of resources that a request has scheduled.
type Scheduled struct {
	Scheduled int `json:"scheduled"`
}

// Done is the answer of an operation without a result.
type Done struct {
	Done bool `json:"done"`
}

type workIn struct {
	InEnvironment
	Body struct {
		Filter      []string `json:"filter,omitempty" maxItems:"20000" doc:"all terms must match, of several agent= any; other keys and an id at most once"`
		RetryFailed bool     `json:"retry_failed,omitempty"`
	}
}

type dryRunAsked struct {
	Version int      `json:"version,omitempty" minimum:"0" maximum:"2147483647" doc:"number of the version; 0: the released one"`
	Filter  []string `json:"filter,omitempty" maxItems:"20000" maxLength:"4096" doc:"only resources that match all terms, of several agent= any; other keys and an id at most once"`
	Whole   bool     `json:"whole,omitempty" doc:"whole values"`
}

// InNamed holds the parameters of a request about a parameter.
type InNamed struct {
	InEnvironment
	Name string `path:"name" minLength:"1" maxLength:"4096"`
}

func (r *routes) acts() {
	for _, repair := range []bool{false, true} {
		name, what := "deploy", "Schedule unfinished resources that match"
		if repair {
			name, what = "repair", "Schedule everything that matches to be checked against reality"
		}
		serve(r, http.MethodPost, inEnv+"/"+name, name, what,
			func(ctx context.Context, i *workIn) (*out[Scheduled], error) {
				if err := r.s.exists(ctx, i.Env); err != nil {
					return nil, problemOf(err)
				}
				n, err := r.s.Schedule(ctx, i.Env, Work{Filter: i.Body.Filter, Repair: repair,
					RetryFailed: i.Body.RetryFailed})
				return answer(Scheduled{n}, err)
			})
	}
	serve(r, http.MethodPost, inEnv+"/dryruns", "dryRun",
		"Compare a version with reality, and change nothing", func(ctx context.Context, i *struct {
			InEnvironment
			Body dryRunAsked
		}) (*out[ReadDone], error) {
			return answer(r.s.jobs.read(ctx, ReadJob{Environment: i.Env, Version: i.Body.Version,
				Filter: i.Body.Filter, Whole: i.Body.Whole}))
		})
	serve(r, http.MethodPost, inEnv+"/discover", "discoverResources",
		"Describe the things of a type on an agent",
		func(ctx context.Context, i *struct {
			InEnvironment
			Body Discover
		}) (*out[FoundDone], error) {
			done, err := r.s.jobs.read(ctx, ReadJob{Environment: i.Env, Discover: &i.Body})
			if err != nil {
				return nil, problemOf(err)
			}
			return answer(*done.Found, nil)
		})
	serve(r, http.MethodPost, inEnv+"/pause", "pause", "Pause or resume agents",
		func(ctx context.Context, i *struct {
			InEnvironment
			Body struct {
				Agents []string `json:"agents" minItems:"1" maxItems:"1000" minLength:"1" maxLength:"255" pattern:"^[^\\x00-\\x1f\\x7f-\\x9f]+$" patternDescription:"text without line breaks and other control characters"`
				Paused bool     `json:"paused"`
			}
		}) (*out[Done], error) {
			err := r.s.exists(ctx, i.Env)
			if err == nil {
				err = r.s.Pause(ctx, i.Env, i.Body.Paused, i.Body.Agents...)
			}
			return answer(Done{true}, err)
		})
	serve(r, http.MethodPost, inEnv+"/halt", "halt",
		"Halt or resume the environment",
		func(ctx context.Context, i *struct {
			InEnvironment
			Body struct {
				Halted bool `json:"halted"`
			}
		}) (*out[Done], error) {
			err := r.s.exists(ctx, i.Env)
			if err == nil {
				err = r.s.Halt(ctx, i.Env, i.Body.Halted)
			}
			return answer(Done{true}, err)
		})
	serve(r, http.MethodPost, inEnv+"/gc", "collectGarbage",
		"Remove old versions, actions and unused files", func(ctx context.Context, i *struct {
			InEnvironment
			Body struct {
				GraceMS int64 `json:"grace_ms,omitempty" minimum:"0" maximum:"31536000000" doc:"age up to which unused files are kept; 0: a day"`
			}
		}) (*out[deploy.Collected], error) {
			if err := r.s.exists(ctx, i.Env); err != nil {
				return nil, problemOf(err)
			}
			return answer(r.s.Collect(ctx, i.Env, time.Duration(i.Body.GraceMS)*time.Millisecond))
		})
	serve(r, http.MethodPost, inEnv+"/agents/prune", "pruneAgents",
		"List or remove queues of agents that no longer exist",
		func(ctx context.Context, i *struct {
			InEnvironment
			Body struct {
				Remove bool `json:"remove,omitempty" doc:"false: only list them"`
			}
		}) (*out[prunedAgents], error) {
			agents, err := r.s.Prune(ctx, i.Env, i.Body.Remove)
			return answer(prunedAgents{orEmpty(agents)}, err)
		})
	r.parameters()
}

// prunedAgents are the agents whose queues are not needed, or were removed.
type prunedAgents struct {
	Agents []Pruned `json:"agents"`
}

// The path of one parameter, and the suffix for its history.
const (
	oneParameter = inEnv + "/parameters/{name}"
	history      = "/history"
)

// changeKeys sorts the changes of a parameter, the newest first, and returns their keys. Changes at
// the same instant are numbered from the oldest, so that keys stay valid when further changes are
// added.
func changeKeys(list []state.ParameterChange) []string {
	slices.SortStableFunc(list,
		func(a, b state.ParameterChange) int { return b.Updated.Compare(a.Updated) })
	keys := make([]string, len(list))
	older := 0 // of the same instant
	for i := len(list) - 1; i >= 0; i-- {
		if older++; i+1 == len(list) || !list[i].Updated.Equal(list[i+1].Updated) {
			older = 0
		}
		keys[i] = fmt.Sprintf("%020d.%010d", math.MaxInt64-list[i].Updated.UnixNano(),
			math.MaxInt32-older)
	}
	return keys
}

func (r *routes) parameters() {
	serve(r, http.MethodGet, oneParameter, "parameter", "One parameter",
		func(ctx context.Context, i *InNamed) (*out[state.Parameter], error) {
			return answer(r.s.Parameter(ctx, i.Env, i.Name))
		})
	serve(r, http.MethodGet, oneParameter+history, "parameterHistory",
		"History of a parameter, newest first", func(ctx context.Context, i *struct {
			InNamed
			KeyPaging
		}) (*out[Page[state.ParameterChange]], error) {
			list, err := r.s.ParameterHistory(ctx, i.Env, i.Name)
			err = r.s.known(ctx, i.Env, len(list), err)
			return pageBehind(list, changeKeys(list), i.KeyPaging, err)
		})
	serve(r, http.MethodPut, oneParameter, "setParameter", "Set a parameter",
		func(ctx context.Context, i *struct {
			InEnvironment
			Name string `path:"name" minLength:"1" maxLength:"255" pattern:"^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]+$" patternDescription:"letters, digits, signs and spaces, without line breaks and other control characters"`
			Body struct {
				Value string `json:"value"`
			}
		}) (*out[state.Parameter], error) {
			return answer(r.s.SetParameter(ctx, i.Env, i.Name, i.Body.Value))
		})
	serve(r, http.MethodDelete, oneParameter, "deleteParameter", "Delete a parameter",
		func(ctx context.Context, i *InNamed) (*out[Done], error) {
			err := r.s.exists(ctx, i.Env)
			if err == nil {
				err = r.s.DeleteParameter(ctx, i.Env, i.Name)
			}
			return answer(Done{true}, err)
		})
}
