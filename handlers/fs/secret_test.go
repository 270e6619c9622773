package fs

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// TestSecretsAreNotForAll pins that a file that is made for a secret can be read by its owner
// alone, unless a mode is asked for, and that one that is there keeps its mode.
func TestSecretsAreNotForAll(t *testing.T) {
	type attrs = map[string]any
	line := attrs{"name": "x", "line": "password = s3cr3t", "create": true}
	setting := attrs{"section": "-", "setting": "password", "value": "s3cr3t", "create": true}
	for name, tc := range map[string]struct {
		def    provider.Definition
		attrs  attrs
		secret string // the attribute that names one
		there  bool
		want   fs.FileMode
	}{
		"a file": {File(), attrs{"content": "s3cr3t"}, "content", false, 0o600},
		"a file with a mode": {File(), attrs{"content": "s3cr3t", "mode": "0640"}, "content",
			false, 0o640},
		"a file for all":        {File(), attrs{"content": "open"}, "", false, 0o644},
		"a file that is there":  {File(), attrs{"content": "s3cr3t"}, "content", true, 0o604},
		"a line":                {Line(), line, "line", false, 0o600},
		"a line for all":        {Line(), line, "", false, 0o644},
		"a line of one":         {Line(), line, "line", true, 0o604},
		"a setting":             {IniSetting(), setting, "value", false, 0o600},
		"a setting of one file": {IniSetting(), setting, "value", true, 0o604},
	} {
		t.Run(name, func(t *testing.T) {
			g := newRig(t, tc.def)
			path := filepath.Join(g.dir, "f")
			given := attrs{"path": path}
			for k, v := range tc.attrs {
				given[k] = v
			}
			r := g.resource(given)
			stored := resource.Resource{Attributes: attrs{}}
			for k, v := range given {
				stored.Attributes[k] = v
			}
			if tc.secret != "" {
				stored.Attributes[tc.secret] = resource.Secret{Source: "env:PASSWORD"}
			}
			ctx := g.host.Context(t.Context(), provider.Options{Stored: &stored})
			var err error
			if tc.there {
				g.do(os.WriteFile(path, nil, 0o604))
				g.do(os.Chmod(path, 0o604))
				var obs provider.Observation
				obs, err = tc.def.Handler.Read(ctx, provider.ReadRequest{Resource: r})
				g.do(err)
				changes := diff.Compare(g.typ, r.Attributes, obs.Attributes)
				_, err = tc.def.Handler.Update(ctx, provider.UpdateRequest{Resource: r,
					Observed: obs, Changes: changes})
			} else {
				_, err = tc.def.Handler.Create(ctx, provider.CreateRequest{Resource: r})
			}
			g.do(err)
			info, err := os.Stat(path)
			if err != nil || info.Mode().Perm() != tc.want {
				t.Errorf("it has %v, %v; want %v", info.Mode(), err, tc.want)
			}
		})
	}
}
