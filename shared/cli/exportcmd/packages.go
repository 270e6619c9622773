package exportcmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"os"
	"strings"

	"southbound/shared/api"
	"southbound/shared/cli/home"
	"southbound/shared/cli/input"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/lang/python/packages"
	"southbound/shared/resource"
	"southbound/shared/schema"
	"southbound/shared/transport"
)

// withPackages prepares a model for the Python function of the home, if there is one. It describes
// the agents that the function serves, and adds the packages of the project to their resources.
func withPackages(
	ctx context.Context, s *home.Session, docs *input.Documents, path string, m *model.Model,
) error {
	client, is := s.Home.(interface {
		PythonFunction(ctx context.Context) (*api.PythonFunction, error)
	})
	if !is || !anyCoded(m) {
		return nil
	}
	f, err := client.PythonFunction(ctx)
	if err != nil || f == nil {
		return err
	}
	types, err := s.Program.Registry(s.Location.Project.Dir)
	if err != nil {
		return err
	}
	agents := inFunction(m, types)
	if len(agents) == 0 {
		return nil
	}
	b, err := docs.Bundle(ctx, path,
		packages.Platform{Architecture: f.Architecture, Python: f.Python}, f.Room)
	if err != nil {
		return err
	}
	addPackages(m, agents, b)
	return nil
}

func anyCoded(m *model.Model) bool {
	for i := range m.Resources {
		if _, is := model.CodeOf(&m.Resources[i]); is {
			return true
		}
	}
	return false
}

// inFunction returns the agents that the Python function serves: those that the model describes so,
// and those that it does not describe, whose resources the function reaches and of which one comes
// with its handler. It describes the latter.
func inFunction(m *model.Model, types *schema.Registry) map[string]bool {
	described, out := map[string]bool{}, map[string]bool{}
	for i := range m.Agents {
		described[m.Agents[i].Name] = true
		if m.Agents[i].Transport == transport.NameFunction {
			out[m.Agents[i].Name] = true
		}
	}
	coded, elsewhere := map[string]bool{}, map[string]bool{}
	var order []string
	for i := range m.Resources {
		r := &m.Resources[i]
		if described[r.Agent] {
			continue
		}
		_, is := model.CodeOf(r)
		if is && !coded[r.Agent] {
			coded[r.Agent] = true
			order = append(order, r.Agent)
		}
		if t, known := types.Type(r.Type); !is && !(known && t.Reached(transport.NameFunction)) {
			elsewhere[r.Agent] = true
		}
	}
	for _, name := range order {
		if !elsewhere[name] {
			out[name] = true
			m.Agents = append(m.Agents,
				resource.Agent{Name: name, Transport: transport.NameFunction, Lanes: 1})
		}
	}
	return out
}

// addPackages adds a bundle to the resources with code of some agents.
func addPackages(m *model.Model, agents map[string]bool, b *packages.Bundle) {
	if m.Files == nil {
		m.Files = map[string]state.Blob{}
	}
	m.Files[b.Hash] = state.Blob{Hash: b.Hash, Size: b.Size,
		Open: func() (io.ReadCloser, error) {
			f, err := os.Open(b.Path)
			return f, fault.Wrap(fault.Unavailable, "read Python packages", err)
		}}
	file := resource.File{Hash: b.Hash, Size: b.Size}
	for i := range m.Resources {
		r := &m.Resources[i]
		if _, is := model.CodeOf(r); is && agents[r.Agent] {
			r.Attributes = maps.Clone(r.Attributes)
			r.Attributes[model.PackagesAttribute] = file
		}
	}
	if m.Fingerprint != "" {
		all := []string{m.Fingerprint, b.Hash}
		for i := range m.Agents {
			all = append(all, m.Agents[i].Name, m.Agents[i].Transport)
		}
		sum := sha256.Sum256([]byte(strings.Join(all, "\x00")))
		m.Fingerprint = hex.EncodeToString(sum[:])
	}
}
