package main

import (
	"context"
	"errors"
	"strings"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/customdiff"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// net returns a resource with blocks in blocks, attributes that are written as blocks, a function of
// states, and a difference that requires a replacement only sometimes.
func net() *schema.Resource {
	return &schema.Resource{
		CreateContext: func(ctx context.Context, d *schema.ResourceData, m any) diag.Diagnostics {
			return putNet(ctx, d, m, "POST", "/things")
		},
		UpdateContext: func(ctx context.Context, d *schema.ResourceData, m any) diag.Diagnostics {
			return putNet(ctx, d, m, "PUT", "/things/"+d.Id())
		},
		ReadContext: readNet, DeleteContext: remove,
		CustomizeDiff: customdiff.ForceNewIfChange("size", func(_ context.Context, old, new, _ any) bool {
			return new.(int) < old.(int) // a net grows in place
		}),
		Schema: map[string]*schema.Schema{
			"name": {Type: schema.TypeString, Required: true},
			"size": {Type: schema.TypeInt, Optional: true, Default: 8},
			"cidr": {Type: schema.TypeString, Optional: true, Computed: true, ForceNew: true},
			"open": {Type: schema.TypeBool, Optional: true},
			"tags": {Type: schema.TypeMap, Optional: true, Elem: text()},
			"upper": {Type: schema.TypeString, Optional: true,
				StateFunc: func(v any) string { return strings.ToUpper(v.(string)) }},
			"subnet": {Type: schema.TypeList, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
				"zone":  {Type: schema.TypeString, Required: true, ForceNew: true},
				"ports": {Type: schema.TypeSet, Optional: true, Elem: &schema.Schema{Type: schema.TypeInt}},
				"route": {Type: schema.TypeSet, Optional: true, Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"to":  {Type: schema.TypeString, Required: true},
					"via": {Type: schema.TypeString, Optional: true, Computed: true},
				}}},
			}}},
			"rule": {Type: schema.TypeList, Optional: true, Computed: true, Elem: &schema.Resource{
				Schema: map[string]*schema.Schema{"port": {Type: schema.TypeInt, Optional: true}}}},
		},
	}
}

// names are the attributes of a net.
func names() []string {
	return []string{"name", "size", "cidr", "open", "tags", "upper", "subnet", "rule"}
}

// bare returns a value without sets, as JSON has it.
func bare(v any) any {
	switch v := v.(type) {
	case *schema.Set:
		return bare(v.List())
	case []any:
		out := []any{}
		for _, e := range v {
			out = append(out, bare(e))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for k, e := range v {
			out[k] = bare(e)
		}
		return out
	}
	return v
}

func putNet(ctx context.Context, d *schema.ResourceData, m any, method, path string) diag.Diagnostics {
	document := map[string]any{}
	for _, name := range names() {
		document[name] = bare(d.Get(name))
	}
	if document["cidr"] == "" {
		document["cidr"] = "10.0.0.0/8"
	}
	for _, s := range document["subnet"].([]any) {
		for _, r := range s.(map[string]any)["route"].([]any) {
			if r := r.(map[string]any); r["via"] == "" {
				r["via"] = "gateway"
			}
		}
	}
	var made map[string]any
	if err := m.(*store).do(ctx, method, path, document, &made); err != nil {
		return diag.FromErr(err)
	}
	d.SetId(made["id"].(string))
	return readNet(ctx, d, m)
}

func readNet(ctx context.Context, d *schema.ResourceData, m any) diag.Diagnostics {
	var now map[string]any
	err := m.(*store).do(ctx, "GET", "/things/"+d.Id(), nil, &now)
	if errors.Is(err, errGone) {
		d.SetId("")
		return nil
	}
	for _, name := range names() {
		err = errors.Join(err, d.Set(name, whole(now[name])))
	}
	return diag.FromErr(err)
}

// whole returns a value of JSON with whole numbers.
func whole(v any) any {
	switch v := v.(type) {
	case float64:
		return int(v)
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	}
	return v
}
