package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"southbound/examples/keys/keystest"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"keys": main}) }

// TestScripts runs the program as people do, with a store; see testdata.
func TestScripts(t *testing.T) {
	t.Parallel()
	store := keystest.New(t, nil)
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("KEYS_PASSWORD", keystest.Password)
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"holds": func(ts *testscript.TestScript, _ bool, args []string) {
				if got, _ := store.World(""); strings.TrimSpace(got) != strings.Join(args, "\n") {
					ts.Fatalf("the store holds %s", got)
				}
			},
			"vanish": func(_ *testscript.TestScript, _ bool, args []string) { store.Remove(args[0]) },
			"address": func(ts *testscript.TestScript, _ bool, args []string) {
				for _, name := range args {
					text := strings.ReplaceAll(ts.ReadFile(name), "127.0.0.1:4180", store.Address)
					ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
				}
			},
		},
	})
}
