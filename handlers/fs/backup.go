package fs

import (
	"fmt"

	"southbound/handlers/internal/disk"

	"southbound/shared/diag"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

const (
	defaultSuffix = ".bak" // what backup: true means
)

// suffixOf returns the suffix of the name under which the old bytes are kept, "" for not at all.
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

func validBackup(attrs map[string]any) []diag.Problem {
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

// backupAttribute is backup, of what a change may take away.
func backupAttribute(changes string) schema.Attribute {
	return schema.Attribute{Name: "backup",
		Type: `Optional[Variant[Boolean,Pattern[/\A[^\/]+\z/]]]`, Behaviour: schema.Parameter,
		Description: "keeps what a change " + changes +
			` beside it, under its name with this suffix, and a number when there is such a file already: ` +
			`"motd.bak", "motd.bak.1"; true means "` + defaultSuffix + `"`}
}
