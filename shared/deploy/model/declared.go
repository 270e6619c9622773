package model

import (
	"errors"
	"fmt"
	"io"
	"maps"

	"southbound/shared/deploy/state"
	"southbound/shared/diag"
	"southbound/shared/fault"
	"southbound/shared/internal/declared"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// TypeAttribute is the attribute of a resource whose type no program was built with: a resource.File
// with the declaration of the type.
const TypeAttribute = declared.Attribute

// DeclaredBy returns the file that declares the type of a resource.
func DeclaredBy(r *resource.Resource) (resource.File, bool) {
	f, ok := r.Attributes[TypeAttribute].(resource.File)
	return f, ok
}

// Declare adds to the resources of declared types the files of their declarations, which become files
// of the model. types are those by which the model was read.
func Declare(m *Model, types *schema.Registry) {
	for i := range m.Resources {
		r := &m.Resources[i]
		t, known := types.Type(r.Type)
		if !known || t.Declaration() == nil {
			continue
		}
		if _, coded := CodeOf(r); coded {
			continue
		}
		d := t.Declaration()
		if m.Files == nil {
			m.Files = map[string]state.Blob{}
		}
		m.Files[d.Hash] = DeclarationFile(d)
		NameDeclaration(r, t)
	}
}

// DeclarationFile returns the file of a declaration.
func DeclarationFile(d *schema.Declaration) state.Blob {
	return state.Blob{Hash: d.Hash, Size: int64(len(d.Text)), Data: d.Text}
}

// NameDeclaration adds to a resource the file that declares its type, if there is one. It copies the
// attributes.
func NameDeclaration(r *resource.Resource, typ *schema.Compiled) {
	d := typ.Declaration()
	if d == nil {
		return
	}
	r.Attributes = maps.Clone(r.Attributes)
	if r.Attributes == nil {
		r.Attributes = map[string]any{}
	}
	r.Attributes[TypeAttribute] = resource.File{Hash: d.Hash, Size: int64(len(d.Text))}
}

// declaration returns the declaration in a file.
func (c *Checker) declaration(f resource.File) (*schema.Declaration, error) {
	if c.cache == nil {
		return nil, errors.New("this program reads no declarations")
	}
	if c.reading == nil {
		c = c.offline()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, tried := c.loaded[f.Hash]; tried {
		return known.Declaration, known.err
	}
	files := c.files
	if c.ctx == nil {
		files = nil
	}
	d, err := c.cache.Read(c.ctx, files, f)
	c.loaded[f.Hash] = answer{d, err}
	if err != nil && c.err == nil && !state.Unreadable(err) && !fault.Is(err, fault.Invalid) {
		c.err = err
	}
	return d, err
}

// Keep compiles the declarations whose bytes come with a model, so that they need not be stored yet.
func (c *Checker) Keep(m *Model) {
	if c.cache == nil {
		return
	}
	last := ""
	for i := range m.Resources {
		f, is := DeclaredBy(&m.Resources[i])
		if !is || f.Hash == last {
			continue
		}
		last = f.Hash
		if text := bytesOf(m.Files[f.Hash]); text != nil {
			c.hold(f.Hash, text)
		}
	}
}

// Declarations returns the files of a model that declare types.
func Declarations(m *Model) map[string]state.Blob {
	out := map[string]state.Blob{}
	for i := range m.Resources {
		if f, is := DeclaredBy(&m.Resources[i]); is {
			if b, comes := m.Files[f.Hash]; comes {
				out[f.Hash] = b
			}
		}
	}
	return out
}

// bytesOf returns the bytes of a declaration that comes with a model; nil: it has none, or too many.
func bytesOf(b state.Blob) []byte {
	switch {
	case b.Size > declared.MaxBytes:
		return nil
	case b.Open == nil:
		return b.Data
	}
	in, err := b.Open()
	if err != nil {
		return nil
	}
	defer in.Close()
	text, err := io.ReadAll(io.LimitReader(in, declared.MaxBytes+1))
	if err != nil || len(text) > declared.MaxBytes {
		return nil
	}
	return text
}

// hold compiles a declaration, which lasts as long as the operation.
func (c *Checker) hold(hash string, text []byte) {
	d, err := c.cache.Add(hash, text)
	if c.reading == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loaded[hash] = answer{d, err}
}

// undeclared returns the problem of a resource whose declaration cannot be used.
func (c *Checker) undeclared(r *resource.Resource, f resource.File) diag.Problem {
	p := diag.Problem{Resource: string(r.ID)}
	_, err := c.declaration(f)
	if err == nil {
		p.Message = fmt.Sprintf("its declaration does not declare %s", r.Type)
		p.Hint = "export again, beside the southbound.lock that declares it"
		return p
	}
	p.Message = fmt.Sprintf("the declaration of %s cannot be used: %v", r.Type, err)
	p.Hint = fault.HintOf(err)
	return p
}

// oneDeclaration refuses a model that names one type by two declarations.
func (v *validator) oneDeclaration() {
	first := map[string]int{} // by type
	for i := range v.m.Resources {
		r := &v.m.Resources[i]
		f, is := DeclaredBy(r)
		if !is {
			continue
		}
		j, known := first[r.Type]
		if !known {
			first[r.Type] = i
			continue
		}
		if of, _ := DeclaredBy(&v.m.Resources[j]); of.Hash == f.Hash {
			continue
		}
		other := &v.m.Resources[j]
		v.problems.Add(diag.Problem{
			Pos: v.m.At(i, "type"), Resource: string(r.ID), Related: diag.At(v.m.At(j, "type")),
			Message: fmt.Sprintf("its type %s has another declaration than %s", r.Type, other.ID),
			Hint:    "export all resources of the type together, with one southbound.lock",
		})
		v.refuse(i)
	}
}
