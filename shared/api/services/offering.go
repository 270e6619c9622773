package services

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"southbound/shared/api/files"
	"southbound/shared/api/server"
	"southbound/shared/api/tenant"
	"southbound/shared/api/wire"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/service/bundle"
	"southbound/shared/service/definition"
)

// OfferedService is a version of a service, and its change: new, changed, unchanged or removed.
type OfferedService struct {
	Name    string `json:"name"`
	Version int    `json:"version"`
	Change  string `json:"change" enum:"new,changed,unchanged,removed"`
}

// removedService is the change of a service that the model no longer offers.
const removedService = "removed"

// maxDefinitions bounds the size of the definitions of an offer in bytes.
const maxDefinitions = 64 << 20

const opOffer = "offer services"

// Offer implements Home.
func (s *Service) Offer(
	ctx context.Context, env string, packed state.Blob, services []definition.Service,
) ([]OfferedService, error) {
	if s.Definitions == nil {
		return nil, tenant.ErrNoServices()
	}
	if err := s.Env.Engine.Files.Put(ctx, []state.Blob{packed}); err != nil {
		return nil, fault.Wrap(fault.Unknown, "store the model", err)
	}
	return s.offered(ctx, env, packed.Hash, services)
}

// offered replaces the services of an environment; the bundle is stored.
func (s *Service) offered(
	ctx context.Context, env, digest string, services []definition.Service,
) ([]OfferedService, error) {
	for i := range services {
		for _, p := range services[i].Lifecycle.Check() {
			return nil, fault.New(fault.Invalid, opOffer, "the lifecycle of %s: %s",
				services[i].Name, p.Message).WithHint("%s", p.Hint)
		}
	}
	before, err := s.Definitions.All(ctx, env)
	if err != nil {
		return nil, err
	}
	if err := s.Definitions.Put(ctx, env, digest, services); err != nil {
		return nil, err
	}
	if err := s.makeEnvironment(ctx, env); err != nil {
		return nil, err
	}
	return changesOf(before, services)
}

// makeEnvironment creates an environment if it does not exist: users who place orders in it can
// then halt it, and `southbound run` finds its orders.
func (s *Service) makeEnvironment(ctx context.Context, env string) error {
	names, err := s.Env.Engine.State.Envs(ctx)
	if err != nil || slices.Contains(names, env) {
		return fault.Wrap(fault.Unknown, "list environments", err)
	}
	return s.Env.Engine.SetParameters(ctx, env) // no parameters: the smallest plan that is stored
}

// changesOf returns the changes of definitions that are replaced by others.
func changesOf(before, after []definition.Service) ([]OfferedService, error) {
	type key struct {
		name    string
		version int
	}
	was := map[key]string{}
	for i := range before {
		digest, err := before[i].Digest()
		if err != nil {
			return nil, err
		}
		was[key{before[i].Name, before[i].Version}] = digest
	}
	out := []OfferedService{}
	definition.Sort(after)
	for i := range after {
		digest, err := after[i].Digest()
		if err != nil {
			return nil, err
		}
		k := key{after[i].Name, after[i].Version}
		change := "new"
		if old, had := was[k]; had && old == digest {
			change = "unchanged"
		} else if had {
			change = "changed"
		}
		delete(was, k)
		out = append(out, OfferedService{k.name, k.version, change})
	}
	for i := range before {
		k := key{before[i].Name, before[i].Version}
		if _, left := was[k]; left {
			out = append(out, OfferedService{k.name, k.version, removedService})
		}
	}
	return out, nil
}

// offerAsked is the offer of a model: the SHA-256 hashes of two uploaded files.
type offerAsked struct {
	Bundle      string `json:"bundle" pattern:"^[0-9a-f]{64}$" patternDescription:"a SHA-256: 64 hexadecimal digits in lower case" doc:"hash of the packed model"`
	Definitions string `json:"definitions" pattern:"^[0-9a-f]{64}$" patternDescription:"a SHA-256: 64 hexadecimal digits in lower case" doc:"a list of definitions, as JSON"`
}

type offerDone struct {
	Services []OfferedService `json:"services"`
}

// Routes serves the export of services.
func Routes(r *server.Router, s *Service) {
	server.Register(r, http.MethodPut, server.EnvironmentPath+"/services", "offerServices",
		"Make the services of a model that was uploaded those of the environment",
		func(ctx context.Context, i *struct {
			server.InEnvironment
			Body offerAsked
		}) (*server.Out[offerDone], error) {
			done, err := s.offerUploaded(ctx, i.Env, i.Body)
			return server.Answer(offerDone{done}, err)
		}, func(op *huma.Operation) { op.Tags = []string{"services"} })
}

// offerUploaded offers uploaded files. A file that is not stored is NotFound, and has to be
// uploaded again.
func (s *Service) offerUploaded(
	ctx context.Context, env string, request offerAsked,
) ([]OfferedService, error) {
	if s.Definitions == nil {
		return nil, tenant.ErrNoServices()
	}
	missing, err := s.Env.Engine.Files.Missing(ctx, []string{request.Bundle, request.Definitions})
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "find files", err)
	}
	if len(missing) > 0 {
		return nil, fault.New(fault.NotFound, opOffer, "the file %.12s was not uploaded",
			missing[0]).
			WithHint("export the services again")
	}
	if err := s.CheckBundle(ctx, request.Bundle); err != nil {
		return nil, err
	}
	services, err := s.ReadDefinitions(ctx, request.Definitions)
	if err != nil {
		return nil, err
	}
	return s.offered(ctx, env, request.Bundle, services)
}

// CheckBundle opens an uploaded model: otherwise only the orders that are compiled with it would
// reveal a broken one.
func (s *Service) CheckBundle(ctx context.Context, hash string) error {
	in, err := s.Env.Engine.Files.Open(ctx, hash)
	if err != nil {
		return fault.Wrap(fault.Unknown, "read the model", err)
	}
	defer func() { _ = in.Close() }()
	return bundle.Check(in)
}

// ReadDefinitions reads an uploaded list of definitions. It stops reading at the size limit of a
// list.
func (s *Service) ReadDefinitions(
	ctx context.Context, hash string,
) ([]definition.Service, error) {
	in, err := s.Env.Engine.Files.Open(ctx, hash)
	if err != nil {
		return nil, fault.Wrap(fault.Unknown, "read definitions", err)
	}
	defer func() { _ = in.Close() }()
	text, err := io.ReadAll(io.LimitReader(in, maxDefinitions+1))
	if err != nil {
		return nil, fault.Wrap(fault.Unavailable, "read definitions", err)
	}
	if len(text) > maxDefinitions {
		return nil, fault.New(fault.Invalid, opOffer, "the definitions are more than %d MiB",
			maxDefinitions>>20).WithHint("split the model into environments")
	}
	return parseDefinitions(text)
}

// parseDefinitions reads a list of definitions, with numbers as they were written.
func parseDefinitions(text []byte) ([]definition.Service, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fault.New(fault.Invalid, opOffer, "the definitions are not a list in JSON: %v",
			err)
	}
	out := make([]definition.Service, len(list))
	for i, one := range list {
		var err error
		if out[i], err = definition.Parse(one); err != nil {
			return nil, fault.New(fault.Invalid, opOffer, "definition %d does not decode: %v", i+1,
				err)
		}
	}
	return out, nil
}

// Offer implements Home.
func (c Remote) Offer(
	ctx context.Context, env string, packed state.Blob, services []definition.Service,
) ([]OfferedService, error) {
	if services == nil {
		services = []definition.Service{}
	}
	text, err := json.Marshal(services)
	if err != nil {
		return nil, fault.Wrap(fault.Internal, opOffer, err)
	}
	sum := sha256.Sum256(text)
	all := state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(text)), Data: text}
	for retried := false; ; retried = true {
		u := &files.Uploader{C: c.Conn, Env: env, Model: &model.Model{}}
		if err := u.Store(ctx, []state.Blob{packed, all}); err != nil {
			return nil, err
		}
		var done offerDone
		err := c.Call(ctx, http.MethodPut, wire.EnvironmentPath(env, "services"),
			offerAsked{packed.Hash, all.Hash}, &done)
		if retried || fault.KindOf(err) != fault.NotFound {
			return done.Services, err
		}
	}
}
