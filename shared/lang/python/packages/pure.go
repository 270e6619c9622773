package packages

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/csv"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"southbound/shared/fault"
)

// pure is an installed distribution without compiled parts. If the index has only its source
// distribution, its files come from the virtual environment, where an installer has built it.
type pure struct {
	pin
	site, info string      // folders: site-packages, and the name of its dist-info
	files      [][2]string // its files, with their hashes in the form of RECORD
}

// findPure returns a distribution of an environment; nil if it has parts for one platform.
func findPure(env string, p pin) (*pure, error) {
	infos, _ := filepath.Glob(filepath.Join(env, "lib", "python3*", "site-packages", "*.dist-info"))
	for _, info := range infos {
		if found, err := read(filepath.Join(info, "METADATA")); err != nil || found != p {
			continue
		}
		wheel, err := os.ReadFile(filepath.Join(info, "WHEEL"))
		if err != nil || !anyPlatform(string(wheel)) {
			return nil, nil
		}
		out := &pure{pin: p, site: filepath.Dir(info), info: filepath.Base(info)}
		return out, out.list()
	}
	return nil, nil
}

// anyPlatform reports whether a WHEEL file is of a wheel for all platforms.
func anyPlatform(wheel string) bool {
	tags := 0
	for line := range strings.Lines(wheel) {
		if tag, is := strings.CutPrefix(strings.TrimSpace(line), "Tag: "); is {
			if tags++; !strings.HasSuffix(tag, "-none-any") {
				return false
			}
		}
	}
	return tags > 0
}

// list reads the record of the installation. It leaves out scripts, compiled code, and the metadata
// that depends on the tool that built the distribution.
func (p *pure) list() error {
	f, err := os.Open(filepath.Join(p.site, p.info, "RECORD"))
	if err != nil {
		return fault.Wrap(fault.Unavailable, doing, err)
	}
	defer func() { _ = f.Close() }()
	r := csv.NewReader(f)
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil {
		return fault.New(fault.Invalid, doing, "package %s %s: its record cannot be read: %v",
			p.name, p.version, err).WithHint("install the package again")
	}
	for _, line := range lines {
		name := line[0]
		own := path.Dir(name) == p.info && path.Base(name) != "entry_points.txt" &&
			path.Base(name) != "top_level.txt"
		if own || !filepath.IsLocal(name) || strings.Contains(name, "__pycache__/") || len(line) < 2 {
			continue
		}
		p.files = append(p.files, [2]string{name, line[1]})
	}
	return nil
}

// copyTo copies the distribution into a folder, and compares its files with their hashes.
func (p *pure) copyTo(into string) error {
	record := p.info + "/METADATA,,\n"
	for _, f := range p.files {
		text, err := os.ReadFile(filepath.Join(p.site, filepath.FromSlash(f[0])))
		if err != nil {
			return fault.Wrap(fault.Unavailable, doing, err)
		}
		sum := sha256.Sum256(text)
		if f[1] != "sha256="+base64.RawURLEncoding.EncodeToString(sum[:]) {
			return fault.New(fault.Invalid, doing, "package %s %s: %s was changed after its "+
				"installation", p.name, p.version, f[0]).WithHint("install the package again")
		}
		if err := put(filepath.Join(into, filepath.FromSlash(f[0])), text); err != nil {
			return err
		}
		record += f[0] + ",,\n"
	}
	info := filepath.Join(into, p.info)
	if err := put(filepath.Join(info, "METADATA"), []byte("Metadata-Version: 2.1\nName: "+p.name+
		"\nVersion: "+p.version+"\n")); err != nil {
		return err
	}
	return put(filepath.Join(info, "RECORD"), []byte(record))
}

func put(path string, text []byte) error {
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	return fault.Wrap(fault.Unavailable, doing, err)
}

// lockedPins returns the distributions of a requirements file.
func lockedPins(lock string) []pin {
	var out []pin
	for line := range strings.Lines(lock) {
		name, version, is := strings.Cut(strings.TrimSpace(line), "==")
		if !is || strings.HasPrefix(name, "#") || strings.HasPrefix(name, "-") {
			continue
		}
		version = strings.TrimRight(strings.Fields(version + " ")[0], ";\\")
		name, _, _ = strings.Cut(name, "[")
		out = append(out, pin{normal(name), version})
	}
	return out
}

// without returns a requirements file without some distributions.
func without(lock string, pins []pin) string {
	var out strings.Builder
	skip := false
	for line := range strings.Lines(lock) {
		if line[0] != ' ' && line[0] != '\t' {
			of := lockedPins(line)
			skip = len(of) == 1 && slices.Contains(pins, of[0])
		}
		if !skip {
			out.WriteString(line)
		}
	}
	return out.String()
}
