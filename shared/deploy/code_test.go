package deploy_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"southbound/shared/deploy"
	"southbound/shared/deploy/model"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// codes gives the test's handler for any code, and notes which code ran.
type codes struct {
	w   *world
	ran []string
}

// Handler implements run.Code.
func (c *codes) Handler(_, agent string, code, _ resource.File) (provider.Handler, error) {
	c.ran = append(c.ran, agent+" "+code.Hash[:4])
	return handler{c.w}, nil
}

// coded returns a resource that comes with its handler, and the file of that. Its attributes no
// type of the program has.
func coded(name, code string) (resource.Resource, state.Blob) {
	sum := sha256.Sum256([]byte(code))
	b := state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(code)), Data: []byte(code)}
	r := res(name)
	r.Attributes["type"] = "not declared"
	r.Attributes[model.CodeAttribute] = resource.File{Hash: b.Hash, Size: b.Size}
	return r, b
}

// codedModel returns a model of one resource that comes with its handler.
func codedModel(code string) *model.Model {
	r, b := coded("a", code)
	m := modelOf(r, res("own"))
	m.Files = map[string]state.Blob{b.Hash: b}
	return m
}

// TestCodeOfAVersion holds that resources run with the code that they come with: another code is
// another intent, whose actions name it, and a resource of a type of the program, even of the same
// name, runs with the program.
func TestCodeOfAVersion(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := &codes{w: r.w}
	r.e.Code = c
	first := codedModel("one")
	r.export(deploy.Export{Model: first})
	r.drain()
	r.same("what was created", r.took("create"), "create a", "create own")
	r.want("a", state.StatusDeployed)
	r.same("code", c.ran, "a "+hashOf(first)[:4])
	if got := r.last("a").Pack; got != hashOf(first) {
		t.Errorf("the action names %s", got)
	}
	c.ran = nil
	r.export(deploy.Export{Model: codedModel("one")})
	r.drain()
	second := codedModel("two")
	r.export(deploy.Export{Model: second})
	r.drain()
	r.same("code", c.ran, "a "+hashOf(second)[:4])
	if got := r.last("a").Pack; got != hashOf(second) {
		t.Errorf("the action names %s", got)
	}
}

func hashOf(m *model.Model) string {
	for hash := range m.Files {
		return hash
	}
	return ""
}

// TestCodeThatCannotRun holds that a resource whose code cannot be run here is unavailable, and
// says why.
func TestCodeThatCannotRun(t *testing.T) {
	t.Parallel()
	for want, code := range map[string]run.Code{
		"which this function does not run: `southbound agent run": nil,
		"there is no Python": unable{"there is no Python"},
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			r.e.Code = code
			r.export(deploy.Export{Model: codedModel("one")})
			r.drain()
			r.want("a", state.StatusUnavailable)
			r.want("own", state.StatusDeployed)
			if got := r.last("a").Reason; !strings.Contains(got, want) {
				t.Errorf("it says %q", got)
			}
		})
	}
}

// unable runs no code.
type unable struct{ why string }

// Handler implements run.Code.
func (u unable) Handler(string, string, resource.File, resource.File) (provider.Handler, error) {
	return nil, errors.New(u.why)
}
