//go:build servers

package python_test

import (
	"path/filepath"
	"testing"

	"southbound/localstack/server"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/python"
	"southbound/shared/lang/types"
)

// BenchmarkCall calls a plugin that does next to nothing.
func BenchmarkCall(b *testing.B) {
	env, err := server.InstallModules(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	dir, err := filepath.Abs("testdata")
	if err != nil {
		b.Fatal(err)
	}
	h, err := python.Start(b.Context(), python.Options{
		Python: filepath.Join(env, "bin", "python"), Dir: dir, Shown: ".",
		Modules: []python.Module{{Name: "shop", Dir: filepath.Join(dir, "shop"), Legacy: true}},
	})
	if err != nil {
		b.Fatal(err)
	}
	defer h.Close()
	code, err := h.Load()
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range code.Plugins {
		if p.Name != "shop::add" {
			continue
		}
		for b.Loop() {
			args := eval.Args{Values: []types.Value{int64(1), int64(2)}}
			v, err := p.Call(&eval.Context{Ctx: b.Context()}, args)
			if err != nil || v != types.Value(int64(3)) {
				b.Fatal(v, err)
			}
		}
	}
}
