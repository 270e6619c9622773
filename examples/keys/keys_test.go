package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"southbound/examples/keys/keystest"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"keys": main}) }

// storeOf is the key of the store of a script.
type storeOf struct{}

// TestScripts runs the program as people do, each script with a store; see testdata.
func TestScripts(t *testing.T) {
	t.Parallel()
	store := func(ts *testscript.TestScript) *keystest.Store {
		s, _ := ts.Value(storeOf{}).(*keystest.Store)
		return s
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", "atexit_sleep_ms=0")
			env.Setenv("KEYS_PASSWORD", keystest.Password)
			env.Values[storeOf{}] = keystest.New(t, nil)
			return os.CopyFS(filepath.Join(env.WorkDir, "model"), os.DirFS("model"))
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"holds": func(ts *testscript.TestScript, _ bool, args []string) {
				got, _ := store(ts).World("")
				if strings.TrimSpace(got) != strings.Join(args, "\n") {
					ts.Fatalf("the store holds %s", got)
				}
			},
			"vanish": func(ts *testscript.TestScript, _ bool, args []string) {
				store(ts).Remove(args[0])
			},
			"address": func(ts *testscript.TestScript, _ bool, args []string) {
				for _, name := range args {
					text := strings.ReplaceAll(ts.ReadFile(name), "127.0.0.1:4180",
						store(ts).Address)
					text = strings.ReplaceAll(text, "/tmp/shop.txt", ts.MkAbs("shop.txt"))
					ts.Check(os.WriteFile(ts.MkAbs(name), []byte(text), 0o600))
				}
			},
		},
	})
}

// TestPageShowsTheMappings pins that the page shows what stands here.
func TestPageShowsTheMappings(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/handlers.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Entities of models\n")
	section, _, _ = strings.Cut(section, "\n## ")
	blocks := regexp.MustCompile("(?s)```(golang|cf)\n(.*?)```").FindAllStringSubmatch(section, -1)
	if len(blocks) < 2 {
		t.Fatalf("the page shows %d blocks", len(blocks))
	}
	for _, b := range blocks {
		file := map[string]string{
			"golang": "handlers/keys/entities.go", "cf": "model/main.cf",
		}[b[1]]
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), b[2]) {
			t.Errorf("docs/handlers.md shows what does not stand in %s:\n%s", file, b[2])
		}
	}
}
