package main

import (
	"context"
	"encoding/json"

	"github.com/hashicorp/terraform-plugin-framework/diag"
	"github.com/hashicorp/terraform-plugin-framework/types"
)

// from sets a state to the present form of a former state.
func (*thing) from(
	ctx context.Context, former []byte, set func(context.Context, any) diag.Diagnostics,
	diags *diag.Diagnostics,
) {
	var old struct{ ID, Title string }
	if err := json.Unmarshal(former, &old); err != nil {
		diags.AddError("The state is not readable", err.Error())
		return
	}
	diags.Append(set(ctx, &thingModel{ID: types.StringValue(old.ID),
		Name: types.StringValue(old.Title), Any: types.DynamicNull(),
		Tags: types.MapNull(types.StringType)})...)
}
