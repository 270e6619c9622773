package fs

import (
	"context"

	"southbound/shared/provider"
)

// Store is where texts are; an Editor is one.
type Store interface {
	// Read returns a text; what is missing does not exist.
	Read(ctx *provider.Context, path string) (Text, error)
	// Edit changes a text to what change makes of it, see Editor.Edit.
	Edit(ctx *provider.Context, path string, fresh Fresh, change func(Text) (Text, error)) error
}

// ReadTogether answers a batch about things in text files; each file is read once. path says where a thing is, and look describes it.
func ReadTogether(ctx context.Context, e Store, items []provider.BatchRead, path func(provider.Resource) string,
	look func(provider.Resource, Text) (provider.Observation, error)) []provider.Reading {
	out := make([]provider.Reading, len(items))
	type file struct {
		text Text
		err  error
	}
	files := map[string]file{}
	for i, item := range items {
		if out[i].Err = ctx.Err(); out[i].Err != nil {
			continue
		}
		where := path(item.Resource)
		f, known := files[where]
		if !known {
			f.text, f.err = e.Read(item.Context.With(ctx), where)
			files[where] = f
		}
		if out[i].Err = f.err; f.err == nil {
			out[i].Observation, out[i].Err = look(item.Resource, f.text)
		}
	}
	return out
}

// ApplyTogether makes a batch of changes to things in text files; all changes of one file are one. change returns what becomes of a text; when
// it fails, only its own item does.
func ApplyTogether(ctx context.Context, e Store, items []provider.BatchChange, path func(provider.Resource) string, fresh Fresh,
	change func(provider.BatchChange, Text) (Text, error)) []provider.Applied {
	out := make([]provider.Applied, len(items))
	of := map[string][]int{}
	var paths []string
	for i, item := range items {
		where := path(item.Resource)
		if of[where] == nil {
			paths = append(paths, where)
		}
		of[where] = append(of[where], i)
	}
	for _, where := range paths {
		first := items[of[where][0]]
		err := e.Edit(first.Context.With(ctx), where, fresh, func(t Text) (Text, error) {
			for _, i := range of[where] {
				after, err := change(items[i], t)
				if out[i].Err = err; err == nil {
					t = after
				}
			}
			return t, nil
		})
		for _, i := range of[where] {
			if out[i].Err == nil {
				out[i].Err = err
			}
		}
	}
	return out
}
