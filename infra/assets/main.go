// Assets fills shared/console/assets with the parts of published packages that pages of the console
// use: `make assets` runs it. All are locked by their sums in packs/assets.lock.
package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"strings"

	"southbound/infra/assets/packs"
)

const dir = "shared/console/assets"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, dir); err != nil {
		fmt.Fprintln(os.Stderr, "assets:", err)
		os.Exit(1)
	}
}

// run writes all assets. It replaces the former ones only when all packages are there.
func run(ctx context.Context, dir string) error {
	out := map[string][]byte{}
	for _, part := range []struct {
		name string
		add  func(out map[string][]byte, archive []byte) error
	}{{"mermaid", addMermaid}, {"@fortawesome/fontawesome-free", addIcons}} {
		p, err := packs.Locked(part.name)
		if err != nil {
			return err
		}
		archive, err := packs.Fetch(ctx, p)
		if err != nil {
			return err
		}
		if err := part.add(out, archive); err != nil {
			return fmt.Errorf("%s: %w", p.Name, err)
		}
	}
	for _, old := range []string{"mermaid", "icons.json.gz"} {
		if err := os.RemoveAll(filepath.Join(dir, old)); err != nil {
			return err
		}
	}
	size := 0
	for name, b := range out {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, b, 0o644); err != nil {
			return err
		}
		size += len(b)
	}
	fmt.Printf("%d files, %d kB compressed, in %s\n", len(out), size/1000, dir)
	return nil
}

// addMermaid adds the module for browsers, its chunks and its licence, each compressed.
func addMermaid(out map[string][]byte, archive []byte) error {
	const entry, chunks = "dist/mermaid.esm.min.mjs", "dist/chunks/mermaid.esm.min/"
	files, err := packs.Files(archive, func(name string) bool {
		return name == entry || name == "LICENSE" ||
			(strings.HasPrefix(name, chunks) && strings.HasSuffix(name, ".mjs"))
	})
	if err != nil {
		return err
	}
	if files[entry] == nil || files["LICENSE"] == nil || len(files) < 20 {
		return fmt.Errorf("the archive has not the expected files, only %d of them", len(files))
	}
	for name, b := range files {
		out["mermaid/"+strings.TrimPrefix(name, "dist/")+".gz"] = compress(b)
	}
	return nil
}

// addIcons adds one table of the outlines of all icons: by style and name, the size of the drawing
// and its path.
func addIcons(out map[string][]byte, archive []byte) error {
	files, err := packs.Files(archive, func(name string) bool {
		return strings.HasPrefix(name, "svgs/") && strings.HasSuffix(name, ".svg")
	})
	if err != nil {
		return err
	}
	table := map[string]map[string][2]string{}
	for name, b := range files {
		var svg struct {
			ViewBox string `xml:"viewBox,attr"`
			Paths   []struct {
				D string `xml:"d,attr"`
			} `xml:"path"`
		}
		if err := xml.Unmarshal(b, &svg); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if len(svg.Paths) != 1 || svg.ViewBox == "" {
			return fmt.Errorf("%s: not one path in a view box", name)
		}
		style := path.Base(path.Dir(name))
		if table[style] == nil {
			table[style] = map[string][2]string{}
		}
		table[style][strings.TrimSuffix(path.Base(name), ".svg")] = [2]string{svg.ViewBox,
			svg.Paths[0].D}
	}
	for _, style := range []string{"brands", "regular", "solid"} {
		if len(table[style]) < 100 {
			return fmt.Errorf("only %d icons of the style %s", len(table[style]), style)
		}
	}
	b, err := json.Marshal(table)
	if err != nil {
		return err
	}
	out["icons.json.gz"] = compress(b)
	return nil
}

// compress returns the same bytes for the same input: the header has no time.
func compress(b []byte) []byte {
	var out bytes.Buffer
	z, _ := gzip.NewWriterLevel(&out, gzip.BestCompression) // the level is valid
	_, _ = z.Write(b)                                       // writing to memory does not fail
	_ = z.Close()
	return out.Bytes()
}
