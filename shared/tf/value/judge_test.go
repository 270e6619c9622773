//go:build servers

package value

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/zclconf/go-cty/cty"
	"southbound/shared/tf/wire"
)

// judge is the version of OpenTofu whose decisions ours have to equal.
const judge = "github.com/opentofu/opentofu@v1.12.6"

// question is a case for testdata/judge, and answer the decisions of OpenTofu.
type question struct {
	Schema                       *wire.Schema
	Prior, Config, Planned, Next []byte
}

type answer struct {
	Proposed, Normalized []byte
	Plan, Apply          int
}

// TestAsOpenTofu makes values under random schemas, and compares proposed states and the checks of
// plans and of new states with those of OpenTofu.
func TestAsOpenTofu(t *testing.T) {
	t.Parallel()
	trials := make([]trial, 1500)
	var questions bytes.Buffer
	for seed := range trials {
		x := trialOf(t, uint64(seed))
		trials[seed] = x
		pack := func(v cty.Value) []byte {
			b, err := x.typ.Msgpack(v)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			return b
		}
		err := json.NewEncoder(&questions).Encode(question{Schema: x.schema, Prior: pack(x.prior),
			Config: pack(x.config), Planned: pack(x.planned), Next: pack(x.next)})
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(buildJudge(t))
	cmd.Stdin, cmd.Stderr = &questions, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	answers := json.NewDecoder(bytes.NewReader(out))
	for seed, x := range trials {
		var a answer
		if err := answers.Decode(&a); err != nil {
			t.Fatal(err)
		}
		compareWith(t, seed, x, a)
	}
}

func compareWith(t *testing.T, seed int, x trial, a answer) {
	t.Helper()
	equal := func(name string, b []byte, ours cty.Value) {
		t.Helper()
		if theirs, err := x.typ.FromMsgpack(b); err != nil || !theirs.RawEquals(ours) {
			t.Errorf("seed %d: %s is\n%#v\nin OpenTofu, and here\n%#v\n%v\nprior %#v\nconfig %#v",
				seed, name, theirs, ours, err, x.prior, x.config)
		}
	}
	equal("the proposed state", a.Proposed, x.typ.Proposed(x.prior, x.config))
	equal("the normalized state", a.Normalized, x.typ.Normalize(x.planned))
	// Ours finds nothing that OpenTofu accepts. OpenTofu also compares plans of parts whose
	// configuration is not known.
	bad := x.typ.CheckPlan(x.prior, x.config, x.planned)
	if len(bad) > 0 && a.Plan == 0 || len(bad) == 0 && a.Plan > 0 && x.config.IsWhollyKnown() {
		t.Errorf("seed %d: OpenTofu finds %d errors in a plan, we %v\nprior %#v\nconfig %#v\n"+
			"planned %#v", seed, a.Plan, bad, x.prior, x.config, x.planned)
	}
	// OpenTofu checks elsewhere that a state is known, and of maps of blocks only those keys that are
	// in both.
	all := x.typ.CheckApply(x.planned, x.next)
	bad = slices.DeleteFunc(slices.Clone(all),
		func(v Violation) bool { return v.Message == elementMissing })
	if x.next.IsWhollyKnown() && (len(bad) > 0 && a.Apply == 0 || len(all) == 0 && a.Apply > 0) {
		t.Errorf("seed %d: OpenTofu finds %d errors in a new state, we %v\nplanned %#v\nnext %#v",
			seed, a.Apply, all, x.planned, x.next)
	}
}

// buildJudge builds the program of testdata/judge within the module of OpenTofu.
func buildJudge(t *testing.T) string {
	t.Helper()
	command := exec.Command("go", "mod", "download", "-json", judge)
	command.Dir = t.TempDir()
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // the module cache is read-only
	for _, part := range []string{"addrs", "tfdiags", "didyoumean", "configs/configschema", "lang/marks",
		"plans/objchange"} {
		part = filepath.Join("internal", filepath.FromSlash(part))
		err := os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(module.Dir, part)))
		if err != nil {
			t.Fatal(err)
		}
	}
	own := filepath.Join("testdata", "judge")
	for from, to := range map[string]string{
		filepath.Join(module.Dir, "go.mod"):     "go.mod",
		filepath.Join(module.Dir, "go.sum"):     "go.sum",
		filepath.Join(own, "main.go.txt"):       "internal/judge/main.go",
		filepath.Join(own, "getmodules.go.txt"): "internal/getmodules/getmodules.go",
	} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		to = filepath.Join(dir, to)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command("go", "build", "-o", "judge", "./internal/judge")
	build.Dir = dir
	build.Env = append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return filepath.Join(dir, "judge")
}
