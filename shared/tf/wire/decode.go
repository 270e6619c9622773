package wire

import "slices"

func (v field) schemas() (out Schemas, diags []Diagnostic) {
	out.Resources, out.DataSources = map[string]Schema{}, map[string]Schema{}
	out.Ephemeral, out.Lists = map[string]Schema{}, map[string]Schema{}
	add := func(to map[string]Schema, f field) {
		name, value := f.entry()
		to[name] = value.schema()
	}
	v.each(func(f field) {
		switch f.number {
		case 1:
			out.Provider = f.schema()
		case 2:
			add(out.Resources, f)
		case 3:
			add(out.DataSources, f)
		case 4:
			diags = append(diags, f.diagnostic())
		case 5:
			meta := f.schema()
			out.ProviderMeta = &meta
		case 6:
			out.Capabilities = f.capabilities()
		case 7:
			name, _ := f.entry()
			out.Functions = append(out.Functions, name)
		case 8:
			add(out.Ephemeral, f)
		case 9:
			add(out.Lists, f)
		}
	})
	slices.Sort(out.Functions)
	return out, diags
}

func (v field) capabilities() (out Capabilities) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			out.PlanDestroy = f.flag()
		case 2:
			out.SchemaOptional = f.flag()
		case 3:
			out.MoveState = f.flag()
		case 4:
			out.GenerateConfig = f.flag()
		}
	})
	return out
}

func (v field) schema() (out Schema) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			out.Version = f.number64()
		case 2:
			out.Block = f.block()
		}
	})
	return out
}

func (v field) block() (out Block) {
	v.each(func(f field) {
		switch f.number {
		case 2:
			out.Attributes = append(out.Attributes, f.attribute())
		case 3:
			out.Blocks = append(out.Blocks, f.nested())
		case 4:
			out.Description = f.text()
		case 5:
			out.Markdown = f.flag()
		case 6:
			out.Deprecated = f.flag()
		case 7:
			out.DeprecationMessage = f.text()
		}
	})
	return out
}

// attribute reads an attribute. Fields from 10 on have other numbers in version 5.
func (v field) attribute() (out Attribute) {
	const nested, writeOnly, message = 10, 11, 12
	v.each(func(f field) {
		n := f.number
		if n >= nested && v.r.protocol == Protocol5 {
			n++
		}
		switch n {
		case 1:
			out.Name = f.text()
		case 2:
			out.Type = f.copied()
		case 3:
			out.Description = f.text()
		case 4:
			out.Required = f.flag()
		case 5:
			out.Optional = f.flag()
		case 6:
			out.Computed = f.flag()
		case 7:
			out.Sensitive = f.flag()
		case 8:
			out.Markdown = f.flag()
		case 9:
			out.Deprecated = f.flag()
		case nested:
			object := f.object()
			out.Nested = &object
		case writeOnly:
			out.WriteOnly = f.flag()
		case message:
			out.DeprecationMessage = f.text()
		}
	})
	return out
}

func (v field) object() (out Object) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			out.Attributes = append(out.Attributes, f.attribute())
		case 3:
			out.Nesting = Nesting(f.number64())
		}
	})
	return out
}

func (v field) nested() (out NestedBlock) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			out.Name = f.text()
		case 2:
			out.Block = f.block()
		case 3:
			out.Nesting = Nesting(f.number64())
		case 4:
			out.MinItems = f.number64()
		case 5:
			out.MaxItems = f.number64()
		}
	})
	return out
}

func (v field) identities() (out map[string]IdentitySchema, diags []Diagnostic) {
	out = map[string]IdentitySchema{}
	v.each(func(f field) {
		switch f.number {
		case 1:
			name, value := f.entry()
			out[name] = value.identitySchema()
		case 2:
			diags = append(diags, f.diagnostic())
		}
	})
	return out, diags
}

func (v field) identitySchema() (out IdentitySchema) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			out.Version = f.number64()
		case 2:
			out.Attributes = append(out.Attributes, f.identityAttribute())
		}
	})
	return out
}

func (v field) identityAttribute() (out IdentityAttribute) {
	v.each(func(f field) {
		switch f.number {
		case 1:
			out.Name = f.text()
		case 2:
			out.Type = f.copied()
		case 3:
			out.RequiredForImport = f.flag()
		case 4:
			out.OptionalForImport = f.flag()
		case 5:
			out.Description = f.text()
		}
	})
	return out
}

func (v field) metadata() (out Metadata, diags []Diagnostic) {
	name := func(f field) (name string) {
		f.each(func(f field) {
			if f.number == 1 {
				name = f.text()
			}
		})
		return name
	}
	v.each(func(f field) {
		switch f.number {
		case 1:
			out.Capabilities = f.capabilities()
		case 2:
			diags = append(diags, f.diagnostic())
		case 3:
			out.DataSources = append(out.DataSources, name(f))
		case 4:
			out.Resources = append(out.Resources, name(f))
		case 5:
			out.Functions = append(out.Functions, name(f))
		case 6:
			out.Ephemeral = append(out.Ephemeral, name(f))
		case 7:
			out.Lists = append(out.Lists, name(f))
		}
	})
	return out, diags
}
