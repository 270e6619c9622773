// Command sdk is a provider of version 5 for tests, on terraform-plugin-sdk. Its resources are
// documents in an HTTP store, whose faults the tests control.
package main

import (
	"context"

	"github.com/hashicorp/terraform-plugin-sdk/v2/diag"
	"github.com/hashicorp/terraform-plugin-sdk/v2/helper/schema"
	"github.com/hashicorp/terraform-plugin-sdk/v2/plugin"
)

func main() {
	plugin.Serve(&plugin.ServeOpts{ProviderFunc: newProvider})
}

func newProvider() *schema.Provider {
	return &schema.Provider{
		Schema: map[string]*schema.Schema{
			"url": {Type: schema.TypeString, Required: true, Description: "Address of the store."},
			"token": {Type: schema.TypeString, Optional: true, Sensitive: true,
				DefaultFunc: schema.EnvDefaultFunc("SDK_TOKEN", nil)},
		},
		ResourcesMap:   map[string]*schema.Resource{"sdk_server": server(), "sdk_net": net()},
		DataSourcesMap: map[string]*schema.Resource{"sdk_server": found()},
		ConfigureContextFunc: func(
			_ context.Context, d *schema.ResourceData,
		) (any, diag.Diagnostics) {
			return &store{d.Get("url").(string), d.Get("token").(string)}, nil
		},
	}
}
