package fs

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"southbound/handlers/internal/textfile"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/provider/providertest"
)

// memory is a store of one text.
type memory struct{ text string }

func (m *memory) Read(*provider.Context, string) (textfile.Text, error) {
	return textfile.Text{Exists: true, Bytes: m.text}, nil
}

func (m *memory) Edit(_ *provider.Context, _ string, _ textfile.Manner,
	change func(textfile.Text) (textfile.Text, error)) error {
	after, err := change(textfile.Text{Exists: true, Bytes: m.text})
	if err == nil {
		m.text = after.Bytes
	}
	return err
}

// iniItem is a part of a generated file: a setting with its lines, a header, a comment or a blank.
type iniItem struct{ section, name, value, text string }

// iniFile is a generated file and the dialect that it is written in.
type iniFile struct {
	dialect, mark, end string
	items              []iniItem
}

// text returns the file, without one item if it is not negative.
func (f *iniFile) text(without int) string {
	var b strings.Builder
	for i, it := range f.items {
		if i != without {
			b.WriteString(it.text)
		}
	}
	return strings.ReplaceAll(b.String(), "\n", f.end)
}

// values returns what the program reads, by a reader of its own.
func (f *iniFile) values(text string) map[string]string {
	out := map[string]string{}
	section, key, continued := "", "", false
	text = strings.TrimPrefix(strings.ReplaceAll(text, f.end, "\n"), "\ufeff")
	for _, line := range strings.Split(text, "\n") {
		plain := strings.TrimSpace(line)
		switch {
		case plain == "":
			continued = continued && f.dialect != "systemd"
		case strings.HasPrefix(plain, "#") || strings.HasPrefix(plain, ";"):
		case f.dialect == "systemd" && continued:
			out[key] = strings.TrimSuffix(out[key], `\`) + plain
			continued = strings.HasSuffix(line, `\`)
		case f.dialect == "indented" && line[0] == ' ' && continued:
			out[key] += "\n" + plain
		case plain[0] == '[':
			section, continued = strings.Trim(plain, "[]"), false
		default:
			name, value, _ := strings.Cut(line, f.mark)
			key = section + "/" + strings.TrimSpace(name)
			value = strings.TrimSpace(value)
			if f.dialect != "systemd" {
				value, _, _ = strings.Cut(value, " # ")
			}
			out[key] = strings.TrimSpace(value)
			continued = f.dialect == "indented" || strings.HasSuffix(line, `\`)
		}
	}
	return out
}

// someIni returns a file such as pip, fail2ban, systemd or PHP have.
func someIni(rng *rand.Rand) *iniFile {
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	f := &iniFile{dialect: pick("indented", "systemd", "plain"), mark: "=",
		end: pick("\n", "\n", "\r\n", "\r")}
	if f.dialect != "systemd" && rng.IntN(4) == 0 {
		f.mark = ":"
	}
	add := func(it iniItem) { f.items = append(f.items, it) }
	if rng.IntN(8) == 0 {
		add(iniItem{text: "\ufeff"})
	}
	add(iniItem{text: "# made by hand\n"})
	for s := range 1 + rng.IntN(4) {
		section := fmt.Sprint("part ", s)
		add(iniItem{text: "[" + section + "]\n"})
		for n := range rng.IntN(5) {
			name := pick("Exec-Start", "log level", "url.base", "paths", "x_") + fmt.Sprint(n)
			first := pick("/usr/bin/app", "a=b:c", `"quoted # text"`, "1", "%(mta)s-whois[name=x]")
			text, value := name+pick("", " ")+f.mark+pick("", " ", "  ")+first, first
			if f.dialect != "systemd" && rng.IntN(4) == 0 {
				text += "  # why"
			}
			for rng.IntN(3) == 0 && f.dialect != "plain" {
				part := pick("--config=/etc/app", "item,", "k = v", "[list]")
				switch {
				case f.dialect == "systemd":
					text, value = text+" \\\n"+pick("", "    ")+part, value+"\\"+part
				case rng.IntN(4) == 0:
					text += "\n# inside"
					fallthrough
				default:
					text, value = text+"\n    "+part, value+"\n"+part
				}
			}
			add(iniItem{section, name, value, text + "\n"})
			if rng.IntN(3) == 0 {
				add(iniItem{text: pick("\n", "; note\n", "#off = 1\n")})
			}
		}
	}
	if rng.IntN(3) == 0 {
		last := &f.items[len(f.items)-1]
		last.text = strings.TrimSuffix(last.text, "\n")
	}
	return f
}

// TestIniFiles sets and removes settings of generated files, and reads the files with a reader of
// its own: the setting is as described, all others are as they were, what is not addressed keeps
// its bytes, and a second apply changes nothing.
func TestIniFiles(t *testing.T) {
	done := map[diff.Change]int{}
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		f := someIni(rng)
		store := &memory{f.text(-1)}
		h := newIni(textfile.Editor{})
		h.Store = store
		at := rng.IntN(len(f.items))
		it := f.items[at]
		if it.name == "" {
			at, it = -1, iniItem{section: "part 0", name: "added"}
		}
		value := []string{"new", "", "b # c", `C:\dir`, "[x]", "a = b"}[rng.IntN(6)]
		if f.dialect != "systemd" && strings.Contains(value, "#") {
			value = "x;y"
		}
		r := provider.Resource{ID: "x", Purged: rng.IntN(3) == 0, Attributes: map[string]any{
			"path": "/f", "section": it.section, "setting": it.name, "value": value,
			"separator": f.mark, "dialect": f.dialect}}
		fail := func(why string, v any) {
			t.Helper()
			t.Fatalf("seed %d, %s: %s: %v\n%s%v\nbefore %q\nafter  %q", seed, f.dialect, why, v,
				it.name, r, f.text(-1), store.text)
		}
		change, err := applySetting(t.Context(), h, r)
		if err != nil {
			fail("apply", err)
		}
		done[change]++
		want, got := f.values(f.text(-1)), f.values(store.text)
		key := it.section + "/" + it.name
		if now, ok := got[key]; ok == r.Purged || ok && now != value {
			fail("the setting is", now)
		}
		delete(want, key)
		delete(got, key)
		if fmt.Sprint(want) != fmt.Sprint(got) {
			fail("other settings are", got)
		}
		if rest := f.text(at); !isWithin(strings.Split(rest, f.end), store.text, f.end) {
			fail("other lines are lost of", rest)
		}
		if comments := strings.Count(f.text(-1), "# why"); !r.Purged && value != "" &&
			strings.Count(store.text, "# why") != comments {
			fail("comments behind values were", comments)
		}
		if change, err := applySetting(t.Context(), h, r); err != nil || change != diff.NoChange {
			fail("second apply", fmt.Sprint(change, err))
		}
	}
	if done[diff.Created] < 100 || done[diff.Updated] < 100 || done[diff.Purged] < 100 {
		t.Fatal("the generator makes too few of some changes: ", done)
	}
}

// isWithin reports whether all lines stand in a text, in their order.
func isWithin(lines []string, text, end string) bool {
	for _, line := range strings.Split(text, end) {
		if len(lines) > 0 && lines[0] == line {
			lines = lines[1:]
		}
	}
	return len(lines) == 0 || len(lines) == 1 && lines[0] == ""
}

// applySetting does what the engine does for one resource.
func applySetting(ctx context.Context, h ini, r provider.Resource) (diff.Change, error) {
	c := providertest.NewHost(nil).Context(ctx, provider.Options{ID: r.ID, Desired: r})
	obs, err := h.Read(c, provider.ReadRequest{Resource: r})
	switch {
	case err != nil || r.Purged && !obs.Exists || !r.Purged && obs.Exists && !settingDiffers(r, obs):
		return diff.NoChange, err
	case r.Purged:
		_, err = h.Delete(c, provider.DeleteRequest{Resource: r, Observed: obs})
		return diff.Purged, err
	case obs.Exists:
		_, err = h.Update(c, provider.UpdateRequest{Resource: r, Observed: obs})
		return diff.Updated, err
	}
	_, err = h.Create(c, provider.CreateRequest{Resource: r})
	return diff.Created, err
}
