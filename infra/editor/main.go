// Command editor packs the extension for Visual Studio Code. It turns a folder with package.json
// and node_modules into a .vsix, which `code --install-extension` installs. It needs no marketplace
// and no other program, and the same folder always gives the same bytes.
package main

import (
	"archive/zip"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"
)

func main() {
	dir := flag.String("dir", "infra/editor/vscode", "the folder of the extension")
	out := flag.String("out", "bin/southbound.vsix", "the file to write")
	flag.Parse()
	if err := run(*dir, *out); err != nil {
		fmt.Fprintln(os.Stderr, "editor:", err)
		os.Exit(1)
	}
	fmt.Println(*out)
}

func run(dir, out string) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	if err := errors.Join(pack(f, os.DirFS(dir)), f.Close()); err != nil {
		return errors.Join(err, os.Remove(out))
	}
	return nil
}

// extension is the part of package.json that the manifest contains.
type extension struct {
	Name         string            `json:"name"`
	DisplayName  string            `json:"displayName"`
	Description  string            `json:"description"`
	Version      string            `json:"version"`
	Publisher    string            `json:"publisher"`
	Categories   []string          `json:"categories"`
	Engines      map[string]string `json:"engines"`
	Dependencies map[string]string `json:"dependencies"`
}

// pack writes the package of an extension. Its dependencies have to be in node_modules.
func pack(w io.Writer, files fs.FS) error {
	data, err := fs.ReadFile(files, "package.json")
	if err != nil {
		return err
	}
	var e extension
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("package.json: %w", err)
	}
	if e.Name == "" || e.Publisher == "" || e.Version == "" || e.Engines["vscode"] == "" {
		return errors.New("package.json lacks one of name, publisher, version, engines.vscode")
	}
	for name := range e.Dependencies {
		if _, err := fs.Stat(files, path.Join("node_modules", name, "package.json")); err != nil {
			return fmt.Errorf("%s is not installed: run npm ci: %w", name, err)
		}
	}
	z := zip.NewWriter(w)
	manifest, err := e.manifest()
	if err != nil {
		return err
	}
	types, err := contentTypes(files)
	if err != nil {
		return err
	}
	if err := errors.Join(
		add(z, "extension.vsixmanifest", manifest), add(z, "[Content_Types].xml", types),
	); err != nil {
		return err
	}
	err = walk(files, func(name string) error {
		data, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return add(z, "extension/"+name, data)
	})
	return errors.Join(err, z.Close())
}

// walk calls visit for the files of the package, in order. It omits files that only development
// needs.
func walk(files fs.FS, visit func(name string) error) error {
	return fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name != "." && strings.HasPrefix(path.Base(name), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || name == "package-lock.json" ||
			strings.HasSuffix(name, ".map"):
			return nil
		}
		return visit(name)
	})
}

// add adds a file with a fixed time.
func add(z *zip.Writer, name string, data []byte) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate}
	h.Modified = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)
	h.SetMode(0o644)
	w, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// The manifest of a package, in the format of Visual Studio Code.
type (
	manifest struct {
		XMLName      xml.Name `xml:"PackageManifest"`
		Version      string   `xml:"Version,attr"`
		Namespace    string   `xml:"xmlns,attr"`
		Metadata     metadata `xml:"Metadata"`
		Target       id       `xml:"Installation>InstallationTarget"`
		Dependencies struct{} `xml:"Dependencies"`
		Assets       []asset  `xml:"Assets>Asset"`
	}
	metadata struct {
		Identity    identity   `xml:"Identity"`
		DisplayName string     `xml:"DisplayName"`
		Description string     `xml:"Description"`
		Tags        string     `xml:"Tags"`
		Categories  string     `xml:"Categories"`
		Flags       string     `xml:"GalleryFlags"`
		Properties  []property `xml:"Properties>Property"`
	}
	identity struct {
		Language  string `xml:"Language,attr"`
		ID        string `xml:"Id,attr"`
		Version   string `xml:"Version,attr"`
		Publisher string `xml:"Publisher,attr"`
	}
	property struct {
		ID    string `xml:"Id,attr"`
		Value string `xml:"Value,attr"`
	}
	id struct {
		ID string `xml:"Id,attr"`
	}
	asset struct {
		Type        string `xml:"Type,attr"`
		Path        string `xml:"Path,attr"`
		Addressable bool   `xml:"Addressable,attr"`
	}
)

func (e *extension) manifest() ([]byte, error) {
	m := manifest{
		Version:   "2.0.0",
		Namespace: "http://schemas.microsoft.com/developer/vsx-schema/2011",
		Metadata: metadata{
			Identity:    identity{"en-US", e.Name, e.Version, e.Publisher},
			DisplayName: e.DisplayName, Description: e.Description, Flags: "Public",
			Tags: e.Name, Categories: strings.Join(e.Categories, ","),
			Properties: []property{
				{"Microsoft.VisualStudio.Code.Engine", e.Engines["vscode"]},
				{"Microsoft.VisualStudio.Code.ExtensionKind", "workspace"},
			},
		},
		Target: id{"Microsoft.VisualStudio.Code"},
		Assets: []asset{
			{"Microsoft.VisualStudio.Code.Manifest", "extension/package.json", true},
			{"Microsoft.VisualStudio.Services.Content.Details", "extension/README.md", true},
		},
	}
	return encode(m)
}

func encode(v any) ([]byte, error) {
	out, err := xml.MarshalIndent(v, "", "  ")
	return append([]byte(xml.Header), out...), err
}

// contentTypes returns the types of files by the extensions of their names, as the package format
// requires.
func contentTypes(files fs.FS) ([]byte, error) {
	type def struct {
		Extension string `xml:"Extension,attr"`
		Type      string `xml:"ContentType,attr"`
	}
	var out struct {
		XMLName   xml.Name `xml:"Types"`
		Namespace string   `xml:"xmlns,attr"`
		Defaults  []def    `xml:"Default"`
	}
	out.Namespace = "http://schemas.openxmlformats.org/package/2006/content-types"
	known := map[string]string{
		".json": "application/json", ".js": "application/javascript", ".md": "text/markdown",
		".vsixmanifest": "text/xml", ".txt": "text/plain", ".ts": "text/plain",
	}
	seen := map[string]bool{}
	note := func(name string) error {
		if ext := path.Ext(name); ext != "" && !seen[ext] {
			seen[ext] = true
			kind := known[ext]
			if kind == "" {
				kind = "application/octet-stream"
			}
			out.Defaults = append(out.Defaults, def{ext, kind})
		}
		return nil
	}
	_ = note("extension.vsixmanifest")
	if err := walk(files, note); err != nil {
		return nil, err
	}
	return encode(out)
}
