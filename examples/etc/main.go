// Command etc describes a tree of files as it is on this machine, so that it can be deployed under
// another root:
//
//	go run ./examples/etc -from /etc -to /tmp/etc-copy -out /tmp/etc-model
//	bin/southbound apply /tmp/etc-model
//
// Directories, files with their bytes, links, owners and modes are described; other things are left
// out and counted.
package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

func main() {
	from := flag.String("from", "/etc", "the tree to describe")
	to := flag.String("to", "/tmp/etc-copy", "where it is to be deployed")
	out := flag.String("out", "/tmp/etc-model", "the directory to write the description to")
	flag.Parse()
	n, skipped, err := describe(*from, *to, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "etc:", err)
		os.Exit(1)
	}
	fmt.Printf("%d resources described in %s, %d things left out\n", n, *out, skipped)
}

// entry is a resource as documents have it.
type entry struct {
	Type       string         `json:"type"`
	Attributes map[string]any `json:"attributes"`
}

// describe writes a document, and the bytes of files beside it by their hash. It returns how many
// resources it described and how many things it left out because they cannot be read or are no
// directory, file or link.
func describe(from, to, out string) (int, int, error) {
	if err := os.MkdirAll(filepath.Join(out, "files"), 0o700); err != nil {
		return 0, 0, err
	}
	var entries []entry
	skipped := 0
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			skipped++
			return nil // what cannot be read is counted
		}
		rel, _ := filepath.Rel(from, path)
		e, ok := one(path, filepath.Join(to, rel), d, out)
		if !ok {
			skipped++
			return nil
		}
		entries = append(entries, e)
		return nil
	})
	if err != nil {
		return 0, 0, err
	}
	doc, err := json.MarshalIndent(
		map[string]any{
			"southbound": 1,
			"defaults":   map[string]any{"agent": "etc"},
			"resources":  entries,
		},
		"",
		" ",
	)
	if err != nil {
		return 0, 0, err
	}
	return len(entries), skipped, os.WriteFile(filepath.Join(out, "tree.json"), doc, 0o600)
}

func one(path, target string, d fs.DirEntry, out string) (entry, bool) {
	info, err := d.Info()
	if err != nil {
		return entry{}, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return entry{}, false
	}
	attrs := map[string]any{
		"path":  target,
		"owner": strconv.Itoa(int(st.Uid)),
		"group": strconv.Itoa(int(st.Gid)),
	}
	mode := fmt.Sprintf("%04o", st.Mode&0o7777)
	switch info.Mode().Type() {
	case fs.ModeDir:
		attrs["mode"] = mode
		return entry{"fs::Directory", attrs}, true
	case fs.ModeSymlink:
		link, err := os.Readlink(path)
		attrs["target"] = link
		return entry{"fs::Symlink", attrs}, err == nil
	case 0:
		b, err := os.ReadFile(path)
		if err != nil {
			return entry{}, false
		}
		sum := sha256.Sum256(b)
		name := filepath.Join("files", hex.EncodeToString(sum[:]))
		if err := os.WriteFile(filepath.Join(out, name), b, 0o600); err != nil {
			return entry{}, false
		}
		attrs["mode"], attrs["content"] = mode, map[string]any{"file": name}
		return entry{"fs::File", attrs}, true
	}
	return entry{}, false
}
