package fs

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"southbound/handlers/internal/disk"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/pattern"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// Archive declares fs::Archive: the contents of a tar or zip file, in a directory.
func Archive() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Name: "fs::Archive",
			Description: "The contents of a tar or zip archive in a directory. A hidden list of the unpacked " +
				"files in the directory makes it possible to repair changed and missing files, to " +
				"remove files that a new archive no longer has, and to purge exactly the unpacked " +
				"files. An archive is read to its end before the first file is written, and refused if " +
				"an entry leads out of the directory, is a device, or exceeds the limits. owner and " +
				"group set the ownership, never the archive; modes are those of the archive without " +
				"setuid and setgid, and directories are writable for their owner.",
			Attributes: append([]schema.Attribute{
				{Name: "path", Type: pathType, Behaviour: schema.Namevar,
					Description: "the target directory, an absolute path; it is created if it is missing"},
				{Name: "name", Type: `Pattern[/\A[A-Za-z0-9_][A-Za-z0-9._-]{0,99}\z/]`,
					Default: "archive", Behaviour: schema.Namevar,
					Description: "a name, unique among the archives of the directory"},
				{Name: "source", Type: "String[1]",
					Description: "the archive: {file: path}, an absolute path on the machine, or an http or " +
						"https URL, from which the machine downloads it whenever a file must be " +
						"unpacked"},
				{Name: "username", Type: "Optional[String[1]]", OneLine: true, Behaviour: schema.Parameter,
					Description: "the user name for the server"},
				{Name: "password", Type: "Optional[String[1]]", OneLine: true, Behaviour: schema.Parameter,
					Sensitive:   true,
					Description: "the password or token for the server; requires https"},
				{Name: "checksum",
					Type:        `Optional[Pattern[/\A(sha256:[0-9a-f]{64}|sha512:[0-9a-f]{128})\z/]]`,
					Behaviour:   schema.Parameter,
					Description: "the checksum of the archive: sha256:… or sha512:…; required for a URL"},
				{Name: "format",
					Type:        "Optional[Enum['tar','tar.gz','tar.bz2','tar.xz','tar.zst','zip']]",
					Behaviour:   schema.Parameter,
					Description: "the format; absent: detected from the first bytes"},
				{Name: "strip", Type: "Integer[0,100]", Default: int64(0),
					Behaviour: schema.Parameter,
					Description: "number of leading directories removed from each name; entries without a " +
						"remaining name are omitted"},
				{Name: "creates", Type: "Optional[String[1]]", Behaviour: schema.Parameter,
					Description: "a path, absolute or relative to the directory; if it exists, nothing is " +
						"compared"},
				{Name: "verify", Type: "Enum[full,quick]", Default: "full",
					Behaviour:   schema.Parameter,
					Description: "comparison of files: by bytes, or quickly by size, mode and time"},
				{Name: "max_size", Type: "Integer[1]", Default: int64(10 << 30),
					Behaviour:   schema.Parameter,
					Description: "maximum total size of the files in bytes"},
				{Name: "max_files", Type: "Integer[1,10000000]", Default: int64(500_000),
					Behaviour:   schema.Parameter,
					Description: "maximum number of files, links and directories"},
				{Name: "drifted", Type: "Optional[Array[String]]", Behaviour: schema.ReadOnly,
					Description: "the first missing or changed entries"},
			}, parameters(ownerAttributes())...),
			Features: []string{"noop", schema.FeatureFiles},
			Machine:  true,
			Timeout:  30 * time.Minute,
			Validate: validArchive,
			Thing:    schema.ByIdentity("path", "name"),
			Keeps:    schema.KeepsTrees("path"),
			Relations: append(ownedRelations(),
				schema.Relation{Kind: schema.Require, Type: "fs::Directory",
					Keys: map[string]string{"path": "$path"}},
				schema.Relation{Kind: schema.Require, Type: "fs::File",
					Keys: map[string]string{"path": "$source"}},
			),
		},
		Handler: archive{},
	}
}

// parameters converts attributes to parameters.
func parameters(attrs []schema.Attribute) []schema.Attribute {
	for i := range attrs {
		attrs[i].Behaviour = schema.Parameter
	}
	return attrs
}

func validArchive(attrs map[string]any) []diag.Problem {
	out := validPath(false)(attrs)
	if s, ok := attrs["source"].(string); ok && isURL(s) {
		out = append(out, validURL(attrs)...)
	} else if ok && (!filepath.IsAbs(s) || filepath.Clean(s) != s) {
		out = append(out,
			diag.Problem{Attribute: "source",
				Message: fmt.Sprintf("%q is not an absolute path in its shortest form", s),
				Hint:    "write {file: path} for one beside the document"})
	}
	if f, ok := attrs["source"].(resource.File); ok {
		if sum, ok := attrs["checksum"].(string); ok && strings.HasPrefix(sum, "sha256:") &&
			f.Hash != "" && sum != "sha256:"+f.Hash {
			out = append(out,
				diag.Problem{Attribute: "checksum",
					Message: "the file that is uploaded has the checksum sha256:" + f.Hash,
					Hint:    "it may be another version, or damaged"})
		}
	}
	return out
}

// archive is the handler of fs::Archive.
type archive struct{ sys *disk.System }

// entry is one thing in an archive, and in the list of unpacked things.
type entry struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"` // file, dir, link
	Mode   uint32 `json:"mode,omitempty"`
	Size   int64  `json:"size,omitempty"`
	Time   int64  `json:"time,omitempty"`   // seconds since 1970
	Hash   string `json:"hash,omitempty"`   // SHA-256 of a file
	Target string `json:"target,omitempty"` // of a link
}

// storedEntry is an entry in its stored form: JSON holds only bytes that are UTF-8.
type storedEntry struct {
	plainEntry
	NameBytes   []byte `json:"name_bytes,omitempty"`
	TargetBytes []byte `json:"target_bytes,omitempty"`
}

type plainEntry entry // without its methods

// MarshalJSON implements json.Marshaler.
func (e entry) MarshalJSON() ([]byte, error) {
	s := storedEntry{plainEntry: plainEntry(e)}
	if !utf8.ValidString(e.Name) {
		s.Name, s.NameBytes = "", []byte(e.Name)
	}
	if !utf8.ValidString(e.Target) {
		s.Target, s.TargetBytes = "", []byte(e.Target)
	}
	return json.Marshal(s)
}

// UnmarshalJSON implements json.Unmarshaler.
func (e *entry) UnmarshalJSON(data []byte) error {
	var s storedEntry
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	if s.NameBytes != nil {
		s.Name = string(s.NameBytes)
	}
	if s.TargetBytes != nil {
		s.Target = string(s.TargetBytes)
	}
	*e = entry(s.plainEntry)
	return nil
}

// The kinds of entries.
const (
	kindFile = "file"
	kindDir  = "dir"
	kindLink = "link"
)

// manifest is the list of unpacked things.
type manifest struct {
	Format   int     `json:"southbound_archive"`
	Source   string  `json:"source"`           // SHA-256 of the archive
	SHA512   string  `json:"sha512,omitempty"` // of the archive, where a URL may be compared by it
	Strip    int64   `json:"strip"`
	Complete bool    `json:"complete"` // false: a change was under way
	Made     bool    `json:"made"`     // the directory was made for it
	Entries  []entry `json:"entries"`
}

// manifestFormat is the written format; others are rejected.
const manifestFormat = 1

// the largest manifest that is read, in bytes
const maxManifest = 1 << 30

func manifestName(r provider.Resource) string {
	return "." + text(r, "name") + ".southbound-archive"
}

// hiddenName matches our own names, in every archive.
var hiddenName = pattern.Lazy(`\.southbound-(archive|[0-9a-f]{8})\z`)

// entryName converts a name of an archive to its canonical form, "" for an omitted entry, and
// rejects names that are not below the directory.
func entryName(name string, strip int64) (string, error) {
	if strings.ContainsAny(name, "\\\x00") {
		return "", refused("the name %q has a character in it that names do not have", name)
	}
	if strings.HasPrefix(name, "/") {
		return "", refused("the name %q is absolute", name)
	}
	parts := strings.Split(strings.TrimSuffix(name, "/"), "/")
	var clean []string
	for _, p := range parts {
		switch {
		case p == "..":
			return "", refused("the name %q leads out of the directory", name)
		case p == "" || p == ".":
		case hiddenName().MatchString(p):
			return "", refused("the name %q is one that only Southbound uses", name)
		default:
			clean = append(clean, p)
		}
	}
	if int64(len(clean)) <= strip {
		return "", nil
	}
	return strings.Join(clean[strip:], "/"), nil
}

// refused is the error for an archive with content that is not unpacked.
func refused(format string, args ...any) error {
	return provider.Errorf(provider.NeedsChange, "the archive is refused: "+format, args...)
}

// contents is the parsed content of an archive.
type contents struct {
	entries   []entry
	at        map[string]int
	maxFiles  int64
	remaining int64 // bytes
}

// add adds an entry; it replaces an earlier one of the same name.
func (c *contents) add(e entry) error {
	for dir := path.Dir(e.Name); dir != "."; dir = path.Dir(dir) {
		i, known := c.at[dir]
		if !known {
			continue
		}
		if c.entries[i].Kind != kindDir {
			return refused("%q is below %q, which is not a directory", e.Name, dir)
		}
	}
	if i, known := c.at[e.Name]; known {
		if c.entries[i].Kind != e.Kind {
			return refused("%q is there twice, as a %s and as a %s", e.Name, c.entries[i].Kind,
				e.Kind)
		}
		c.entries[i] = e
		return nil
	}
	if int64(len(c.entries)) >= c.maxFiles {
		return refused("it has more than %d files; raise max_files if that is right", c.maxFiles)
	}
	c.at[e.Name] = len(c.entries)
	c.entries = append(c.entries, e)
	return nil
}

// finish adds the directories that no entry names, and sorts: a directory precedes its entries.
func (c *contents) finish() error {
	for _, e := range slices.Clone(c.entries) {
		for dir := path.Dir(e.Name); dir != "."; dir = path.Dir(dir) {
			if i, known := c.at[dir]; !known {
				if err := c.add(entry{Name: dir, Kind: kindDir, Mode: defaultDirMode}); err != nil {
					return err
				}
			} else if c.entries[i].Kind != kindDir {
				return refused("%q is below %q, which is not a directory", e.Name, dir)
			}
		}
	}
	slices.SortFunc(c.entries, func(a, b entry) int { return strings.Compare(a.Name, b.Name) })
	for i, e := range c.entries {
		c.at[e.Name] = i
	}
	return nil
}

// validLink rejects links that lead out of the directory. Parts that go up are permitted only at
// the front of a target: then the target keeps its meaning even if it passes other links.
func validLink(name, target string) error {
	if target == "" || strings.HasPrefix(target, "/") || strings.IndexByte(target, 0) >= 0 {
		return refused("the link %q leads to %q, which is not below the directory", name, target)
	}
	up, down := 0, false
	for p := range strings.SplitSeq(target, "/") {
		switch p {
		case "", ".":
		case "..":
			if up++; down || up > strings.Count(name, "/") {
				return refused("the link %q leads to %q, which may not be below the directory",
					name, target)
			}
		default:
			down = true
		}
	}
	return nil
}

// Diff implements provider.Differ.
func (archive) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	out := map[string]diff.Diff{}
	if want, have := desired.Attributes["source"], observed.Attributes["source"]; !resource.Equal(
		want, have) {
		out["source"] = diff.Diff{Current: have, Desired: want}
	}
	if d := observed.Attributes["drifted"]; d != nil {
		out["drifted"] = diff.Diff{Current: d, Desired: []any{}}
	}
	return out, nil
}
