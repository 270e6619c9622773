package puppet

import (
	"strings"
)

// group translates a construct that begins with a parenthesis.
func (t *translator) group() {
	rest := t.rest(0)
	if !strings.HasPrefix(rest, "(?") {
		t.open("(", 1, false)
		return
	}
	for prefix, what := range map[string]string{
		"(?=": "a look ahead", "(?!": "a look ahead", "(?<=": "a look behind",
		"(?<!": "a look behind",
		"(?>":  "an atomic group", "(?~": "an absence operator", "(?(": "a condition",
		"(?P": "a group that Ruby does not know",
	} {
		if strings.HasPrefix(rest, prefix) {
			t.refuse("it has %s %s…), which cannot be run fast on every text", what, prefix)
			return
		}
	}
	switch {
	case strings.HasPrefix(rest, "(?#"):
		end := strings.IndexByte(rest, ')')
		if end < 0 {
			t.refuse("a comment has no end")
			return
		}
		t.i += end + 1
	case strings.HasPrefix(rest, "(?'"), strings.HasPrefix(rest, "(?<"):
		end := map[byte]string{'\'': "'", '<': ">"}[rest[2]]
		name, _, ok := strings.Cut(rest[3:], end)
		if !ok {
			t.refuse("the name of a group has no end")
			return
		}
		t.open("(?<"+name+">", len(name)+4, true)
	default:
		t.options(rest)
	}
}

// options translates (?mix-mix: and (?mix-mix). The latter applies up to the end of the enclosing
// group.
func (t *translator) options(rest string) {
	end := strings.IndexAny(rest, ":)")
	if end < 0 {
		t.refuse("a group has no end")
		return
	}
	flags := rest[2:end]
	if at := strings.IndexFunc(flags,
		func(r rune) bool { return !strings.ContainsRune("mix-", r) }); at >= 0 {
		t.refuse("it has the option %q, which cannot be run", flags[at:at+1])
		return
	}
	on, off, _ := strings.Cut(flags, "-")
	extended := (t.extended || strings.Contains(on, "x")) && !strings.Contains(off, "x")
	spelled := strings.NewReplacer("m", "s", "x", "", "-", "")
	text := "(?" + spelled.Replace(on)
	if off = spelled.Replace(off); off != "" {
		text += "-" + off
	}
	if rest[end] == ':' {
		t.open(text+":", end+1, false)
	} else {
		t.write(text + ":")
		t.extra++
		t.i += end + 1
		t.atom = -1
	}
	t.extended = extended
}

// close translates the end of a group.
func (t *translator) close() {
	last := len(t.groups) - 1
	if last < 0 {
		t.refuse("a ) has no (")
		return
	}
	g := t.groups[last]
	t.groups = t.groups[:last]
	t.write(strings.Repeat(")", t.extra) + ")")
	t.extra, t.extended, t.atom, t.repeated = g.extra, g.extended, g.start, false
	t.i++
}

// open begins a group with a text and skips n bytes.
func (t *translator) open(text string, n int, named bool) {
	t.groups = append(t.groups, openGroup{len(t.out), t.extra, t.extended, named})
	t.write(text)
	t.i += n
	t.extra, t.atom = 0, -1
}
