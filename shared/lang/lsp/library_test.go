package lsp_test

import (
	"fmt"
	"os"
	"testing"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"southbound/shared/internal/declared"
)

// thing declares br::Thing with one attribute beside its name.
func thing(attribute string) string {
	return `southbound_type: 1
name: br::Thing
description: A thing.
attributes:
  - {name: name, type: "String[1]", behaviour: namevar, description: its name}
  - {name: ` + attribute + `, type: String, default: x, description: a text}
`
}

// lockOf is a lock file for a file of declarations.
func lockOf(file, text string) string {
	return fmt.Sprintf(`southbound_lock: 1
providers:
  - name: things
    bridge: br
    address: example.org/things
    version: 1.0.0
    declarations: {file: %s, digest: "sha256:%s"}
`, file, declared.HashOf([]byte(text)))
}

// thingModel describes a thing with one attribute.
func thingModel(attribute string) string {
	return "import southbound\nimport southbound::br\na = southbound::Agent(name=\"a\")\n" +
		"t = southbound::br::Thing(agent=a, name=\"t\", " + attribute + "=\"y\")\n"
}

func (s *session) write(name, text string) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := s.DidChangeWatchedFiles(s.ctx, &protocol.DidChangeWatchedFilesParams{
		Changes: []protocol.FileEvent{{URI: uri.File(s.path(name)), Type: protocol.FileChangeTypeChanged}},
	}); err != nil {
		s.t.Fatal(err)
	}
}

// TestLockFile holds that models have the types of the lock file beside their main.cf: each project its
// own, also after a change, and that problems of a lock file are shown in it.
func TestLockFile(t *testing.T) {
	t.Parallel()
	first, second := thing("colour"), thing("size")
	s := start(t, map[string]string{
		"one/main.cf": thingModel("colour"), "one/thing": first, "one/thing2": second,
		"two/main.cf": thingModel("size"), "two/thing": second,
		"two/southbound.lock": lockOf("thing", second),
	}, nil)
	s.open("two/main.cf")
	s.problems("two/main.cf")
	s.open("one/main.cf")
	s.problems("one/main.cf", "southbound::br", "southbound::br")
	s.write("one/southbound.lock", lockOf("thing", first))
	s.problems("one/main.cf")
	s.edit("two/main.cf", 2, 3, 45, 49, "colour")
	s.problems("two/main.cf", "colour")
	s.edit("one/main.cf", 2, 3, 45, 51, "hue")
	s.problems("one/main.cf", "hue")
	s.edit("one/main.cf", 3, 3, 45, 48, "size")
	s.problems("one/main.cf", "size")
	s.write("one/southbound.lock", lockOf("thing2", second))
	s.problems("one/main.cf")

	s.write("one/southbound.lock", lockOf("thing", second))
	s.problems("one/southbound.lock", "differs from the lock file")
	s.problems("one/main.cf", "southbound::br", "southbound::br")
	s.write("one/southbound.lock", "southbound_lock: 2\n")
	s.problems("one/southbound.lock", "reads lock files of format 1")
	s.write("one/southbound.lock", lockOf("thing2", second))
	s.problems("one/southbound.lock")
	s.problems("one/main.cf")
}
