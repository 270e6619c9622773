package main

import (
	"context"
	"errors"
	"math/big"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringdefault"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// crate is a resource with each way of nesting, and without an identity. Its document has its
// attributes as they are.
type crate struct{ store *store }

func (*crate) Metadata(
	_ context.Context, q resource.MetadataRequest, a *resource.MetadataResponse,
) {
	a.TypeName = q.ProviderTypeName + "_crate"
}

func (c *crate) Configure(
	_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse,
) {
	c.store, _ = q.ProviderData.(*store)
}

// member returns the attributes of a nested object: a key, a kind that replaces the crate, a value with
// a default, and a number that is computed.
func member() map[string]schema.Attribute {
	return map[string]schema.Attribute{
		"key": schema.StringAttribute{Required: true},
		"kind": schema.StringAttribute{Optional: true,
			PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
		"value": schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("v")},
		"no":    schema.Int64Attribute{Computed: true},
	}
}

func (*crate) Schema(_ context.Context, _ resource.SchemaRequest, a *resource.SchemaResponse) {
	nested := schema.NestedAttributeObject{Attributes: member()}
	block := schema.NestedBlockObject{Attributes: map[string]schema.Attribute{
		"key": schema.StringAttribute{Required: true},
		"kind": schema.StringAttribute{Optional: true,
			PlanModifiers: []planmodifier.String{stringplanmodifier.RequiresReplace()}},
		"no": schema.Int64Attribute{Computed: true},
	}}
	a.Schema = schema.Schema{
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{
				stringplanmodifier.UseStateForUnknown()}},
			"name":     schema.StringAttribute{Required: true},
			"revision": schema.Int64Attribute{Computed: true},
			"text":     schema.StringAttribute{Optional: true, Computed: true, Default: stringdefault.StaticString("t")},
			"one":      schema.SingleNestedAttribute{Optional: true, Attributes: member()},
			"listed":   schema.ListNestedAttribute{Optional: true, NestedObject: nested},
			"keyed":    schema.MapNestedAttribute{Optional: true, NestedObject: nested},
			"some":     schema.SetNestedAttribute{Optional: true, NestedObject: nested},
		},
		Blocks: map[string]schema.Block{
			"step":   schema.ListNestedBlock{NestedObject: block},
			"port":   schema.SetNestedBlock{NestedObject: block},
			"option": schema.SingleNestedBlock{Attributes: map[string]schema.Attribute{"key": schema.StringAttribute{Optional: true}}},
		},
	}
}

// number is the computed number of a nested object, and the revision of a crate.
const number = 7

// known returns a planned value with values for those that are computed.
func known(v tftypes.Value, id string) (tftypes.Value, error) {
	return tftypes.Transform(v, func(p *tftypes.AttributePath, v tftypes.Value) (tftypes.Value, error) {
		switch {
		case v.IsKnown():
			return v, nil
		case v.Type().Is(tftypes.Number):
			return tftypes.NewValue(v.Type(), number), nil
		}
		return tftypes.NewValue(v.Type(), id), nil
	})
}

// plain returns a value as JSON has it.
func plain(v tftypes.Value) any {
	if v.IsNull() {
		return nil
	}
	var text string
	var n big.Float
	var object map[string]tftypes.Value
	var list []tftypes.Value
	switch {
	case v.As(&text) == nil:
		return text
	case v.As(&n) == nil:
		i, _ := n.Int64()
		return i
	case v.As(&object) == nil:
		out := map[string]any{}
		for k, e := range object {
			out[k] = plain(e)
		}
		return out
	case v.As(&list) == nil:
		out := []any{}
		for _, e := range list {
			out = append(out, plain(e))
		}
		return out
	}
	return nil
}

// valueOf returns a value of JSON in a type.
func valueOf(t tftypes.Type, v any) tftypes.Value {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]tftypes.Value{}
		if o, is := t.(tftypes.Object); is {
			for k, e := range o.AttributeTypes {
				out[k] = valueOf(e, v[k])
			}
			return tftypes.NewValue(t, out)
		}
		for k, e := range v {
			out[k] = valueOf(t.(tftypes.Map).ElementType, e)
		}
		return tftypes.NewValue(t, out)
	case []any:
		out := []tftypes.Value{}
		for _, e := range v {
			if s, is := t.(tftypes.Set); is {
				out = append(out, valueOf(s.ElementType, e))
			} else {
				out = append(out, valueOf(t.(tftypes.List).ElementType, e))
			}
		}
		return tftypes.NewValue(t, out)
	}
	return tftypes.NewValue(t, v)
}

// put sends a planned crate, and returns its state.
func (c *crate) put(
	ctx context.Context, method, path string, planned tftypes.Value, diags *diag.Diagnostics,
) tftypes.Value {
	v, err := known(planned, "")
	if err != nil {
		diags.AddError("Cannot complete the plan", err.Error())
		return planned
	}
	var made map[string]any
	if err := c.store.do(ctx, method, path, plain(v), &made); err != nil {
		diags.AddError("Cannot store the crate", err.Error())
		return planned
	}
	return valueOf(v.Type(), made)
}

func (c *crate) Create(ctx context.Context, q resource.CreateRequest, a *resource.CreateResponse) {
	if v := c.put(ctx, "POST", "/things", q.Plan.Raw, &a.Diagnostics); !a.Diagnostics.HasError() {
		a.State.Raw = v
	}
}

func (c *crate) Update(ctx context.Context, q resource.UpdateRequest, a *resource.UpdateResponse) {
	var id types.String
	a.Diagnostics.Append(q.State.GetAttribute(ctx, path.Root("id"), &id)...)
	v := c.put(ctx, "PUT", "/things/"+id.ValueString(), q.Plan.Raw, &a.Diagnostics)
	if !a.Diagnostics.HasError() {
		a.State.Raw = v
	}
}

func (c *crate) Read(ctx context.Context, q resource.ReadRequest, a *resource.ReadResponse) {
	var id types.String
	a.Diagnostics.Append(q.State.GetAttribute(ctx, path.Root("id"), &id)...)
	var d map[string]any
	err := c.store.do(ctx, "GET", "/things/"+id.ValueString(), nil, &d)
	switch {
	case errors.Is(err, errGone):
		a.State.RemoveResource(ctx)
	case err != nil:
		a.Diagnostics.AddError("Cannot read the crate", err.Error())
	default:
		a.State.Raw = valueOf(q.State.Raw.Type(), d)
	}
}

func (c *crate) Delete(ctx context.Context, q resource.DeleteRequest, a *resource.DeleteResponse) {
	var id types.String
	a.Diagnostics.Append(q.State.GetAttribute(ctx, path.Root("id"), &id)...)
	err := c.store.do(ctx, "DELETE", "/things/"+id.ValueString(), nil, nil)
	if err != nil && !errors.Is(err, errGone) {
		a.Diagnostics.AddError("Cannot delete the crate", err.Error())
	}
}
