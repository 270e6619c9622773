package names

import (
	"strings"

	"southbound/shared/lang/syntax"
)

// Place is the place of a name in a text.
type Place struct {
	File     *File
	From, To int
	Def      bool
}

// Definitions returns the places where a symbol is defined; none if no text defines it.
func (p *Project) Definitions(x *Symbol) []Place {
	switch {
	case x.Kind == Plugin || x.File == nil:
		return nil
	case x.Kind == Namespace:
		return []Place{{File: x.File, Def: true}}
	}
	return []Place{{x.File, x.From, x.To, true}}
}

// References returns all places where a name refers to a symbol, in the order of the files.
func (p *Project) References(x *Symbol) []Place {
	same := x.Same()
	var out []Place
	for _, f := range p.Files {
		if x.Kind == Variable && x.Space == "" && f != x.File {
			continue
		}
		if x.Kind != Namespace && !strings.Contains(f.Tree.Text, x.Name) {
			continue
		}
		for _, u := range p.Uses(f).List {
			if u.Symbol != nil && same[u.Symbol] {
				out = append(out, Place{f, u.From, u.To, u.Def})
			}
		}
	}
	return out
}

// Outline is a definition in a text, with the definitions in it.
type Outline struct {
	Symbol   *Symbol
	Detail   string
	From, To int // the whole definition
	Children []Outline
}

// Outline returns the definitions in a text, in order.
func (p *Project) Outline(f *File) []Outline {
	var out []Outline
	s := p.spaces[f.Namespace]
	if s.file != f {
		return nil
	}
	for _, st := range f.Tree.Body {
		o := Outline{}
		o.From, o.To = f.place(st)
		switch st := st.(type) {
		case *syntax.Entity:
			o.Symbol = p.defined(f, &st.Name)
		case *syntax.Typedef:
			o.Symbol = p.defined(f, &st.Name)
		case *syntax.Implementation:
			o.Symbol = p.defined(f, &st.Name)
		case *syntax.Relation:
			if e := p.entity(s, &st.Left.Entity); e != nil {
				o.Symbol = e.byName[st.Left.Name.Text]
			}
		case *syntax.Assign:
			if r, ok := st.Target.(*syntax.Ref); ok {
				if v := s.scope.vars[r.Name.Text]; v != nil && v.Span == st.Span {
					o.Symbol = v
				}
			}
		}
		if o.Symbol == nil || o.Symbol.File != f {
			continue
		}
		o.Detail = p.detail(o.Symbol)
		for _, a := range o.Symbol.own {
			if a.Kind == Attribute {
				in := Outline{Symbol: a, Detail: a.Type.String()}
				in.From, in.To = f.place(a.Span)
				o.Children = append(o.Children, in)
			}
		}
		out = append(out, o)
	}
	return out
}

// detail returns the text after a name in an outline.
func (p *Project) detail(x *Symbol) string {
	switch x.Kind {
	case Entity:
		var parents []string
		for _, e := range x.Parents {
			parents = append(parents, e.FullName())
		}
		return strings.Join(parents, ", ")
	case Implementation:
		if x.Of != nil {
			return x.Of.FullName()
		}
		return ""
	case Relation:
		return x.Detail() + " " + x.Type.Of.FullName()
	}
	return p.TypeOf(x).String()
}
