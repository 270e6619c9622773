package names

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/syntax"
	"southbound/shared/lang/types"
)

// Edit replaces a name in a text.
type Edit struct {
	From, To int
	With     string
}

// Renameable returns why a symbol cannot be renamed; "" if it can be. ours reports whether a text
// may be edited.
func (p *Project) Renameable(x *Symbol, ours func(*File) bool) string {
	switch {
	case x.Kind == Namespace:
		return "a module has the name of its folder or file: rename that, and the imports"
	case x.Kind == Primitive:
		return x.Name + " is a type of the language"
	case x.Kind == Plugin:
		return "the plugin " + x.FullName() + " is not defined in a model"
	case x.Kind == Variable && x.Name == "self":
		return "self is a word of the language"
	}
	for a := range x.Same() {
		if a.File == nil || a.File.BuiltIn || !ours(a.File) {
			return a.FullName() + " is defined outside the project"
		}
	}
	return ""
}

// renaming compares a project with itself after a renaming.
type renaming struct{ *Project }

// Rename returns the edits by text that rename a symbol. It returns an error if the edits would
// change the meaning of any name. It edits only texts that ours accepts.
func (p *Project) Rename(x *Symbol, name string, ours func(*File) bool) (map[*File][]Edit, error) {
	if why := p.Renameable(x, ours); why != "" {
		return nil, fmt.Errorf("%s", why)
	}
	if err := fits(x, name); err != nil {
		return nil, err
	}
	if name == x.Name {
		return map[*File][]Edit{}, nil
	}
	r := renaming{p}
	if err := r.mayMean(x); err != nil {
		return nil, err
	}
	edits := map[*File][]Edit{}
	for _, at := range p.References(x) {
		if at.File.Tree.Text[at.From:at.To] != x.Name {
			continue // a use of the symbol under another name, such as self in a typedef
		}
		if !ours(at.File) || at.File.BuiltIn {
			return nil, fmt.Errorf("%s uses it, and is outside the project", at.File.Path)
		}
		edits[at.File] = append(edits[at.File], Edit{at.From, at.To, name})
	}
	return edits, r.unchanged(edits, x.Name, name)
}

// fits reports whether a name is valid for a symbol.
func fits(x *Symbol, name string) error {
	tokens, problems := syntax.Scan(name)
	switch {
	case len(problems) > 0 || len(tokens) != 2 || strings.TrimSpace(name) != name ||
		strings.Contains(name, "-"):
		return fmt.Errorf("%q is not a name", name)
	case tokens[0].Kind == syntax.Keyword:
		return fmt.Errorf("%s is a word of the language", name)
	case name == "self":
		return fmt.Errorf("self is a word of the language")
	case x.Kind == Entity && tokens[0].Kind != syntax.TypeName:
		return fmt.Errorf("the name of an entity begins with a capital letter, unlike %s", name)
	case x.Kind != Entity && tokens[0].Kind != syntax.Name:
		return fmt.Errorf("%s is not a name that begins with a small letter", name)
	case x.Kind == Typedef && types.Builtin(name) != nil:
		return fmt.Errorf("%s is a type of the language", name)
	}
	return nil
}

// mayMean refuses to rename an attribute that may be used on a value whose entity is known only
// after an evaluation.
func (p renaming) mayMean(x *Symbol) error {
	if !x.IsAttribute() {
		return nil
	}
	for _, f := range p.Files {
		if !strings.Contains(f.Tree.Text, x.Name) || f.BuiltIn {
			continue
		}
		for _, u := range p.Uses(f).List {
			if u.Kind == Attribute && u.Symbol == nil && u.Name == x.Name && u.Why == "" {
				line := strings.Count(f.Tree.Text[:u.From], "\n") + 1
				return fmt.Errorf("%s line %d uses %s of something whose entity is not known "+
					"before the model runs: rename it by hand", f.Path, line, x.Name)
			}
		}
	}
	return nil
}

// unchanged applies edits to a copy, and returns an error if a name would change its meaning.
func (p renaming) unchanged(edits map[*File][]Edit, before, after string) error {
	files := make([]*File, len(p.Files))
	var look []int
	for i, f := range p.Files {
		files[i] = f
		if list := edits[f]; list != nil {
			tree, problems := syntax.Parse(Apply(f.Tree.Text, list))
			for _, q := range problems {
				if !q.Warning {
					return fmt.Errorf("%s would no longer be read: %s", f.Path, q.Message)
				}
			}
			files[i] = &File{f.Path, f.Namespace, f.BuiltIn, tree}
		}
		if strings.Contains(f.Tree.Text, before) || strings.Contains(f.Tree.Text, after) {
			look = append(look, i)
		}
	}
	trial := New(files, p.plugins, p.special)
	if len(trial.Duplicates) > len(p.Duplicates) {
		return fmt.Errorf("there is %s already", after)
	}
	for _, i := range look {
		if err := p.sameUses(trial, p.Files[i], files[i], edits); err != nil {
			return err
		}
	}
	return nil
}

// sameUses reports the first name of a text that has another meaning in the trial.
func (p renaming) sameUses(trial *Project, was, is *File, edits map[*File][]Edit) error {
	a, b := p.Uses(was).List, trial.Uses(is).List
	if len(a) != len(b) {
		return fmt.Errorf("%s would mean something else", was.Path)
	}
	for i := range a {
		if p.samePlace(a[i].Symbol, b[i].Symbol, edits) {
			continue
		}
		line := strings.Count(was.Tree.Text[:a[i].From], "\n") + 1
		return fmt.Errorf("there is something of this name already: %s in %s line %d would mean "+
			"something else", b[i].Name, was.Path, line)
	}
	return nil
}

// samePlace reports whether a symbol before edits is the same as another one after them.
func (p renaming) samePlace(a, b *Symbol, edits map[*File][]Edit) bool {
	if a == nil || b == nil || a.File == nil || b.File == nil {
		return (a == nil) == (b == nil) &&
			(a == nil || a.Kind == b.Kind && a.Name == b.Name && (a.File == nil) == (b.File == nil))
	}
	return a.Kind == b.Kind && a.File.Path == b.File.Path &&
		moved(a.From, edits[a.File]) == b.From
}

// moved returns the offset of a place after edits.
func moved(at int, edits []Edit) int {
	out := at
	for _, e := range edits {
		if e.From < at {
			out += len(e.With) - (e.To - e.From)
		}
	}
	return out
}

// Apply applies edits to a text.
func Apply(text string, edits []Edit) string {
	edits = slices.Clone(edits)
	slices.SortFunc(edits, func(a, b Edit) int { return cmp.Compare(a.From, b.From) })
	var b strings.Builder
	at := 0
	for _, e := range edits {
		b.WriteString(text[at:e.From])
		b.WriteString(e.With)
		at = e.To
	}
	b.WriteString(text[at:])
	return b.String()
}

// given are the arguments of New other than the texts.
type given struct {
	plugins []eval.Plugin
	special map[string]types.Type
}
