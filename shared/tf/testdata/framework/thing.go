package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/resource/identityschema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/planmodifier"
	"github.com/hashicorp/terraform-plugin-framework/resource/schema/stringplanmodifier"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// thing is a resource with all kinds of attributes.
type thing struct{ store *store }

type thingModel struct {
	ID         types.String  `tfsdk:"id"`
	Name       types.String  `tfsdk:"name"`
	Note       types.String  `tfsdk:"note"`
	Size       types.Int64   `tfsdk:"size"`
	Secret     types.String  `tfsdk:"secret"`
	Pin        types.String  `tfsdk:"pin_wo"`
	PinVersion types.Int64   `tfsdk:"pin_wo_version"`
	Any        types.Dynamic `tfsdk:"any"`
	Tags       types.Map     `tfsdk:"tags"`
	Parts      []partModel   `tfsdk:"parts"`
}

type partModel struct {
	Name types.String `tfsdk:"name"`
	No   types.Int64  `tfsdk:"no"`
}

type identityModel struct {
	ID types.String `tfsdk:"id"`
}

func (*thing) Metadata(
	_ context.Context, q resource.MetadataRequest, a *resource.MetadataResponse,
) {
	a.TypeName = q.ProviderTypeName + "_thing"
}

func (t *thing) Configure(
	_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse,
) {
	t.store, _ = q.ProviderData.(*store)
}

func (*thing) Schema(_ context.Context, _ resource.SchemaRequest, a *resource.SchemaResponse) {
	a.Schema = schema.Schema{
		Version: 2,
		Attributes: map[string]schema.Attribute{
			"id": schema.StringAttribute{Computed: true, PlanModifiers: []planmodifier.String{
				stringplanmodifier.UseStateForUnknown()}},
			"name": schema.StringAttribute{Required: true, PlanModifiers: []planmodifier.String{
				stringplanmodifier.RequiresReplace()}},
			"note": schema.StringAttribute{Optional: true,
				DeprecationMessage: "Use tags instead."},
			"size":           schema.Int64Attribute{Optional: true, Computed: true},
			"secret":         schema.StringAttribute{Optional: true, Sensitive: true},
			"pin_wo":         schema.StringAttribute{Optional: true, WriteOnly: true},
			"pin_wo_version": schema.Int64Attribute{Optional: true},
			"any":            schema.DynamicAttribute{Optional: true},
			"tags":           schema.MapAttribute{Optional: true, ElementType: types.StringType},
			"parts": schema.ListNestedAttribute{Optional: true,
				NestedObject: schema.NestedAttributeObject{Attributes: map[string]schema.Attribute{
					"name": schema.StringAttribute{Required: true},
					"no":   schema.Int64Attribute{Computed: true},
				}}},
		},
	}
}

func (*thing) IdentitySchema(
	_ context.Context, _ resource.IdentitySchemaRequest, a *resource.IdentitySchemaResponse,
) {
	a.IdentitySchema = identityschema.Schema{Attributes: map[string]identityschema.Attribute{
		"id": identityschema.StringAttribute{RequiredForImport: true},
	}}
}

// document returns the document of a planned thing. The pin comes from the configuration.
func (m thingModel) document(ctx context.Context, pin types.String) document {
	d := document{ID: m.ID.ValueString(), Name: m.Name.ValueString(), Note: m.Note.ValueString(),
		Size: m.Size.ValueInt64(), Pin: pin.ValueString()}
	if !m.Any.IsNull() {
		d.Any, _ = json.Marshal(m.Any.String())
	}
	m.Tags.ElementsAs(ctx, &d.Tags, false)
	for _, p := range m.Parts {
		d.Parts = append(d.Parts, part{Name: p.Name.ValueString()})
	}
	return d
}

// fill replaces the values of a model that the store decides.
func (m *thingModel) fill(d document) {
	m.ID, m.Size = types.StringValue(d.ID), types.Int64Value(d.Size)
	m.Pin = types.StringNull()
	for i := range m.Parts {
		no := types.Int64Null()
		if i < len(d.Parts) {
			no = types.Int64Value(d.Parts[i].No)
		}
		m.Parts[i].No = no
	}
}

func (t *thing) Create(
	ctx context.Context, q resource.CreateRequest, a *resource.CreateResponse,
) {
	var m, config thingModel
	a.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
	a.Diagnostics.Append(q.Config.Get(ctx, &config)...)
	if a.Diagnostics.HasError() {
		return
	}
	want := m.document(ctx, config.Pin)
	var made document
	if err := t.store.do(ctx, "POST", "/things", want, &made); err != nil {
		a.Diagnostics.AddError("Cannot create the thing", err.Error())
		return
	}
	m.fill(made)
	a.Diagnostics.Append(a.State.Set(ctx, &m)...)
	a.Diagnostics.Append(a.Identity.Set(ctx, identityModel{m.ID})...)
	a.Diagnostics.Append(a.Private.SetKey(ctx, "made", []byte(`{"by":"create"}`))...)
	// a second request, so that a create can fail after the thing exists
	if err := t.store.do(ctx, "POST", "/things/"+made.ID+"/ready", nil, nil); err != nil {
		a.Diagnostics.AddError("The thing does not become ready", err.Error())
	}
}

func (t *thing) Read(ctx context.Context, q resource.ReadRequest, a *resource.ReadResponse) {
	var m thingModel
	a.Diagnostics.Append(q.State.Get(ctx, &m)...)
	var d document
	err := t.store.do(ctx, "GET", "/things/"+m.ID.ValueString(), nil, &d)
	if errors.Is(err, errGone) {
		a.State.RemoveResource(ctx)
		return
	}
	if err != nil {
		a.Diagnostics.AddError("Cannot read the thing", err.Error())
		return
	}
	m.Name = types.StringValue(d.Name)
	if d.Note != "" || !m.Note.IsNull() {
		m.Note = types.StringValue(d.Note)
	}
	if d.Secret != "" {
		m.Secret = types.StringValue(d.Secret)
	}
	if len(d.Tags) > 0 || !m.Tags.IsNull() {
		tags, diags := types.MapValueFrom(ctx, types.StringType, d.Tags)
		a.Diagnostics.Append(diags...)
		m.Tags = tags
	}
	if m.Parts == nil && d.Parts != nil {
		m.Parts = make([]partModel, len(d.Parts))
	}
	for i := range m.Parts {
		if i < len(d.Parts) {
			m.Parts[i].Name = types.StringValue(d.Parts[i].Name)
		}
	}
	m.fill(d)
	a.Diagnostics.Append(a.State.Set(ctx, &m)...)
	a.Diagnostics.Append(a.Identity.Set(ctx, identityModel{m.ID})...)
}

func (t *thing) Update(
	ctx context.Context, q resource.UpdateRequest, a *resource.UpdateResponse,
) {
	var m, config thingModel
	a.Diagnostics.Append(q.Plan.Get(ctx, &m)...)
	a.Diagnostics.Append(q.Config.Get(ctx, &config)...)
	if a.Diagnostics.HasError() {
		return
	}
	var d document
	err := t.store.do(ctx, "PUT", "/things/"+m.ID.ValueString(), m.document(ctx, config.Pin), &d)
	if err != nil {
		a.Diagnostics.AddError("Cannot update the thing", err.Error())
		return
	}
	m.fill(d)
	a.Diagnostics.Append(a.State.Set(ctx, &m)...)
	a.Diagnostics.Append(a.Identity.Set(ctx, identityModel{m.ID})...)
}

func (t *thing) Delete(
	ctx context.Context, q resource.DeleteRequest, a *resource.DeleteResponse,
) {
	var id types.String
	a.Diagnostics.Append(q.State.GetAttribute(ctx, path.Root("id"), &id)...)
	err := t.store.do(ctx, "DELETE", "/things/"+id.ValueString(), nil, nil)
	if err != nil && !errors.Is(err, errGone) {
		a.Diagnostics.AddError("Cannot delete the thing", err.Error())
	}
}

func (t *thing) ImportState(
	ctx context.Context, q resource.ImportStateRequest, a *resource.ImportStateResponse,
) {
	resource.ImportStatePassthroughWithIdentity(ctx, path.Root("id"), path.Root("id"), q, a)
}

// UpgradeState accepts states of version 1, whose name was called title.
func (t *thing) UpgradeState(context.Context) map[int64]resource.StateUpgrader {
	return map[int64]resource.StateUpgrader{1: {StateUpgrader: func(
		ctx context.Context, q resource.UpgradeStateRequest, a *resource.UpgradeStateResponse,
	) {
		t.from(ctx, q.RawState.JSON, a.State.Set, &a.Diagnostics)
	}}}
}

// MoveState accepts states of the type fw_old, whose name was called title.
func (t *thing) MoveState(context.Context) []resource.StateMover {
	return []resource.StateMover{{StateMover: func(
		ctx context.Context, q resource.MoveStateRequest, a *resource.MoveStateResponse,
	) {
		if q.SourceTypeName == "fw_old" {
			t.from(ctx, q.SourceRawState.JSON, a.TargetState.Set, &a.Diagnostics)
		}
	}}}
}
