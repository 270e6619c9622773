package parameters

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	"southbound/shared/api/paging"
	"southbound/shared/api/problem"
	"southbound/shared/api/server"
	"southbound/shared/api/tenant"
	"southbound/shared/deploy/state"
	"southbound/shared/service/orders"
)

// KnownParameter is a parameter in the form of the public clients.
type KnownParameter struct {
	ID          string    `json:"id" doc:"its name"`
	Name        string    `json:"name"`
	Value       string    `json:"value"`
	Environment string    `json:"environment"`
	Source      string    `json:"source"`
	Updated     time.Time `json:"updated"`
	// Metadata has values if a model suggests some.
	Metadata ParameterMetadata `json:"metadata"`
}

// ParameterMetadata holds the data of a parameter besides its value.
type ParameterMetadata struct {
	// Values are the parameter's suggested values, as lsm::set_suggested_values set them.
	Values []any `json:"values,omitempty"`
}

// knownParameter converts a parameter to the form of the public clients.
func knownParameter(env string, p *state.Parameter) KnownParameter {
	out := KnownParameter{
		ID: p.Name, Name: p.Name, Value: p.Value, Environment: env, Source: p.Source,
		Updated: p.Updated.UTC(),
	}
	if p.Source == sourceModel {
		// Clients see suggested values in this form, regardless of who has set them.
		out.Value, out.Source = "metadata", sourceUser
		d := json.NewDecoder(strings.NewReader(p.Value))
		d.UseNumber()
		if d.Decode(&out.Metadata.Values) != nil {
			out.Metadata.Values = nil // it is not a list of suggestions
		}
	}
	return out
}

// KnownParameters is a page of parameters.
type KnownParameters struct {
	Data     []KnownParameter    `json:"data"`
	Links    paging.Links        `json:"links"`
	Metadata paging.ListMetadata `json:"metadata"`
}

type parametersIn struct {
	tenant.InTenant
	paging.Linked
	paging.ByNumber
	Limit   int      `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"number of parameters of a page"`
	Sort    string   `query:"sort" pattern:"^(name|source|updated)(\\.(asc|desc))?$"`
	Names   []string `query:"filter.name,explode" maxItems:"50" nullable:"false" doc:"a part of any of these"`
	From    []string `query:"filter.source,explode" maxItems:"10" nullable:"false" doc:"user: all; model: parameters with suggested values"`
	Updated []string `query:"filter.updated,explode" maxItems:"10" nullable:"false" maxLength:"64" pattern:"^((ge:|gt:|le:|lt:)?[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T+ ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?)?)?$" patternDescription:"a time, or ge:, gt:, le: or lt: in front of one" doc:"all of these, such as ge:2026-05-01+12:00:00"`
}

// wants reports whether a filter selects a parameter.
func (i *parametersIn) wants(p *state.Parameter) bool {
	named := len(i.Names) == 0 || slices.ContainsFunc(i.Names, func(part string) bool {
		return strings.Contains(p.Name, part)
	})
	return named && (len(i.From) == 0 || slices.Contains(i.From, p.Source) ||
		slices.Contains(i.From, sourceUser))
}

// PublicRoutes serves parameters in the form of the public clients.
func PublicRoutes(r *server.Router, s *Service) {
	server.Register(r, http.MethodGet, "/api/v2/parameters", "knownParameters",
		"Parameters by name, with the values that a model suggests",
		func(ctx context.Context, i *parametersIn) (*server.Out[KnownParameters], error) {
			all, err := s.Parameters(ctx, i.Env, false)
			if err = s.Env.CheckFound(ctx, i.Env, len(all), err); err != nil {
				return nil, problem.Of(err)
			}
			return server.Answer(i.page(all))
		}, tenant.MarkServices)
	type oneIn struct {
		tenant.InTenant
		ID string `path:"id" minLength:"1" maxLength:"1024" doc:"the name"`
	}
	server.Register(r, http.MethodGet, onePath, "knownParameter",
		"A parameter, with the values that a model suggests",
		func(ctx context.Context, i *oneIn) (*server.Out[OneParameter], error) {
			p, err := s.Parameter(ctx, i.Env, i.ID)
			return server.Answer(OneParameter{knownParameter(i.Env, &p)}, err)
		}, tenant.MarkServices)
	server.Register(r, http.MethodPut, onePath, "setKnownParameter",
		"Set a parameter, or the values that it suggests",
		func(ctx context.Context, i *settingIn) (*server.Out[OneParameter], error) {
			p, err := s.setKnown(ctx, i)
			return server.Answer(OneParameter{knownParameter(i.Env, &p)}, err)
		}, tenant.MarkServices)
	server.Register(r, http.MethodPut, "/api/v1/parameters", "setKnownParameters",
		"Set several parameters, or none of them",
		func(ctx context.Context, i *settingsIn) (*server.Out[struct{}], error) {
			return server.Answer(struct{}{}, s.setSeveral(ctx, i))
		}, tenant.MarkServices)
	server.Register(r, http.MethodDelete, onePath, "deleteKnownParameter", "Delete a parameter",
		func(ctx context.Context, i *oneIn) (*server.Out[server.Done], error) {
			_, err := s.Parameter(ctx, i.Env, i.ID)
			if err == nil {
				err = s.DeleteParameter(ctx, i.Env, i.ID)
			}
			return server.Answer(server.Done{Done: true}, err)
		}, tenant.MarkServices)
}

// onePath is the path of one parameter.
const onePath = "/api/v1/parameter/{id}"

type settingIn struct {
	tenant.InTenant
	ID   string `path:"id" minLength:"1" maxLength:"255" pattern:"^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]+$" patternDescription:"letters, digits, signs and spaces, without line breaks and other control characters" doc:"the name"`
	Body SettingBody
}

type settingsIn struct {
	tenant.InTenant
	Body SettingsBody
}

// SettingsBody sets several parameters, in the form of the public clients.
type SettingsBody struct {
	tenant.Nulls
	Parameters []SettingItem `json:"parameters" minItems:"1" maxItems:"1000" nullable:"false"`
}

// SettingItem is one of several parameters to set: a SettingBody with the name.
type SettingItem struct {
	ID       string         `json:"id" minLength:"1" maxLength:"255" pattern:"^[\\p{L}\\p{M}\\p{N}\\p{P}\\p{S} ]+$" patternDescription:"letters, digits, signs and spaces, without line breaks and other control characters" doc:"the name"`
	Value    string         `json:"value" doc:"the value; kept unless metadata.values has others"`
	Metadata *SuggestedBody `json:"metadata,omitempty"`
	Source   *string        `json:"source,omitempty" nullable:"true" maxLength:"255"`
	Of       *string        `json:"resource_id,omitempty" nullable:"true" maxLength:"0" doc:"facts are learned, and not set"`
	Expires  *bool          `json:"expires,omitempty" nullable:"true"`
}

// SettingBody sets a parameter, as the public clients write it. They always send Source, Recompile
// and Expires, which have no effect.
type SettingBody struct {
	tenant.Nulls
	Value    string         `json:"value" doc:"the value; kept unless metadata.values has others"`
	Metadata *SuggestedBody `json:"metadata,omitempty"`
	Source   *string        `json:"source,omitempty" nullable:"true" maxLength:"255"`
	Of       *string        `json:"resource_id,omitempty" nullable:"true" maxLength:"0" doc:"facts are learned, and not set"`
	Renew    *bool          `json:"recompile,omitempty" nullable:"true"`
	Expires  *bool          `json:"expires,omitempty" nullable:"true"`
}

// SuggestedBody holds the data of a parameter besides its value.
type SuggestedBody struct {
	Values []tenant.Value `json:"values,omitempty" maxItems:"1000" doc:"suggestions of forms: strings, or objects with label and value"`
}

// setting returns a parameter in its stored form. Suggested values replace its value, as
// suggestions of a model do.
func setting(name, value string, m *SuggestedBody) (state.Parameter, error) {
	if m == nil || m.Values == nil {
		return state.Parameter{Name: name, Value: value, Source: sourceUser}, nil
	}
	return suggesting(name, m.Values)
}

func (s *Service) setKnown(ctx context.Context, i *settingIn) (state.Parameter, error) {
	p, err := setting(i.ID, i.Body.Value, i.Body.Metadata)
	if err != nil {
		return p, err
	}
	return s.setParameter(ctx, i.Env, p)
}

// setSeveral stores parameters, all of them or none. If a parameter occurs twice, the last value
// counts, as if they were set one after the other.
func (s *Service) setSeveral(ctx context.Context, i *settingsIn) error {
	all := make([]state.Parameter, 0, len(i.Body.Parameters))
	at := map[string]int{}
	for n := range i.Body.Parameters {
		one := &i.Body.Parameters[n]
		p, err := setting(one.ID, one.Value, one.Metadata)
		if err != nil {
			return err
		}
		if before, twice := at[p.Name]; twice {
			all[before] = p
			continue
		}
		at[p.Name] = len(all)
		all = append(all, p)
	}
	return s.setAudited(ctx, i.Env, all...)
}

// OneParameter is the answer with one parameter.
type OneParameter struct {
	Parameter KnownParameter `json:"parameter"`
}

// page returns the requested part of all parameters. A place is the number of a parameter in the
// list, from 1.
func (i *parametersIn) page(all []state.Parameter) (KnownParameters, error) {
	updated, err := orders.TimesWithin(i.Updated)
	if err != nil {
		return KnownParameters{}, err
	}
	all = slices.DeleteFunc(all, func(p state.Parameter) bool {
		return !i.wants(&p) || !updated(p.Updated)
	})
	shown := make([]KnownParameter, len(all))
	for n := range all {
		shown[n] = knownParameter(i.Env, &all[n])
	}
	by, down := paging.Descending(i.Sort, false)
	slices.SortStableFunc(shown, func(a, b KnownParameter) int {
		if down {
			a, b = b, a
		}
		switch by {
		case "source":
			return strings.Compare(a.Source, b.Source)
		case "updated":
			return a.Updated.Compare(b.Updated)
		}
		return strings.Compare(a.Name, b.Name)
	})
	p := orders.Place{After: i.Start, Before: i.End, Limit: i.Limit, Count: true}
	page, err := orders.Numbered(shown, p)
	links, m := paging.Around(&i.Linked, &page, false, i.Limit, paging.WithCounts{Count: true})
	return KnownParameters{page.Items, links, m}, err
}
