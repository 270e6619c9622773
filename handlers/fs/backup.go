package fs

import (
	"fmt"
	"slices"
	"strings"

	"southbound/handlers/internal/disk"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

const (
	defaultSuffix = ".bak" // the meaning of backup: true
)

// suffixOf returns the suffix of backups, "" for none.
func suffixOf(r provider.Resource) string {
	switch s := r.Attributes["backup"].(type) {
	case string:
		return s
	case bool:
		if s {
			return defaultSuffix
		}
	}
	return ""
}

// meansBoolean reports whether a text is one of the words that YAML 1.1 parses as a Boolean.
func meansBoolean(s string) bool {
	return slices.Contains([]string{"y", "yes", "n", "no", "on", "off", "true", "false"},
		strings.ToLower(s))
}

func validBackup(attrs map[string]any) []diag.Problem {
	if s, ok := attrs["backup"].(string); ok && meansBoolean(s) {
		return []diag.Problem{{Attribute: "backup",
			Message: fmt.Sprintf("%q is text here, so it would be a suffix", s),
			Hint:    `write true for "` + defaultSuffix + `", false for no backup, or another suffix`}}
	}
	path, _ := attrs["path"].(string)
	_, base := disk.Split(path)
	suffix := suffixOf(provider.Resource{Attributes: attrs})
	if suffix != "" && len(base)+len(suffix)+disk.NumberRoom > disk.MaxName {
		return []diag.Problem{{Attribute: "backup",
			Message: fmt.Sprintf("the name with this suffix and a number has more than %d bytes",
				disk.MaxName),
			Hint: "choose a shorter suffix"}}
	}
	return nil
}

// createAttribute is the attribute create of types that manage a part of a file.
func createAttribute() schema.Attribute {
	return schema.Attribute{Name: "create", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
		Description: "create the file if it is missing, with mode 0644, or 0600 for a secret; an " +
			"fs::File can set mode and owner"}
}

// backupAttribute is the attribute backup, for the things that a change may remove.
func backupAttribute(changes string) schema.Attribute {
	return schema.Attribute{Name: "backup",
		Type: `Optional[Variant[Boolean,Pattern[/\A[^\/]+\z/]]]`, Behaviour: schema.Parameter,
		Description: "keep the old file that a change " + changes +
			`, beside it, under its name with this suffix, and a number if such a file exists: ` +
			`"motd.bak", "motd.bak.1"; true means "` + defaultSuffix + `"`}
}
