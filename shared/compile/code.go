package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/deploy/state"
	"southbound/shared/lang/python"
	"southbound/shared/lang/resources"
	"southbound/shared/resource"
	"southbound/shared/schema"
)

// code holds the code and files for resources that Python classes have made.
type code struct {
	blobs []state.Blob
	files map[string]state.Blob // by the names that handlers use
	made  map[resource.ID]int   // index of the blob of each resource
	types []*schema.Compiled
}

// codeOf returns the code for these resources; nil if there are none.
func codeOf(made []resources.Foreign, from *python.Export) *code {
	if len(made) == 0 {
		return nil
	}
	c := &code{
		files: map[string]state.Blob{}, made: map[resource.ID]int{},
	}
	for _, content := range from.Codes {
		c.blobs = append(c.blobs, blobOf(content))
	}
	for name, content := range from.Files {
		c.files[name] = blobOf(content)
	}
	keys, attributes := map[string]string{}, map[string]map[string]bool{}
	for i := range made {
		r := &made[i]
		c.made[r.ID] = r.Code
		keys[r.Type] = r.Key
		if attributes[r.Type] == nil {
			attributes[r.Type] = map[string]bool{}
		}
		for name := range r.Attributes {
			attributes[r.Type][name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		names := slices.Sorted(maps.Keys(attributes[name]))
		c.types = append(c.types, model.OpenType(name, keys[name], names))
	}
	return c
}

func blobOf(b []byte) state.Blob {
	sum := sha256.Sum256(b)
	return state.Blob{Hash: hex.EncodeToString(sum[:]), Size: int64(len(b)), Data: b}
}

// add adds code and files to the resources of a model that lack them.
func (c *code) add(m *model.Model) {
	if m.Files == nil {
		m.Files = map[string]state.Blob{}
	}
	use := func(b state.Blob) resource.File {
		m.Files[b.Hash] = b
		return resource.File{Hash: b.Hash, Size: b.Size}
	}
	for i := range m.Resources {
		r := &m.Resources[i]
		which, made := c.made[r.ID]
		if _, has := r.Attributes[model.CodeAttribute]; has || !made {
			continue
		}
		r.Attributes = maps.Clone(r.Attributes)
		files := map[string]any{}
		for _, v := range r.Attributes {
			c.named(v, func(name string, b state.Blob) { files[name] = use(b) })
		}
		r.Attributes[model.CodeAttribute] = use(c.blobs[which])
		if len(files) > 0 {
			r.Attributes[model.FilesAttribute] = files
		}
	}
	if m.Fingerprint != "" {
		all := m.Fingerprint
		for _, b := range c.blobs {
			all += " " + b.Hash
		}
		sum := sha256.Sum256([]byte(all))
		m.Fingerprint = hex.EncodeToString(sum[:])
	}
}

// named calls f for each file whose name occurs in a value.
func (c *code) named(v any, f func(name string, b state.Blob)) {
	switch v := v.(type) {
	case string:
		if b, ok := c.files[v]; ok {
			f(v, b)
		}
	case []any:
		for _, e := range v {
			c.named(e, f)
		}
	case map[string]any:
		for _, e := range v {
			c.named(e, f)
		}
	}
}
