package providertest

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"southbound/shared/provider"
)

// wrongLaws break what holds of optional calls.
func wrongLaws() []wrong {
	return []wrong{
		{"a form that is another when it is made again, of some texts", "canonical",
			"the canonical form of", "return canonical values unchanged", func(w *twist) {
				w.form = func(attrs map[string]any) (map[string]any, error) {
					out := maps.Clone(attrs)
					if c, ok := out["colour"].(string); ok {
						out["colour"] = strings.Replace(c, "line", "", 1)
					}
					return out, nil
				}
			}},
		{"a form of the name", "canonical", "the canonical form names another thing",
			"leave naming attributes alone", func(w *twist) {
				w.form = func(attrs map[string]any) (map[string]any, error) {
					out, err := w.shelf.Canonicalise(attrs)
					out["name"] = strings.ToUpper(fmt.Sprint(out["name"]))
					return out, err
				}
			}},
		{"a form of another type", "canonical", "the canonical form of size is not of its type", "",
			func(w *twist) {
				w.form = func(attrs map[string]any) (map[string]any, error) {
					out, err := w.shelf.Canonicalise(attrs)
					out["size"] = fmt.Sprint(out["size"])
					return out, err
				}
			}},
		{"a form with less", "canonical", "the canonical form lacks", "", func(w *twist) {
			w.form = func(attrs map[string]any) (map[string]any, error) {
				return map[string]any{"name": attrs["name"], "size": attrs["size"]}, nil
			}
		}},
		{"a list without the last", "list", "is listed 0 times", "", func(w *twist) {
			w.list = func(ctx *provider.Context, found func(provider.Found) error) error {
				var all []provider.Found
				_ = w.shelf.List(ctx, func(f provider.Found) error {
					all = append(all, f)
					return nil
				})
				for i, f := range all {
					if i == len(all)-1 {
						break
					}
					if err := found(f); err != nil {
						return err
					}
				}
				return nil
			}
		}},
		{"a list of what a read denies", "list", "when it is read it is not there",
			"the same query", func(w *twist) {
				w.list = func(ctx *provider.Context, found func(provider.Found) error) error {
					if err := found(provider.Found{Attributes: map[string]any{"name": "thrown away",
						"size": int64(1)}}); err != nil {
						return err
					}
					return w.shelf.List(ctx, found)
				}
			}},
		{"a list of what has no name", "list", "a thing is listed without name", "",
			func(w *twist) {
				w.list = func(ctx *provider.Context, found func(provider.Found) error) error {
					if err := found(provider.Found{
						Attributes: map[string]any{"size": int64(1)}}); err != nil {
						return err
					}
					return w.shelf.List(ctx, found)
				}
			}},
	}
}

// TestListedMeanwhile pins that what somebody else removes and makes anew while it is looked at is
// not taken for a fault of the list.
func TestListedMeanwhile(t *testing.T) {
	read := 0
	s := twisted(func(w *twist) {
		w.list = func(ctx *provider.Context, found func(provider.Found) error) error {
			if err := found(provider.Found{Attributes: map[string]any{"name": "of others"}}); err != nil {
				return err
			}
			return w.shelf.List(ctx, found)
		}
		w.read = func(
			ctx *provider.Context, req provider.ReadRequest,
		) (provider.Observation, error) {
			if nameOf(req.Resource) == "of others" {
				read++
				return provider.Observation{Exists: read > 1}, nil
			}
			return w.shelf.Read(ctx, req)
		}
	})
	if says, _ := only(t.Context(), t, s, "list"); says != "" || read != 2 {
		t.Errorf("read %d times: %s", read, says)
	}
}
