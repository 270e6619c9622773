package lsp

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/lang/resources"
	"southbound/shared/lang/std"
	"southbound/shared/lang/types"
	"southbound/shared/schema"
)

// builtIns are the model texts and plugins that are part of the program, and the model texts of types
// that lock files declare.
type builtIns struct {
	own     *library            // without a lock file
	locked  map[string]*library // by the directory of the lock file
	plugins []eval.Plugin
	shown   map[copied]string // written files
	dir     string            // the folder of these files; "" if there is none
}

// copied is a text that was written to a file. Texts of declared types differ between projects.
type copied struct {
	path string
	sum  [sha256.Size]byte
}

func newBuiltIns(registry *schema.Registry) *builtIns {
	b := &builtIns{own: newLibrary(registry), locked: map[string]*library{},
		shown: map[copied]string{}}
	if cache, err := os.UserCacheDir(); err == nil {
		b.dir = filepath.Join(cache, "southbound", "lsp")
	}
	b.plugins = slices.Concat(std.Plugins(), lsm.Plugins(), resources.Plugins())
	return b
}

// special returns the types that model texts cannot define.
func special() map[string]types.Type { return resources.Types() }

// quiet returns the plugins for an evaluation in an editor. They have no side effects, and values
// that depend on the deployment environment are unknown.
func (b *builtIns) quiet() []eval.Plugin {
	unknown := map[string]bool{
		"std::generate_password": true, "std::password": true, "std::get_env": true,
		"std::get_env_int": true, "std::environment": true, "std::environment_name": true,
	}
	out := make([]eval.Plugin, len(b.plugins))
	for i, p := range b.plugins {
		if unknown[p.Name] {
			p.AllowUnknown = true
			p.Call = func(*eval.Context, eval.Args) (types.Value, error) {
				return &types.Unknown{Why: "the editor does not ask for it"}, nil
			}
		}
		out[i] = p
	}
	return out
}

// show returns the path of a file with a text of the program, for editors to open. It writes the
// file into the user's cache folder on first use.
func (b *builtIns) show(path, content string) (string, error) {
	sum := sha256.Sum256([]byte(content))
	if file, ok := b.shown[copied{path, sum}]; ok {
		return file, nil
	}
	if b.dir == "" {
		return "", errors.New("there is no folder for " + path + ": set HOME or XDG_CACHE_HOME")
	}
	file := filepath.Join(b.dir, hex.EncodeToString(sum[:8]), filepath.FromSlash(path))
	if have, err := os.ReadFile(file); err != nil ||
		string(have) != content {
		if err := write(file, content); err != nil {
			return "", fmt.Errorf("show %s: %w", path, err)
		}
	}
	b.shown[copied{path, sum}] = file
	return file, nil
}

// write atomically writes a read-only file.
func write(file, content string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return renameio.WriteFile(file, []byte(content), 0o400, renameio.WithTempDir(filepath.Dir(file)))
}

// original returns the path of the text that a file shows; the path itself if it is no such file.
func (b *builtIns) original(path string) string {
	rest, ok := strings.CutPrefix(path, b.dir+string(filepath.Separator))
	if b.dir == "" || !ok {
		return path
	}
	_, rest, _ = strings.Cut(filepath.ToSlash(rest), "/") // after the hash
	return rest
}
