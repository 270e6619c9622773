package previews

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"southbound/shared/api/client"
	"southbound/shared/api/files"
	"southbound/shared/api/instances"
	"southbound/shared/api/results"
	"southbound/shared/api/server"
	"southbound/shared/api/tenant"
	"southbound/shared/api/wire"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/orders"
	"southbound/shared/service/preview"
)

// Previewer compiles the effect of orders and models, and stores nothing.
type Previewer interface {
	Order(ctx context.Context, env string, c inventory.Change) (preview.Outcome, error)
	Model(ctx context.Context, env, bundle string, services []definition.Service, ids []string) (
		[]preview.Outcome, error)
}

// MaxPlanned is how many instances one request previews with a model.
const MaxPlanned = 50

// InstancePreview is the result that an instance would have.
type InstancePreview struct {
	Instance orders.Instance `json:"instance"`
	// Path are the states that it would pass through, the last one last.
	Path []string `json:"path"`
	// Problems are why it would be rejected, or could not be moved (diag.Problem).
	Problems  json.RawMessage    `json:"problems"`
	Resources []results.PlanLine `json:"resources"` // that would change
	// Leaving: the instance is being removed, or can never be deployed.
	Leaving bool `json:"leaving,omitempty"`
}

// Wrong returns the problems.
func (p *InstancePreview) Wrong() diag.Problems {
	var out diag.Problems
	_ = json.Unmarshal(p.Problems, &out) // a server has written valid JSON
	return out
}

func errNoPreview() error {
	return fault.New(fault.Unsupported, "preview", "this server previews no orders").
		WithHint("ask a server of this version")
}

// PreviewOrder implements Home.
func (s *Service) PreviewOrder(
	ctx context.Context, env string, d orders.Draft,
) (InstancePreview, error) {
	if s.OrderService.Services == nil || s.Previews == nil {
		return InstancePreview{}, errNoPreview()
	}
	c, err := s.OrderService.Services.Drafted(ctx, env, d)
	if err != nil {
		return InstancePreview{}, err
	}
	o, err := s.Previews.Order(ctx, env, c)
	if err != nil {
		return InstancePreview{}, err
	}
	shown, err := s.OrderService.Services.Shown(ctx, env, o.Record)
	return previewOf(&o, shown), err
}

// previewOf returns the part of a preview that answers show.
func previewOf(o *preview.Outcome, i orders.Instance) InstancePreview {
	out := InstancePreview{
		Instance: i, Path: wire.OrEmpty(o.Path), Resources: []results.PlanLine{}, Leaving: o.Leaving,
	}
	if text, err := json.Marshal(wire.OrEmpty([]diag.Problem(o.Problems))); err == nil {
		out.Problems = text
	}
	for n := range o.Planned {
		out.Resources = append(out.Resources, results.PlanLineOf(&o.Planned[n]))
	}
	return out
}

// PreviewModel implements Home.
func (s *Service) PreviewModel(
	ctx context.Context, env string, packed state.Blob, all []definition.Service, ids []string,
) ([]InstancePreview, error) {
	if err := s.OfferService.Env.Engine.Files.Put(ctx, []state.Blob{packed}); err != nil {
		return nil, fault.Wrap(fault.Unknown, "store the model", err)
	}
	return s.previewed(ctx, env, packed.Hash, all, ids)
}

func (s *Service) previewed(
	ctx context.Context, env, bundle string, all []definition.Service, ids []string,
) ([]InstancePreview, error) {
	if s.OrderService.Services == nil || s.Previews == nil {
		return nil, errNoPreview()
	}
	found, err := s.Previews.Model(ctx, env, bundle, all, ids)
	if err != nil {
		return nil, err
	}
	out := []InstancePreview{}
	for i := range found {
		shown, err := s.OrderService.Services.Instance(ctx, env, orders.Ref{ID: found[i].Record.ID})
		if err != nil {
			return nil, err
		}
		shown.Candidate, shown.Active = found[i].Record.Candidate, found[i].Record.Active
		out = append(out, previewOf(&found[i], shown))
	}
	return out, nil
}

// DraftBody is an order to preview.
type DraftBody struct {
	tenant.Nulls
	Service    string               `json:"service_entity" minLength:"1" maxLength:"255"`
	ID         *string              `json:"service_instance_id,omitempty" maxLength:"4096" nullable:"true" doc:"id of the changed instance; for a new one a UUID, or null"`
	New        bool                 `json:"create,omitempty" doc:"the order creates an instance"`
	Version    *int                 `json:"service_entity_version,omitempty" minimum:"0" maximum:"2147483647" nullable:"true"`
	Seen       *int64               `json:"current_version,omitempty" minimum:"1" nullable:"true"`
	State      *string              `json:"initial_state,omitempty" maxLength:"255" nullable:"true"`
	Attributes orders.Attributes    `json:"attributes,omitempty"`
	Edits      []instances.EditBody `json:"edits,omitempty" nullable:"true" maxItems:"1000"`
}

// Draft converts the body to an order.
func (b *DraftBody) Draft() orders.Draft {
	if b.New {
		return orders.Draft{Create: &orders.Creation{
			Service: b.Service, ID: wire.Text(b.ID), Version: b.Version, State: wire.Text(b.State),
			Attributes: b.Attributes,
		}}
	}
	ref := orders.Ref{Service: b.Service, ID: wire.Text(b.ID)}
	return orders.Draft{
		Update: orders.Wish{Ref: ref, Version: b.Seen}, Attributes: b.Attributes,
		Edits: instances.EditsOf(b.Edits),
	}
}

// servicesPlanAsked names an uploaded model, and instances.
type servicesPlanAsked struct {
	Bundle      string   `json:"bundle" pattern:"^[0-9a-f]{64}$" patternDescription:"a SHA-256: 64 hexadecimal digits in lower case" doc:"hash of the packed model"`
	Definitions string   `json:"definitions" pattern:"^[0-9a-f]{64}$" patternDescription:"a SHA-256: 64 hexadecimal digits in lower case" doc:"a list of definitions, as JSON"`
	Instances   []string `json:"instances" maxItems:"50" nullable:"false"`
}

const previewPath = "/lsm/v2/service_preview"

// Routes serves previews.
func Routes(r *server.Router, s *Service) {
	type draftIn struct {
		tenant.InTenant
		Body DraftBody
	}
	server.Register(r, http.MethodPost, previewPath, "previewOrder",
		"Preview an order without placing it",
		func(ctx context.Context, i *draftIn) (*server.Out[client.Data[InstancePreview]], error) {
			p, err := s.PreviewOrder(ctx, i.Env, i.Body.Draft())
			return server.Answer(client.Data[InstancePreview]{Data: p}, err)
		}, tenant.MarkServices)
	server.Register(r, http.MethodPost, server.EnvironmentPath+"/services/plan", "planServices",
		"Preview instances with an uploaded model",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Body servicesPlanAsked
		}) (*server.Out[client.Data[[]InstancePreview]], error) {
			p, err := s.previewUploaded(ctx, i.Env, i.Body)
			return server.Answer(client.Data[[]InstancePreview]{Data: p}, err)
		}, func(op *huma.Operation) { op.Tags = []string{"services"} })
}

func (s *Service) previewUploaded(
	ctx context.Context, env string, request servicesPlanAsked,
) ([]InstancePreview, error) {
	missing, err := s.OfferService.Env.Engine.Files.Missing(ctx, []string{request.Bundle, request.Definitions})
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "find files", err)
	}
	if len(missing) > 0 {
		return nil, fault.New(fault.NotFound, "plan services", "the file %.12s was not uploaded",
			missing[0]).WithHint("plan the services again")
	}
	if err := s.OfferService.CheckBundle(ctx, request.Bundle); err != nil {
		return nil, err
	}
	all, err := s.OfferService.ReadDefinitions(ctx, request.Definitions)
	if err != nil {
		return nil, err
	}
	return s.previewed(ctx, env, request.Bundle, all, request.Instances)
}

// PreviewOrder implements Home.
func (c Remote) PreviewOrder(
	ctx context.Context, env string, d orders.Draft,
) (InstancePreview, error) {
	b := DraftBody{Attributes: d.Attributes, Edits: instances.BodiesOf(d.Edits)}
	if o := d.Create; o != nil {
		b.New, b.Service, b.ID, b.Version = true, o.Service, wire.OrNull(o.ID), o.Version
		b.State, b.Attributes = wire.OrNull(o.State), o.Attributes
	} else {
		b.Service, b.ID, b.Seen = d.Update.Service, &d.Update.ID, d.Update.Version
	}
	return client.GetData[InstancePreview](ctx, c.Conn, env, http.MethodPost, previewPath, nil, b)
}

// PreviewModel implements Home.
func (c Remote) PreviewModel(
	ctx context.Context, env string, packed state.Blob, all []definition.Service, ids []string,
) ([]InstancePreview, error) {
	if all == nil {
		all = []definition.Service{}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, "plan services", err)
	}
	sum := sha256.Sum256(text)
	defs := state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(text)), Data: text}
	for retried := false; ; retried = true {
		u := &files.Uploader{C: c.Conn, Env: env, Model: &model.Model{}}
		if err := u.Store(ctx, []state.Blob{packed, defs}); err != nil {
			return nil, err
		}
		var done client.Data[[]InstancePreview]
		err := c.Call(ctx, http.MethodPost, wire.EnvironmentPath(env, "services/plan"),
			servicesPlanAsked{packed.Hash, defs.Hash, ids}, &done)
		if retried || fault.KindOf(err) != fault.NotFound {
			return done.Data, err
		}
	}
}
