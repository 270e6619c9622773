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

// noSection stands for what is before the first section, as a name cannot be empty.
const noSection = "-"

// IniSetting declares fs::IniSetting: one setting in a file of sections, whose other lines belong
// to others.
func IniSetting() provider.Definition {
	const word = `Pattern[/\A[^\s=\[\]#;]([^\r\n=\[\]]*[^\s=\[\]])?\z/]`
	return provider.Definition{
		Type: schema.Type{
			Name: "fs::IniSetting",
			Description: "A setting in an INI file: a line such as port = 8080 below [server]. " +
				"All other bytes stay as they are, and so does how the line is written where " +
				"only its value changes. What is missing is put at the end of its section, and a " +
				"missing section at the end of the file. Purged, the line goes; its section stays. " +
				"A file whose content an fs::File describes without replace: false is refused.",
			Attributes: []schema.Attribute{
				pathAttribute(),
				{Name: "section", Type: `Pattern[/\A[^\s\[\]]([^\r\n\[\]]*[^\s\[\]])?\z/]`,
					Default: noSection, Behaviour: schema.Namevar,
					Description: `the name of the section; "-": before the first section`},
				{Name: "setting", Type: word, Behaviour: schema.Namevar,
					Description: "the name of the setting"},
				{Name: "value", Type: `Pattern[/\A(\S([^\r\n]*\S)?)?\z/]`,
					Description: "its value, as it is to stand there, with quotation marks where " +
						"the program wants such"},
				{Name: "separator", Type: `Pattern[/\A[ \t]*[=:]?[ \t]*\z/]`, Default: " = ",
					Behaviour: schema.Parameter,
					Description: "what stands between name and value of a line that is put in; = " +
						"or : in it tells them apart, else blanks"},
				{Name: "create", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "makes the file when it is missing; its mode and owner are for " +
						"fs::File to say, else it gets 0644, or 0600 for a secret"},
				backupAttribute("replaces"),
				validateAttribute(),
			},
			Features:  []string{"batch", "noop"},
			Machine:   true,
			Validate:  validIni,
			Relations: lineRelations(),
			Within:    whatIsAt,
			Space:     atPath,
		},
		Handler: newIni(textfile.Editor{}),
	}
}

func validIni(attrs map[string]any) []diag.Problem {
	out := slices.Concat(validPath(false)(attrs), validBackup(attrs), validCheck(attrs))
	if s, ok := attrs["separator"].(string); ok && s == "" {
		out = append(out,
			diag.Problem{Attribute: "separator",
				Message: "nothing would stand between name and value",
				Hint:    `leave it out for " = "`})
	}
	return out
}

// ini is the handler of fs::IniSetting.
type ini struct{ textfile.Texts }

func newIni(e textfile.Editor) ini {
	return ini{textfile.Texts{Store: e, Place: pathOf, Observe: observeSetting,
		Change: changeSetting, Manner: mannerOf}}
}

// Diff implements provider.Differ.
func (ini) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	return differences(desired, observed, "value"), nil
}

// setting is one that is wanted.
type setting struct {
	section, name, value, separator string
	purged                          bool
}

func settingOf(r provider.Resource) (setting, error) {
	s := setting{text(r, "section"), text(r, "setting"), text(r, "value"), text(r, "separator"),
		r.Purged}
	if s.section == noSection {
		s.section = ""
	}
	if strings.ContainsAny(s.section+s.name+s.value, "\r\n") || s.name == "" ||
		strings.TrimSpace(s.value) != s.value {
		// what a reference stood for
		return s, provider.Errorf(provider.NeedsChange,
			"name and value of a setting are one line, without blanks around")
	}
	return s, nil
}

// cut takes a line apart: before is all up to its value.
func (s setting) cut(line string) (name, before, value string, ok bool) {
	trimmed := strings.TrimLeft(line, " \t")
	if trimmed == "" || strings.ContainsAny(trimmed[:1], "#;[") {
		return "", "", "", false
	}
	var at int
	n := 1
	if mark := strings.TrimSpace(s.separator); mark != "" {
		at = strings.Index(line, mark)
	} else if at = strings.IndexAny(trimmed, " \t"); at >= 0 {
		at += len(line) - len(trimmed)
	}
	if at < 0 { // a name without a value
		return strings.TrimSpace(line), line, "", true
	}
	rest := line[at+n:]
	value = strings.TrimLeft(rest, " \t")
	return strings.TrimSpace(line[:at]), line[:at+n] + rest[:len(rest)-len(value)],
		strings.TrimRight(value, " \t"), true
}

// sectionOf returns the name of the section that begins at a line.
func sectionOf(line string) (string, bool) {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "[") {
		return "", false
	}
	name, _, ok := strings.Cut(line[1:], "]")
	return strings.TrimSpace(name), ok
}

// find returns the lines that have the setting, and where one is put in; end < 0: there is no such
// section.
func (s setting) find(ls *textfile.Lines) (lines []int, end int) {
	in := ""
	if end = -1; s.section == "" {
		end = 0
	}
	for i := range ls.Len() {
		line := ls.At(i)
		if name, begins := sectionOf(line); begins {
			if in = name; in == s.section {
				end = i + 1
			}
			continue
		}
		if in != s.section {
			continue
		}
		if strings.TrimSpace(line) != "" {
			end = i + 1
		}
		if name, _, _, ok := s.cut(line); ok && name == s.name {
			lines = append(lines, i)
		}
	}
	return lines, end
}

// single refuses what is there more than once, as programs differ in which of them counts.
func (s setting) single(lines []int) error {
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

func observeSetting(r provider.Resource, t textfile.Text) (provider.Observation, error) {
	s, err := settingOf(r)
	if err != nil || !t.Exists {
		return provider.Observation{}, err
	}
	if strings.IndexByte(t.Bytes, 0) >= 0 {
		return provider.Observation{}, noText()
	}
	ls := textfile.LinesOf(t.Bytes)
	lines, _ := s.find(ls)
	if err := s.single(lines); err != nil || len(lines) == 0 {
		return provider.Observation{}, err
	}
	_, _, value, _ := s.cut(ls.At(lines[0]))
	return provider.Observation{Exists: true,
		Attributes: map[string]any{"value": strings.ToValidUTF8(value, "?")}}, nil
}

// changeSetting returns a text after one change.
func changeSetting(item provider.BatchChange, t textfile.Text) (textfile.Text, error) {
	s, err := settingOf(item.Resource)
	if err != nil {
		return t, err
	}
	if strings.IndexByte(t.Bytes, 0) >= 0 {
		return t, noText()
	}
	ls := textfile.LinesOf(t.Bytes)
	lines, end := s.find(ls)
	if item.Change == diff.Purged {
		for _, i := range slices.Backward(lines) {
			ls.Replace(i, i+1)
		}
		t.Bytes = ls.Text()
		return t, nil
	}
	if !t.Exists && !yes(item.Resource, "create") {
		return t, provider.Errorf(provider.Retryable,
			"there is no file %s; %w", text(item.Resource, "path"), textfile.ErrNoFile)
	}
	if err := s.single(lines); err != nil {
		return t, err
	}
	line := strings.TrimRight(s.name+s.separator+s.value, " \t")
	switch {
	case len(lines) == 1:
		now := ls.At(lines[0])
		_, before, have, _ := s.cut(now)
		switch {
		case have == s.value:
			return t, nil
		case have != "": // how it is written stays
			line = strings.TrimRight(before+s.value, " \t")
		default:
			line = now[:len(now)-len(strings.TrimLeft(now, " \t"))] + line
		}
		ls.Replace(lines[0], lines[0]+1, line)
	case end >= 0:
		ls.Replace(end, end, line)
	default:
		added := []string{"[" + s.section + "]", line}
		if n := ls.Len(); n > 0 && strings.TrimSpace(ls.At(n-1)) != "" {
			added = append([]string{""}, added...)
		}
		ls.Replace(ls.Len(), ls.Len(), added...)
	}
	return textfile.Text{Exists: true, Bytes: ls.Text()}, nil
}
