package console

import (
	"bytes"
	"compress/gzip"
	"embed"
	"encoding/json"
	"io"
	"io/fs"
	"strings"
	"sync"
	"unicode"
)

//go:embed assets
var assetFiles embed.FS

// The files of assets, see assets/README.md.
const (
	mermaidModule = "mermaid/mermaid.esm.min.mjs"
	iconTable     = "icons.json.gz"
)

// Assets returns a sentence about the assets in this program, which `make assets` adds to a build.
func Assets() string {
	var missing []string
	if _, err := fs.Stat(assetFiles, "assets/"+mermaidModule+".gz"); err != nil {
		missing = append(missing, "mermaid (diagrams are shown as text)")
	}
	if _, err := fs.Stat(assetFiles, "assets/"+iconTable); err != nil {
		missing = append(missing, "icons (shown as a dot)")
	}
	if missing == nil {
		return "mermaid 12.3.0, Font Awesome Free 5.15.4"
	}
	return "without " + strings.Join(missing, ", ") + "; run `make assets` before the build"
}

// addAssets adds the compressed files of a directory under their names without ".gz".
func (f *files) addAssets(from fs.FS, dir string) {
	_ = fs.WalkDir(from, dir, func(name string, d fs.DirEntry, err error) error {
		short, is := strings.CutSuffix(strings.TrimPrefix(name, dir+"/"), ".gz")
		if err != nil || d.IsDir() || !is || short+".gz" == iconTable {
			return err
		}
		b, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		f.all[short] = file{kind: mediaType(short), zipped: b}
		return nil
	}) // files in the program can be read
}

// unzipped returns the content of an asset, for clients that accept no compression.
func unzipped(b []byte) []byte {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil
	}
	out, _ := io.ReadAll(z) // the build has written it
	return out
}

// licences returns the licences of the parts that pages contain.
func licences() []string {
	all := []string{"The console contains code of the Go project: golang.org/x/net (BSD-3-Clause), " +
		"and goldmark and goldmark-emoji (MIT), which render Markdown."}
	if _, err := fs.Stat(assetFiles, "assets/"+mermaidModule+".gz"); err == nil {
		all = append(all, "Diagrams are drawn by mermaid 12.3.0 (MIT), © Knut Sveidqvist and others.")
	}
	if _, err := fs.Stat(assetFiles, "assets/"+iconTable); err == nil {
		all = append(all, "Icons of documentation: Font Awesome Free 5.15.4 by Fonticons, Inc. "+
			"(fontawesome.com), under CC BY 4.0 (creativecommons.org/licenses/by/4.0).")
	}
	return all
}

// iconView is a symbol: a view box and a path. Without a path it is a dot.
type iconView struct{ Box, Path string }

// icons finds outlines by the names of annotations, such as FaTv, FaRegClock and FaGithub.
type icons struct {
	load func() map[string]map[string]iconView // by style, then by name without dashes
}

func newIcons(from fs.FS) *icons {
	return &icons{sync.OnceValue(func() map[string]map[string]iconView {
		b, err := fs.ReadFile(from, "assets/"+iconTable)
		if err != nil {
			return nil
		}
		var table map[string]map[string][2]string
		if err := json.Unmarshal(unzipped(b), &table); err != nil {
			return nil
		}
		out := map[string]map[string]iconView{}
		for style, all := range table {
			out[style] = make(map[string]iconView, len(all))
			for name, icon := range all {
				out[style][strings.ReplaceAll(name, "-", "")] = iconView{icon[0], icon[1]}
			}
		}
		return out
	})}
}

// find returns the icon of a name: of the regular style if the name begins with FaReg, otherwise of
// the solid style, otherwise a brand. An unknown name gives a question mark.
func (i *icons) find(name string) iconView {
	table := i.load()
	if table == nil {
		return iconView{}
	}
	key := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimPrefix(name, "Fa"))
	if short, is := strings.CutPrefix(key, "reg"); is && strings.HasPrefix(name, "FaReg") {
		if icon, has := table["regular"][short]; has {
			return icon
		}
	}
	for _, style := range []string{"solid", "brands"} {
		if icon, has := table[style][key]; has {
			return icon
		}
	}
	return table["solid"]["question"]
}

// hasDiagrams reports whether the program can draw diagrams.
func (s *site) hasDiagrams() bool {
	_, has := s.files.all[mermaidModule]
	return has
}
