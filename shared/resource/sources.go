package resource

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// SecretSource is a kind of source of secrets: the part of a source before its first colon.
type SecretSource struct {
	Scheme string // "env"
	Form   string // an example for messages: "env:NAME"
	// Machine is set if the process that runs the handlers reads it, on its machine. A function of
	// the AWS home has no machine.
	Machine bool
	// Setup is set if that process needs settings of its own to read it, such as an address and a
	// token. An export that refers to such a source is refused if the source cannot be read.
	Setup bool
	// Server is set if one server has all secrets of this kind. If it cannot be reached, or refuses the
	// login, none of them can be read.
	Server bool
	// check returns what is wrong with the rest of a source, as advice; "" if nothing is wrong.
	check func(rest string) (hint string)
	// covers reports whether an item of a list allows a source that begins with it.
	covers func(item, source, rest string) bool
}

// SecretSources returns the kinds of sources.
func SecretSources() []SecretSource {
	return []SecretSource{
		{Scheme: "env", Form: "env:NAME", Machine: true, covers: coversVariable},
		{Scheme: "file", Form: "file:PATH", Machine: true, covers: coversFile},
		{Scheme: "sops", Form: "sops:FILE#KEY", Machine: true, Setup: true, check: checkSops,
			covers: coversKeys},
		{Scheme: "vault", Form: "vault:PATH#FIELD", Machine: true, Setup: true, Server: true,
			check: checkVault, covers: coversSelected},
		{Scheme: "command", Form: "command:PROGRAM ARGUMENT", Machine: true, Setup: true,
			check: checkCommand, covers: coversWhole},
		{Scheme: "output", Form: "output:ID#PATH", check: checkOutput, covers: coversOutput},
		{Scheme: "ssm", Form: "ssm:/name", covers: coversVersioned},
		{Scheme: "secretsmanager", Form: "secretsmanager:id", covers: coversSelected},
	}
}

// SecretSourceOf returns the kind of a source; false if there is no such kind.
func SecretSourceOf(source string) (SecretSource, bool) {
	scheme, _, _ := strings.Cut(source, ":")
	all := SecretSources()
	i := slices.IndexFunc(all, func(s SecretSource) bool { return s.Scheme == scheme })
	if i < 0 {
		return SecretSource{}, false
	}
	return all[i], true
}

// SecretForms returns the forms of all sources: "env:NAME, file:PATH or ...".
func SecretForms() string {
	all := SecretSources()
	forms := make([]string, len(all))
	for i, s := range all {
		forms[i] = s.Form
	}
	last := len(forms) - 1
	return strings.Join(forms[:last], ", ") + " or " + forms[last]
}

// CheckSecret returns advice on how to write the source of a secret. It returns "" if the source is
// well-formed. The advice contains no part of the source, because that may be the secret itself.
func CheckSecret(source string) (hint string) {
	kind, known := SecretSourceOf(source)
	_, rest, _ := strings.Cut(source, ":")
	switch {
	case !known || rest == "":
		return "write " + SecretForms()
	case kind.check != nil:
		return kind.check(rest)
	}
	return ""
}

// SecretAt returns a source whose relative path of a file leads from a directory. Other sources are
// returned as they are.
func SecretAt(dir, source string) string {
	scheme, file, _ := strings.Cut(source, ":")
	key := ""
	switch scheme {
	case "file":
	case "sops":
		if i := strings.IndexByte(file, '#'); i >= 0 {
			file, key = file[:i], file[i:]
		}
	default:
		return source
	}
	if filepath.IsAbs(file) {
		return source
	}
	return scheme + ":" + filepath.Join(dir, file) + key
}

func checkSops(rest string) (hint string) {
	if file, key, _ := strings.Cut(rest, "#"); file == "" || key == "" {
		return "write sops:FILE#KEY, as in sops:/srv/site/secrets.yaml#db/password"
	}
	return ""
}

func checkVault(rest string) (hint string) {
	path, field, _ := strings.Cut(rest, "#")
	if field == "" || !strings.Contains(path, "/") || strings.HasPrefix(path, "/") || !local(path) {
		return "write vault:PATH#FIELD, as in vault:secret/shop/db#password, with the path that " +
			"`vault kv get` or `vault read` takes"
	}
	return ""
}

func checkCommand(rest string) (hint string) {
	_, hint = SecretCommand(rest)
	return hint
}

// SecretCommand returns the program and the arguments of a source of the kind command, without its
// scheme: a JSON list of texts, or words between blanks. No shell reads it. hint is advice on how to
// write it; "" if it is well-formed.
func SecretCommand(rest string) (argv []string, hint string) {
	rest = strings.TrimSpace(rest)
	if strings.HasPrefix(rest, "[") {
		if json.Unmarshal([]byte(rest), &argv) != nil || len(argv) == 0 || argv[0] == "" ||
			strings.Contains(strings.Join(argv, ""), "\x00") {
			return nil, `write the program and its arguments as a JSON list of texts, as in ` +
				`command:["pass", "show", "db"]`
		}
		return argv, ""
	}
	if argv = strings.Fields(rest); len(argv) == 0 || strings.ContainsAny(rest, "\"'`$|&;<>\\\x00") {
		return nil, `no shell reads the command: write words between blanks, as in command:pass ` +
			`show db, or a JSON list of texts, as in command:["sh", "-c", "pass show db | head -1"]`
	}
	return argv, ""
}
