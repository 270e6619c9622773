package project_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/std"
	"southbound/shared/lang/syntax"
)

// FuzzRun holds that no text makes the evaluator panic, go on without end or take more than it may.
func FuzzRun(f *testing.F) {
	for i := range uint64(30) {
		f.Add(generate(rand.New(rand.NewPCG(99, i))))
	}
	f.Add("entity A:\nend\nimplementation a for A:\n A()\nend\nimplement A using a\nA()\n")
	f.Add("a = [1, 2]\nb = [a, a]\nc = [b, b]\nx = 9 ** 9 ** 9\ny = f\"{a:>99999999}\"\n")
	f.Fuzz(func(t *testing.T, text string) {
		tree, problems := syntax.Parse(text)
		for _, p := range problems {
			if !p.Warning {
				return
			}
		}
		limits := eval.Limits{
			Rounds:    1000,
			Steps:     100_000,
			Memory:    64 << 20,
			Instances: 1000,
			Depth:     50,
			Bytes:     1 << 22,
		}
		source := eval.Source{Namespace: eval.Main, Path: "main.cf", File: tree}
		_, _, err := eval.Run(
			context.Background(),
			eval.Program{
				Sources: []eval.Source{source, stdSource(t)},
				Plugins: std.Plugins(),
				Limits:  limits,
			},
		)
		if found, _ := diag.Of(err); err != nil && len(found) == 0 {
			t.Errorf("an error without a problem: %v", err)
		}
	})
}

func stdSource(t *testing.T) eval.Source {
	t.Helper()
	text, err := std.Model.ReadFile("model/_init.cf")
	if err != nil {
		t.Fatal(err)
	}
	tree, _ := syntax.Parse(string(text))
	return eval.Source{Namespace: "std", Path: "std/_init.cf", File: tree}
}
