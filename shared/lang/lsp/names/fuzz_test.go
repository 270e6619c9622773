package names_test

import (
	"testing"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsp/names"
	"southbound/shared/lang/std"
	"southbound/shared/lang/syntax"
)

// FuzzNames asks everything about any text, whole or broken: there is an answer, every place is one
// of the text, and a rename that is not refused, and its opposite, give the text back.
func FuzzNames(f *testing.F) {
	for _, seed := range []string{
		"a = 1\nb = f\"{a!r:>{a}} {{a}}\"\nc = \"{{ a.b }}\"\n",
		"entity A extends A, B:\n    \"\"\"\n    :attr x: y\n    \"\"\"\n    a[]? x = [1]\nend\n",
		"entity A:\n    int x\nend\nA.b [0:] -- A.c [1]\nindex A(x)\n" +
			"implement A using std::none when x > 1\n",
		"implementation i for A:\n    self.x += A(x=[y for y in x if y is defined])[a=1]\n",
		"typedef t as t matching t > self\nentity E:\n    t y\nend\nimport a::b as c\n" +
			"x = c::d(1, **e)\n",
		"x = y\ny = x\nfor x in x:\n    if x.y[z=1].w: z = x ? y : z\nend\nend\nx = A[",
	} {
		f.Add(seed, uint16(3))
		f.Add(seed, uint16(len(seed)))
	}
	f.Fuzz(func(t *testing.T, text string, at uint16) {
		const limit = 2000
		text = text[:min(len(text), limit)]
		tree, problems := syntax.Parse(text)
		file := &names.File{Path: "/main.cf", Namespace: eval.Main, Tree: tree}
		p := names.New([]*names.File{file}, std.Plugins(), nil)
		offset := int(at) % (len(text) + 1)
		p.Complete(file, offset, nil)
		p.Outline(file)
		uses := p.Uses(file)
		for _, u := range uses.List {
			if u.From < 0 || u.To < u.From || u.To > len(text) {
				t.Fatalf("%q: a use from %d to %d", text, u.From, u.To)
			}
			if u.Symbol != nil {
				p.Describe(u.Symbol)
				p.References(u.Symbol)
			}
		}
		if u := uses.At(offset); u != nil && u.Symbol != nil && len(problems) == 0 {
			back(t, p, file, u)
		}
	})
}

// back renames, and renames back.
func back(t *testing.T, p *names.Project, file *names.File, u *names.Use) {
	t.Helper()
	ours := func(*names.File) bool { return true }
	to := "zz_other"
	if u.Symbol.Kind == names.Entity {
		to = "Zz_other"
	}
	edits, err := p.Rename(u.Symbol, to, ours)
	if err != nil || len(edits[file]) == 0 {
		return // refused
	}
	text := names.Apply(file.Tree.Text, edits[file])
	tree, _ := syntax.Parse(text)
	after := &names.File{Path: file.Path, Namespace: file.Namespace, Tree: tree}
	q := names.New([]*names.File{after}, std.Plugins(), nil)
	v := q.Uses(after).At(edits[file][0].From)
	if v == nil || v.Symbol == nil {
		t.Fatalf("%q: there is no name at %d", text, edits[file][0].From)
	}
	again, err := q.Rename(v.Symbol, u.Symbol.Name, ours)
	if err != nil {
		t.Fatalf("%q cannot be renamed back: %v", text, err)
	}
	if got := names.Apply(text, again[after]); got != file.Tree.Text {
		t.Fatalf("%q was renamed to %q and back to %q", file.Tree.Text, text, got)
	}
}
