package fs

import (
	"fmt"
	"slices"
	"strings"

	"southbound/handlers/internal/textfile"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/schema"
)

// noSection stands for the lines before the first section, as a name cannot be empty.
const noSection = "-"

// IniSetting declares fs::IniSetting: one setting in a file of sections. The resource does not
// manage the file's other lines.
func IniSetting() provider.Definition {
	const word = `Pattern[/\A[^\s=\[\]#;]([^\r\n=\[\]]*[^\s=\[\]])?\z/]`
	return provider.Definition{
		Type: schema.Type{
			Name: "fs::IniSetting",
			Description: "A setting in an INI file: a line such as port = 8080 below [server]. All other bytes " +
				"stay, and so do the spacing and the comment of a line whose value changes. " +
				"Continuation lines belong to the value. A missing setting is added at the end of its " +
				"section, a missing section at the end of the file. A purge removes the line; its " +
				"section stays. A file whose content an fs::File describes without replace: false is " +
				"refused.",
			Attributes: []schema.Attribute{
				pathAttribute(),
				{Name: "section", Type: `Pattern[/\A[^\s\[\]]([^\r\n\[\]]*[^\s\[\]])?\z/]`,
					Default: noSection, Behaviour: schema.Namevar,
					Description: `the name of the section; "-": before the first section`},
				{Name: "setting", Type: word, Behaviour: schema.Namevar,
					Description: "the name of the setting"},
				{Name: "value", Type: `Pattern[/\A(\S([^\r\n]*\S)?)?\z/]`,
					Description: "its value as written in the file, with quotation marks if the program needs " +
						"them"},
				{Name: "separator", Type: `Pattern[/\A[ \t]*[=:]?[ \t]*\z/]`, Default: " = ",
					Behaviour: schema.Parameter,
					Description: "the text between name and value of a new line; it contains = or :, or only " +
						"blanks"},
				{Name: "dialect", Type: "Enum[auto,indented,systemd,plain]", Default: "auto",
					Behaviour: schema.Parameter, Description: dialects},
				createAttribute(),
				backupAttribute("replaces"),
				validateAttribute(),
			},
			Features:  []string{"batch", "noop"},
			Machine:   true,
			Validate:  validIni,
			Relations: lineRelations(),
			Thing:     settingThing,
			Keeps:     keepsFile,
			Within:    pathName,
			Space:     atPath,
		},
		Handler: newIni(textfile.Editor{}),
	}
}

// settingThing names a setting by its file, its section and its name.
func settingThing(attrs map[string]any) schema.Thing {
	path := schema.CleanPath(attrs["path"])
	section, hasSection := attrs["section"].(string)
	name, hasName := attrs["setting"].(string)
	if path == "" || !hasSection || !hasName {
		return schema.Thing{}
	}
	return schema.NewThing(fmt.Sprintf("the setting %s of [%s] in %s", name, section, path))
}

func validIni(attrs map[string]any) []diag.Problem {
	out := slices.Concat(validPath(false)(attrs), validBackup(attrs), validCheck(attrs))
	separator, _ := attrs["separator"].(string)
	if name, ok := attrs["setting"].(string); ok && separator != "" && separates(separator, name) {
		out = append(out,
			diag.Problem{Attribute: "setting",
				Message: fmt.Sprintf("the name %q has the separator %q in it, so it would not be "+
					"found again", name, separator),
				Hint: "choose another separator, or another name"})
	}
	if s, ok := attrs["separator"].(string); ok && s == "" {
		out = append(out,
			diag.Problem{Attribute: "separator",
				Message: "nothing would stand between name and value",
				Hint:    `leave it out for " = "`})
	}
	return out
}

// separates reports whether the separator of a setting occurs within its name.
func separates(separator, name string) bool {
	if mark := strings.TrimSpace(separator); mark != "" {
		return strings.Contains(name, mark)
	}
	return strings.ContainsAny(name, " \t")
}

// ini is the handler of fs::IniSetting.
type ini struct{ textfile.Texts }

func newIni(e textfile.Editor) ini {
	return ini{textfile.Texts{Store: e, Place: pathOf, Observe: observeSetting,
		Differs: settingDiffers, Change: changeSetting, Manner: mannerOf}}
}

// Diff implements provider.Differ.
func (ini) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	return differences(desired, observed, "value"), nil
}

func settingDiffers(want provider.Resource, seen provider.Observation) bool {
	return len(differences(want, seen, "value")) > 0
}

// setting is a desired setting.
type setting struct {
	path, section, name, value, separator string
	syntax                                iniSyntax
	purged                                bool
}

func settingOf(r provider.Resource) (setting, error) {
	s := setting{path: text(r, "path"), section: text(r, "section"), name: text(r, "setting"),
		value: text(r, "value"), separator: text(r, "separator"), purged: r.Purged}
	s.syntax = syntaxOf(text(r, "dialect"), s.path, strings.TrimSpace(s.separator))
	if s.section == noSection {
		s.section = ""
	}
	if strings.ContainsAny(s.section+s.name+s.value, "\r\n") || s.name == "" ||
		strings.TrimSpace(s.value) != s.value {
		// the value of a reference
		return s, provider.Errorf(provider.NeedsChange,
			"name and value of a setting are one line, without blanks around")
	}
	if separates(s.separator, s.name) {
		return s, provider.Errorf(provider.NeedsChange,
			"setting: the name %q has the separator %q in it, so it would not be found again; "+
				"choose another separator", s.name, s.separator)
	}
	return s, nil
}

// find returns the entries of the setting, and the line at which to insert one; end < 0: the
// section does not exist.
func (s setting) find(ls *textfile.Lines) (found []iniEntry, end int) {
	if end = -1; s.section == "" {
		end = 0
	}
	in := ""
	for _, e := range s.syntax.entries(ls) {
		if e.kind == header {
			in = e.name
		}
		if in != s.section {
			continue
		}
		if e.kind != blank {
			end = max(end, e.last()+1)
		}
		if e.kind == assignment && e.name == s.name {
			found = append(found, e)
		}
	}
	return found, end
}

// clear rejects text that programs read in different ways: a setting that occurs more than once,
// and lines that may belong to either of two settings.
func (s setting) clear(found []iniEntry) error {
	var lines, open []int
	for _, e := range found {
		lines = append(lines, e.at)
		open = append(open, e.open...)
	}
	if len(open) > 0 {
		return provider.Errorf(provider.NeedsChange,
			"%s: %s may or may not belong to the value of the setting before; set dialect to "+
				"indented, systemd or plain, as the program reads the file", s.path,
			textfile.Places(open))
	}
	if len(lines) < 2 || s.purged {
		return nil
	}
	where := "before the first section"
	if s.section != "" {
		where = fmt.Sprintf("in [%s]", s.section)
	}
	return provider.Errorf(provider.NeedsChange,
		"%s is there more than once %s (%s); remove all but one", s.name, where,
		textfile.Places(lines))
}

func observeSetting(r provider.Resource, p *textfile.Page) (provider.Observation, error) {
	s, err := settingOf(r)
	if err != nil || !p.Exists {
		return provider.Observation{}, err
	}
	if p.Binary() {
		return provider.Observation{}, noText()
	}
	found, _ := s.find(p.Lines)
	if err := s.clear(found); err != nil || len(found) == 0 {
		return provider.Observation{}, err
	}
	value := found[0].shown()
	if found[0].hasValue(s.value) {
		value = s.value
	}
	return provider.Observation{Exists: true,
		Attributes: map[string]any{"value": strings.ToValidUTF8(value, "?")}}, nil
}

// changeSetting makes one change.
func changeSetting(item provider.BatchChange, p *textfile.Page) error {
	s, err := settingOf(item.Resource)
	if err != nil {
		return err
	}
	if p.Binary() {
		return noText()
	}
	found, end := s.find(p.Lines)
	if err := s.clear(found); err != nil {
		return err
	}
	if item.Change == diff.Purged {
		for _, e := range slices.Backward(found) {
			e.drop(p.Lines)
			p.Replace(e.at, e.at+1)
		}
		return nil
	}
	if !p.Exists && !yes(item.Resource, "create") {
		return provider.Errorf(provider.Retryable, "there is no file %s; %w", s.path,
			textfile.ErrNoFile)
	}
	p.Exists = true
	line := strings.TrimRight(s.name+s.separator+s.value, " \t")
	switch {
	case len(found) == 1:
		if !found[0].hasValue(s.value) {
			found[0].set(p.Lines, s.value, line)
		}
	case end >= 0:
		p.Replace(end, end, line)
	default:
		added := []string{"[" + s.section + "]", line}
		if n := p.Len(); n > 0 && strings.TrimSpace(p.At(n-1)) != "" {
			added = append([]string{""}, added...)
		}
		p.Replace(p.Len(), p.Len(), added...)
	}
	return nil
}
