package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-framework/datasource"
	"github.com/hashicorp/terraform-plugin-framework/ephemeral"
	"github.com/hashicorp/terraform-plugin-framework/function"
	"github.com/hashicorp/terraform-plugin-framework/list"
	"github.com/hashicorp/terraform-plugin-framework/path"
	"github.com/hashicorp/terraform-plugin-framework/provider"
	"github.com/hashicorp/terraform-plugin-framework/provider/schema"
	"github.com/hashicorp/terraform-plugin-framework/resource"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

type fwProvider struct{}

func newProvider() provider.Provider { return &fwProvider{} }

type providerModel struct {
	URL   types.String `tfsdk:"url"`
	Token types.String `tfsdk:"token"`
}

func (*fwProvider) Metadata(
	_ context.Context, _ provider.MetadataRequest, a *provider.MetadataResponse,
) {
	a.TypeName = "fw"
	a.Version = "1.0.0"
}

func (*fwProvider) Schema(
	_ context.Context, _ provider.SchemaRequest, a *provider.SchemaResponse,
) {
	a.Schema = schema.Schema{
		MarkdownDescription: "Documents of an *HTTP store*.",
		Attributes: map[string]schema.Attribute{
			"url":   schema.StringAttribute{Required: true, Description: "Address of the store."},
			"token": schema.StringAttribute{Optional: true, Sensitive: true},
		},
	}
}

func (*fwProvider) Configure(
	ctx context.Context, q provider.ConfigureRequest, a *provider.ConfigureResponse,
) {
	var m providerModel
	a.Diagnostics.Append(q.Config.Get(ctx, &m)...)
	if m.Token.ValueString() == "wrong" {
		a.Diagnostics.AddAttributeError(path.Root("token"), "Invalid token",
			"The store does not accept this token.")
	}
	s := &store{m.URL.ValueString(), m.Token.ValueString()}
	a.ResourceData, a.DataSourceData, a.EphemeralResourceData, a.ListResourceData = s, s, s, s
}

func (*fwProvider) Resources(context.Context) []func() resource.Resource {
	return []func() resource.Resource{func() resource.Resource { return &thing{} },
		func() resource.Resource { return &crate{} }}
}

func (*fwProvider) DataSources(context.Context) []func() datasource.DataSource {
	return []func() datasource.DataSource{
		func() datasource.DataSource { return process{} },
		func() datasource.DataSource { return &ballast{} },
	}
}

func (*fwProvider) Functions(context.Context) []func() function.Function {
	return []func() function.Function{func() function.Function { return upper{} }}
}

func (*fwProvider) EphemeralResources(context.Context) []func() ephemeral.EphemeralResource {
	return []func() ephemeral.EphemeralResource{
		func() ephemeral.EphemeralResource { return token{} },
	}
}

func (*fwProvider) ListResources(context.Context) []func() list.ListResource {
	return []func() list.ListResource{func() list.ListResource { return &things{} }}
}
