package fs

import (
	"path/filepath"
	"slices"
	"strings"

	"southbound/handlers/internal/textfile"
)

// dialects is the description of the attribute dialect.
const dialects = "how the program reads the file. indented: a line that is indented more than its " +
	"setting continues the value, as Python's configparser reads it (pip, fail2ban, Ansible). " +
	"systemd: a line that ends in \\ is continued by the next, and # and ; in a value are part of " +
	"it. plain: a setting is one line. auto: systemd for a unit, which its name or its directory " +
	"shows; for other files both kinds of lines belong to the value, and a file in which that is " +
	"open for the setting is refused with the lines named. Except with systemd, a comment behind " +
	"a value, from # or ; between blanks on, stays when the value changes"

// iniSyntax defines how the lines of a file are parsed.
type iniSyntax struct {
	mark               string // the separator between name and value; "": blanks
	indented, slashed  bool   // the ways to continue a value
	comments, doubtful bool   // doubtful: some lines may or may not belong to a setting
}

// syntaxOf returns the syntax of a file. If blanks separate name and value, as in ssh_config,
// indented lines do not continue a value.
func syntaxOf(dialect, path, mark string) iniSyntax {
	switch {
	case dialect == "systemd" || (dialect == "auto" || dialect == "") && isUnit(path):
		return iniSyntax{mark: mark, slashed: true}
	case dialect == "indented":
		return iniSyntax{mark: mark, indented: true, comments: true}
	case dialect == "plain":
		return iniSyntax{mark: mark, comments: true}
	}
	return iniSyntax{mark: mark, indented: mark != "", slashed: true, comments: true, doubtful: true}
}

// isUnit reports whether a path is that of a systemd unit, or of a drop-in.
func isUnit(path string) bool {
	return slices.Contains(strings.Split(filepath.Dir(path), "/"), "systemd") ||
		slices.Contains(strings.Fields(".service .socket .timer .mount .automount .swap .target "+
			".path .slice .scope .network .netdev .link .nspawn .container"), filepath.Ext(path))
}

// kind is the kind of a line.
type kind int

const (
	blank kind = iota
	remark
	header
	assignment
)

// iniEntry is a line together with the lines that continue it.
type iniEntry struct {
	kind    kind
	at      int
	line    string
	indent  int
	name    string // of a section or a setting
	before  string // the text before the value
	value   string // without the comment after it; the parts of several lines are joined
	whole   string // the value with the comment
	comment string // after the value on its first line, with the blanks before it
	bare    bool   // only a name, without separator
	empty   bool   // the first line has no value
	more    []int  // lines that continue it
	open    []int  // lines that may or may not continue it
}

// last returns the last line of an entry.
func (e *iniEntry) last() int {
	if n := len(e.more); n > 0 {
		return e.more[n-1]
	}
	return e.at
}

// hasValue reports whether the entry already has a value, in any form. A value may contain text that
// looks like a comment.
func (e *iniEntry) hasValue(value string) bool { return value == e.value || value == e.whole }

// drop removes the lines that continue an entry, and keeps comments between them.
func (e *iniEntry) drop(ls *textfile.Lines) {
	for _, i := range slices.Backward(e.more) {
		ls.Replace(i, i+1)
	}
}

// set changes the value of an entry; line is the whole line if there was no value.
func (e *iniEntry) set(ls *textfile.Lines, value, line string) {
	now := ls.At(e.at)
	indent := now[:len(now)-len(strings.TrimLeft(now, " \t"))]
	e.drop(ls)
	switch {
	case e.empty:
		line = indent + line
	case value == "":
		line = strings.TrimRight(e.before, " \t")
	default:
		line = e.before + value
		if _, own := withoutComment(value); own == "" {
			line += e.comment
		}
	}
	ls.Replace(e.at, e.at+1, line)
}

// entries parses the lines of a file, once for all settings in it.
func (x iniSyntax) entries(ls *textfile.Lines) []iniEntry {
	out, _ := ls.Memo(x, func(old any) any {
		space, _ := old.([]iniEntry)
		return x.parse(ls, slices.Grow(space[:0], ls.Len()))
	}).([]iniEntry)
	return out
}

func (x iniSyntax) parse(ls *textfile.Lines, out []iniEntry) []iniEntry {
	setting := -1 // the entry that a line may continue
	for i := range ls.Len() {
		e := x.entry(i, ls.At(i))
		inner := false // it may continue the setting above, and so may the lines after it
		if setting >= 0 && e.kind != blank && e.kind != remark {
			switch above := &out[setting]; x.continues(ls, above, e) {
			case yesItDoes:
				above.extend(e, x)
				continue
			case maybe:
				above.open = append(above.open, i)
				e.open = append(e.open, i)
				inner = e.indent > above.indent
			}
		}
		switch {
		case e.kind == assignment && !inner:
			setting = len(out)
		case e.kind == header:
			setting = -1
		}
		out = append(out, e)
	}
	return out
}

// entry parses a single line.
func (x iniSyntax) entry(i int, line string) iniEntry {
	e := iniEntry{kind: assignment, at: i, line: line,
		indent: len(line) - len(strings.TrimLeft(line, " \t"))}
	trimmed := strings.TrimSpace(line)
	switch {
	case trimmed == "":
		e.kind = blank
		return e
	case trimmed[0] == '#' || trimmed[0] == ';':
		e.kind = remark
		return e
	case trimmed[0] == '[':
		if name, _, ok := strings.Cut(trimmed[1:], "]"); ok {
			e.kind, e.name = header, strings.TrimSpace(name)
			return e
		}
	}
	e.name, e.before, e.whole, e.bare = x.cut(line)
	e.empty, e.value = e.whole == "", e.whole
	if x.comments {
		e.value, e.comment = withoutComment(e.whole)
	}
	return e
}

// cut splits a setting: before is the text before its value.
func (x iniSyntax) cut(line string) (name, before, value string, bare bool) {
	indent := len(line) - len(strings.TrimLeft(line, " \t"))
	at, n := strings.Index(line, x.mark), len(x.mark)
	if x.mark == "" {
		n = 1
		if at = strings.IndexAny(line[indent:], " \t"); at >= 0 {
			at += indent
		}
	}
	if at < 0 { // a name without a value
		return strings.TrimSpace(line), line, "", true
	}
	value = strings.TrimLeft(line[at+n:], " \t")
	return strings.TrimSpace(line[:at]), line[:len(line)-len(value)],
		strings.TrimRight(value, " \t"), false
}

// withoutComment splits a value from the comment after it: # or ; between blanks, or before a
// letter, outside of quotation marks.
func withoutComment(whole string) (value, comment string) {
	for i := 0; i < len(whole); i++ {
		c := whole[i]
		after := i > 0 && strings.IndexByte(" \t", whole[i-1]) >= 0
		switch {
		case (c == '"' || c == '\'') && (i == 0 || strings.IndexByte(" \t=,(", whole[i-1]) >= 0):
			if end := strings.IndexByte(whole[i+1:], c); end >= 0 {
				i += end + 1
			}
		case (c == '#' || c == ';') && after && beginsComment(whole[i+1:]):
			value = strings.TrimRight(whole[:i], " \t")
			return value, whole[len(value):]
		}
	}
	return whole, ""
}

func beginsComment(rest string) bool {
	return rest == "" || strings.IndexByte(" \t#;", rest[0]) >= 0 ||
		'a' <= rest[0]|0x20 && rest[0]|0x20 <= 'z'
}

// answer is whether a line continues a value.
type answer int

const (
	no answer = iota
	maybe
	yesItDoes
)

// continues reports whether a line continues the setting above it.
func (x iniSyntax) continues(ls *textfile.Lines, above *iniEntry, e iniEntry) answer {
	deeper := e.indent > above.indent
	if last := ls.At(above.last()); x.slashed && slashed(last) &&
		above.last() == x.lineBefore(ls, e.at) {
		if !x.doubtful || deeper || strings.HasSuffix(strings.TrimRight(last, `\`), " ") {
			return yesItDoes
		}
		return maybe
	}
	switch {
	case !x.indented || !deeper:
		return no
	case !x.doubtful || above.empty && !above.bare || len(above.more) > 0 && e.kind != header:
		return yesItDoes
	case e.kind == header:
		return no
	case !e.looksLikeSetting():
		return yesItDoes
	}
	return maybe
}

// lineBefore returns the last line before another that is no comment, as comments between the lines
// of a value are skipped.
func (x iniSyntax) lineBefore(ls *textfile.Lines, i int) int {
	for i--; i > 0 && x.entry(i, ls.At(i)).kind == remark; i-- { //nolint:revive // it only counts
	}
	return i
}

// looksLikeSetting reports whether an indented line may be a setting of its own: it has a plain
// name followed by the separator.
func (e *iniEntry) looksLikeSetting() bool {
	return !e.bare && strings.Trim(strings.ToLower(e.name), "abcdefghijklmnopqrstuvwxyz0123456789_.- ") == ""
}

// extend adds a line that continues an entry.
func (e *iniEntry) extend(part iniEntry, x iniSyntax) {
	text := strings.TrimSpace(part.line)
	e.more = append(e.more, part.at)
	for _, value := range []*string{&e.value, &e.whole} {
		glue := "\n"
		if before, cut := strings.CutSuffix(*value, `\`); x.slashed && cut {
			*value, glue = strings.TrimRight(before, " \t"), " "
		}
		*value += glue + text
	}
}

// shown returns the value in one line.
func (e *iniEntry) shown() string {
	return strings.TrimSpace(strings.ReplaceAll(e.value, "\n", " ↵ "))
}

// slashed reports whether a line ends with an unescaped backslash.
func slashed(line string) bool { return (len(line)-len(strings.TrimRight(line, `\`)))%2 == 1 }
