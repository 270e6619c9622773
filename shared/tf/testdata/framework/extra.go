package main

import (
	"context"
	"os"
	"strings"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/datasource/schema"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	eschema "github.com/hashicorp/terraform-plugin-framework/ephemeral/schema"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	lschema "github.com/hashicorp/terraform-plugin-framework/list/schema"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// process is a data source of the process itself.
type process struct{}

type processModel struct {
	PID         types.Int64  `tfsdk:"pid"`
	Environment types.List   `tfsdk:"environment"`
	Logged      types.String `tfsdk:"logged"`
	Exit        types.Int64  `tfsdk:"exit"`
}

func (process) Metadata(
	_ context.Context, q datasource.MetadataRequest, a *datasource.MetadataResponse,
) {
	a.TypeName = q.ProviderTypeName + "_process"
}

func (process) Schema(_ context.Context, _ datasource.SchemaRequest, a *datasource.SchemaResponse) {
	a.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"pid":         schema.Int64Attribute{Computed: true},
		"environment": schema.ListAttribute{Computed: true, ElementType: types.StringType},
		"logged": schema.StringAttribute{Optional: true,
			Description: "A text to write to stderr."},
		"exit": schema.Int64Attribute{Optional: true,
			Description: "The exit code with which the process ends during the call."},
	}}
}

func (process) Read(ctx context.Context, q datasource.ReadRequest, a *datasource.ReadResponse) {
	var m processModel
	a.Diagnostics.Append(q.Config.Get(ctx, &m)...)
	if text := m.Logged.ValueString(); text != "" {
		_, _ = os.Stderr.WriteString(text + "\n")
	}
	if !m.Exit.IsNull() {
		os.Exit(int(m.Exit.ValueInt64()))
	}
	m.PID = types.Int64Value(int64(os.Getpid()))
	env, diags := types.ListValueFrom(ctx, types.StringType, os.Environ())
	a.Diagnostics.Append(diags...)
	m.Environment = env
	a.Diagnostics.Append(a.State.Set(ctx, &m)...)
}

// ballast is a data source that keeps memory.
type ballast struct{}

// held is the memory that the process keeps.
var held [][]byte

func (*ballast) Metadata(
	_ context.Context, q datasource.MetadataRequest, a *datasource.MetadataResponse,
) {
	a.TypeName = q.ProviderTypeName + "_ballast"
}

func (*ballast) Schema(
	_ context.Context, _ datasource.SchemaRequest, a *datasource.SchemaResponse,
) {
	a.Schema = schema.Schema{Attributes: map[string]schema.Attribute{
		"mebibytes": schema.Int64Attribute{Required: true},
	}}
}

func (*ballast) Read(ctx context.Context, q datasource.ReadRequest, a *datasource.ReadResponse) {
	var n types.Int64
	a.Diagnostics.Append(q.Config.GetAttribute(ctx, path.Root("mebibytes"), &n)...)
	b := make([]byte, n.ValueInt64()<<20)
	for i := 0; i < len(b); i += 4096 {
		b[i] = 1
	}
	held = append(held, b)
	a.State.Raw = q.Config.Raw
}

// upper is a function.
type upper struct{}

func (upper) Metadata(
	_ context.Context, _ function.MetadataRequest, a *function.MetadataResponse,
) {
	a.Name = "upper"
}

func (upper) Definition(
	_ context.Context, _ function.DefinitionRequest, a *function.DefinitionResponse,
) {
	a.Definition = function.Definition{
		Parameters: []function.Parameter{function.StringParameter{Name: "text"}},
		Return:     function.StringReturn{},
	}
}

func (upper) Run(ctx context.Context, q function.RunRequest, a *function.RunResponse) {
	var text string
	if a.Error = q.Arguments.Get(ctx, &text); a.Error == nil {
		a.Error = a.Result.Set(ctx, strings.ToUpper(text))
	}
}

// token is an ephemeral resource.
type token struct{}

func (token) Metadata(
	_ context.Context, q ephemeral.MetadataRequest, a *ephemeral.MetadataResponse,
) {
	a.TypeName = q.ProviderTypeName + "_token"
}

func (token) Schema(_ context.Context, _ ephemeral.SchemaRequest, a *ephemeral.SchemaResponse) {
	a.Schema = eschema.Schema{Attributes: map[string]eschema.Attribute{
		"value": eschema.StringAttribute{Computed: true, Sensitive: true},
	}}
}

func (token) Open(ctx context.Context, _ ephemeral.OpenRequest, a *ephemeral.OpenResponse) {
	a.Diagnostics.Append(a.Result.SetAttribute(ctx, path.Root("value"), "a token")...)
}

// things lists the things of the store.
type things struct{ store *store }

func (*things) Metadata(
	_ context.Context, q resource.MetadataRequest, a *resource.MetadataResponse,
) {
	a.TypeName = q.ProviderTypeName + "_thing"
}

func (l *things) Configure(
	_ context.Context, q resource.ConfigureRequest, _ *resource.ConfigureResponse,
) {
	l.store, _ = q.ProviderData.(*store)
}

func (*things) ListResourceConfigSchema(
	_ context.Context, _ list.ListResourceSchemaRequest, a *list.ListResourceSchemaResponse,
) {
	a.Schema = lschema.Schema{}
}

func (l *things) List(ctx context.Context, q list.ListRequest, a *list.ListResultsStream) {
	var found []document
	err := l.store.do(ctx, "GET", "/things", nil, &found)
	a.Results = func(push func(list.ListResult) bool) {
		if err != nil {
			r := q.NewListResult(ctx)
			r.Diagnostics.AddError("Cannot list things", err.Error())
			push(r)
			return
		}
		for _, d := range found {
			r := q.NewListResult(ctx)
			r.DisplayName = d.Name
			r.Diagnostics.Append(r.Identity.SetAttribute(ctx, path.Root("id"), d.ID)...)
			if !push(r) {
				return
			}
		}
	}
}
