package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
)

// server returns a resource with blocks, computed members, a suppressed difference, an attribute
// that replaces, time limits and an older state.
func server() *schema.Resource {
	return &schema.Resource{
		SchemaVersion: 1,
		StateUpgraders: []schema.StateUpgrader{{
			Version: 0, Type: (&schema.Resource{Schema: former()}).CoreConfigSchema().ImpliedType(),
			Upgrade: upgrade,
		}},
		CreateContext: create, ReadContext: read, UpdateContext: update, DeleteContext: remove,
		Importer: &schema.ResourceImporter{StateContext: schema.ImportStatePassthroughContext},
		Timeouts: &schema.ResourceTimeout{Create: schema.DefaultTimeout(time.Hour)},
		Schema: map[string]*schema.Schema{
			"name": {Type: schema.TypeString, Required: true,
				DiffSuppressFunc: func(_, old, new string, _ *schema.ResourceData) bool {
					return strings.EqualFold(old, new)
				}},
			"zone":   {Type: schema.TypeString, Optional: true, ForceNew: true, Default: "a"},
			"labels": {Type: schema.TypeSet, Optional: true, Elem: text()},
			"ready":  {Type: schema.TypeBool, Computed: true},
			"network": {Type: schema.TypeList, Optional: true, MaxItems: 1,
				Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"cidr": {Type: schema.TypeString, Required: true},
				}}},
			"rule": {Type: schema.TypeSet, Optional: true,
				Set: func(v any) int { return v.(map[string]any)["port"].(int) },
				Elem: &schema.Resource{Schema: map[string]*schema.Schema{
					"port": {Type: schema.TypeInt, Required: true},
					"no":   {Type: schema.TypeInt, Computed: true},
				}}},
		},
	}
}

func text() *schema.Schema { return &schema.Schema{Type: schema.TypeString} }

// former is the schema of version 0: the name was called title.
func former() map[string]*schema.Schema {
	return map[string]*schema.Schema{"title": {Type: schema.TypeString, Required: true}}
}

func upgrade(_ context.Context, state map[string]any, _ any) (map[string]any, error) {
	state["name"] = state["title"]
	delete(state, "title")
	return state, nil
}

// found returns a data source that finds a server by its name.
func found() *schema.Resource {
	return &schema.Resource{
		Schema: map[string]*schema.Schema{"name": {Type: schema.TypeString, Required: true}},
		ReadContext: func(ctx context.Context, d *schema.ResourceData, m any) diag.Diagnostics {
			var all []document
			if err := m.(*store).do(ctx, "GET", "/things", nil, &all); err != nil {
				return diag.FromErr(err)
			}
			for _, one := range all {
				if one.Name == d.Get("name") {
					d.SetId(one.ID)
					return nil
				}
			}
			return diag.Errorf("there is no server %s", d.Get("name"))
		},
	}
}

func documentOf(d *schema.ResourceData) document {
	out := document{ID: d.Id(), Name: d.Get("name").(string), Zone: d.Get("zone").(string)}
	for _, l := range d.Get("labels").(*schema.Set).List() {
		out.Labels = append(out.Labels, l.(string))
	}
	for _, n := range d.Get("network").([]any) {
		out.Network = append(out.Network, network{n.(map[string]any)["cidr"].(string)})
	}
	for _, r := range d.Get("rule").(*schema.Set).List() {
		out.Rules = append(out.Rules, rule{Port: r.(map[string]any)["port"].(int)})
	}
	return out
}

func set(d *schema.ResourceData, from document) diag.Diagnostics {
	var networks, rules []any
	for _, n := range from.Network {
		networks = append(networks, map[string]any{"cidr": n.CIDR})
	}
	for _, r := range from.Rules {
		rules = append(rules, map[string]any{"port": r.Port, "no": r.No})
	}
	return diag.FromErr(errors.Join(d.Set("name", from.Name), d.Set("zone", from.Zone),
		d.Set("labels", from.Labels), d.Set("ready", true), d.Set("network", networks),
		d.Set("rule", rules)))
}

func create(ctx context.Context, d *schema.ResourceData, m any) diag.Diagnostics {
	var made document
	if err := m.(*store).do(ctx, "POST", "/things", documentOf(d), &made); err != nil {
		return diag.FromErr(err)
	}
	d.SetId(made.ID)
	// a second request, so that a create can fail after the server exists
	if err := m.(*store).do(ctx, "POST", "/things/"+made.ID+"/ready", nil, nil); err != nil {
		return diag.FromErr(err)
	}
	return set(d, made)
}

func read(ctx context.Context, d *schema.ResourceData, m any) diag.Diagnostics {
	var now document
	err := m.(*store).do(ctx, "GET", "/things/"+d.Id(), nil, &now)
	switch {
	case errors.Is(err, errGone):
		d.SetId("")
		return nil
	case err != nil:
		return diag.FromErr(err)
	}
	return set(d, now)
}

// update sends two requests. If the second one fails, the state keeps its former values.
func update(ctx context.Context, d *schema.ResourceData, m any) diag.Diagnostics {
	var now document
	err := m.(*store).do(ctx, "PUT", "/things/"+d.Id(), documentOf(d), &now)
	if err == nil {
		err = m.(*store).do(ctx, "POST", "/things/"+d.Id()+"/ready", nil, nil)
	}
	if err != nil {
		d.Partial(true)
		return diag.FromErr(err)
	}
	return set(d, now)
}

func remove(ctx context.Context, d *schema.ResourceData, m any) diag.Diagnostics {
	err := m.(*store).do(ctx, "DELETE", "/things/"+d.Id(), nil, nil)
	if errors.Is(err, errGone) {
		return nil
	}
	return diag.FromErr(err)
}
