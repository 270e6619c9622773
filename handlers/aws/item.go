package aws

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/diag"
	"southbound/shared/diff"
	"southbound/shared/provider"
	"southbound/shared/resource"
	"southbound/shared/schema"
	conn "southbound/shared/transport/aws"
)

const (
	maxItem      = 400 << 10 // bytes, of names and values
	maxNesting   = 32
	itemsAtOnce  = 100
	itemKeyType  = "Variant[String[1], Numeric]"
	itemNameType = "String[1, 255]"
)

// item is the handler of aws::dynamodb::Item.
type item struct{}

// Item declares aws::dynamodb::Item.
func Item() provider.Definition {
	return provider.Definition{
		Type: schema.Type{
			Listed: []string{"table"},
			Name:   "aws::dynamodb::Item",
			Description: "An item of a DynamoDB table. Each change is one atomic request that sets all given " +
				"attributes. Other attributes are left unchanged, unless exclusive is true.",
			Transports: []string{"aws"},
			Attributes: []schema.Attribute{
				{Name: "table", Type: `Pattern[/\A[a-zA-Z0-9_.-]{3,255}\z/]`,
					Behaviour: schema.Namevar, Description: "the table"},
				{Name: "name", Type: "String[1]", Behaviour: schema.Namevar,
					Description: "a name for the item, unique in the table; it is not stored in DynamoDB"},
				{Name: "key", Type: "Hash[" + itemNameType + ", " + itemKeyType + ", 1, 2]",
					Behaviour: schema.Parameter,
					Description: "the attributes of the table's key: the partition key, and the sort key if " +
						"there is one"},
				{Name: "values", Type: "Hash[" + itemNameType + ", Any]", Default: map[string]any{},
					Description: "attributes beside the key: text, numbers, booleans, null, " +
						"lists and maps"},
				{Name: "sets",
					Type: "Optional[Hash[" + itemNameType +
						", Enum['texts', 'numbers', 'bytes']]]",
					Behaviour:   schema.Parameter,
					Description: "attributes whose lists are sets, without order and duplicates"},
				{Name: "bytes", Type: "Optional[Array[" + itemNameType + "]]",
					Behaviour:   schema.Parameter,
					Description: "attributes, also of the key, whose text is base64 of bytes; also in sets"},
				{Name: "absent", Type: "Optional[Array[" + itemNameType + "]]",
					Behaviour:   schema.Parameter,
					Description: "attributes that the item must not have"},
				{Name: "exclusive", Type: "Boolean", Default: false, Behaviour: schema.Parameter,
					Description: "true: it has no attributes except these and the key"},
				{Name: "extra", Type: "Optional[Array[String]]", Behaviour: schema.ReadOnly,
					Description: "attributes that exist and must not"},
			},
			Features: []string{"batch", "discover"},
			Validate: validItem,
			Thing:    itemThing,
		},
		Handler: item{},
	}
}

// validItem checks the rules about several attributes.
func validItem(attrs map[string]any) []diag.Problem {
	var out []diag.Problem
	bad := func(attribute, hint, format string, args ...any) {
		out = append(out, diag.Problem{Attribute: attribute, Message: fmt.Sprintf(format, args...),
			Hint: hint})
	}
	key, _ := attrs["key"].(map[string]any)
	values, _ := attrs["values"].(map[string]any)
	if provider.HasSecret(values) || provider.HasSecret(key) {
		bad("values", "keep it in Secrets Manager or a SecureString, and its name here",
			"a secret would be stored in the open")
	}
	for _, ref := range resource.References(values) {
		if _, ok := ref.(resource.File); ok {
			bad("values", "keep it in S3, and its key here",
				"an uploaded file cannot be stored in an item")
			break
		}
	}
	absent, _ := attrs["absent"].([]any)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if key[name] != nil {
			bad("values", "leave it out", "%q is part of the key", name)
		}
		if slices.Contains(absent, any(name)) {
			bad("absent", "leave it out in one place", "%q is wanted and not wanted", name)
		}
	}
	for _, name := range absent {
		if n, _ := name.(string); key[n] != nil {
			bad("absent", "leave it out", "%q is part of the key", n)
		}
	}
	sets, _ := attrs["sets"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		if list, ok := values[name].([]any); values[name] != nil && (!ok || len(list) == 0) &&
			len(resource.References(values[name])) == 0 {
			bad("sets", "name the attribute in absent instead of giving it an empty set",
				"%q is not a list with something in it", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		if formsOf(attrs)[name] != sets[name] {
			bad("bytes", "keep it in sets", "%q is a set", name)
		}
	}
	if len(resource.References(key)) == 0 {
		if _, err := toItem(key, formsOf(attrs), 0); err != nil {
			bad("key", "", "%v", err)
		}
	}
	if len(resource.References(values)) == 0 {
		if m, err := toItem(values, formsOf(attrs), 0); err != nil {
			bad("values", "", "%v", err)
		} else if size := sizeOf(&types.AttributeValueMemberM{Value: m}); size > maxItem {
			bad("values", "keep the large ones in S3, and their keys here",
				"the item is larger than %d KB", maxItem>>10)
		}
	}
	return out
}

func dynamoClient(ctx *provider.Context, table string) (*dynamodb.Client, error) {
	c, err := connection(ctx)
	if err != nil {
		return nil, err
	}
	if c.Reserved(table) {
		return nil, provider.Errorf(provider.NeedsChange,
			"the table %s holds the state of Southbound itself", table)
	}
	return conn.Client(c, func(cfg sdk.Config) *dynamodb.Client {
		return dynamodb.NewFromConfig(cfg)
	}), nil
}

// keyOf returns the key of an item.
func keyOf(r provider.Resource) (map[string]types.AttributeValue, error) {
	key, _ := r.Attributes["key"].(map[string]any)
	out, err := toItem(key, formsOf(r.Attributes), 0)
	if err != nil {
		return nil, provider.Errorf(provider.NeedsChange, "the key: %w", err)
	}
	return out, nil
}

// keyText returns a text that is unique for a key.
func keyText(key map[string]types.AttributeValue) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(key)) {
		switch v := key[name].(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&b, "%q=%q;", name, v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&b, "%q=%s;", name, plainNumber(v.Value))
		case *types.AttributeValueMemberB:
			fmt.Fprintf(&b, "%q=bytes %s;", name, base64.StdEncoding.EncodeToString(v.Value))
		}
	}
	return b.String()
}

// formsOf returns the attributes whose type their values do not show: sets of a kind, or bytes.
func formsOf(attrs map[string]any) map[string]any {
	out := map[string]any{}
	sets, _ := attrs["sets"].(map[string]any)
	maps.Copy(out, sets)
	list, _ := attrs["bytes"].([]any)
	for _, name := range list {
		if n, ok := name.(string); ok {
			out[n] = formBytes
		}
	}
	return out
}

// itemThing names an item by its table and key.
func itemThing(attrs map[string]any) schema.Thing {
	key, _ := attrs["key"].(map[string]any)
	table, ok := attrs["table"].(string)
	if !ok || len(key) == 0 || len(resource.References(key)) > 0 {
		return schema.Thing{}
	}
	k, err := toItem(key, formsOf(attrs), 0)
	if err != nil {
		return schema.Thing{}
	}
	return schema.NewThing("the item " + strings.TrimSuffix(keyText(k), ";") + " of the table " +
		table)
}

// Diff implements provider.Differ.
func (item) Diff(
	_ *provider.Context, desired provider.Resource, observed provider.Observation,
) (map[string]diff.Diff, error) {
	out := map[string]diff.Diff{}
	want, _ := desired.Attributes["values"].(map[string]any)
	have, _ := observed.Attributes["values"].(map[string]any)
	for name, w := range want {
		if h, there := have[name]; !there || !resource.Equal(w, h) {
			out["values"] = diff.Diff{Current: have, Desired: want}
		}
	}
	if extra, _ := observed.Attributes["extra"].([]any); len(extra) > 0 {
		shown := maps.Clone(have)
		for _, name := range extra {
			n, _ := name.(string)
			shown[n] = "(to be removed)"
		}
		out["values"] = diff.Diff{Current: shown, Desired: want}
	}
	return out, nil
}

// Read implements provider.Handler.
func (i item) Read(ctx *provider.Context, req provider.ReadRequest) (provider.Observation, error) {
	return provider.ReadOne(ctx, i, req)
}

// seen returns an item as an observation: its desired attributes, and those that it must not have.
func seen(r provider.Resource, have map[string]types.AttributeValue) provider.Observation {
	if r.Purged {
		return provider.Observation{Exists: true}
	}
	want, _ := r.Attributes["values"].(map[string]any)
	key, _ := r.Attributes["key"].(map[string]any)
	forms := formsOf(r.Attributes)
	absent, _ := r.Attributes["absent"].([]any)
	exclusive, _ := r.Attributes["exclusive"].(bool)
	attrs, extra := map[string]any{}, []any{}
	for _, name := range slices.Sorted(maps.Keys(have)) {
		if w, wanted := want[name]; wanted {
			form, _ := forms[name].(string)
			attrs[name] = seenValue(have[name], w, form)
		} else if _, in := key[name]; !in && (exclusive || slices.Contains(absent, any(name))) {
			extra = append(extra, name)
		}
	}
	out := map[string]any{"values": attrs}
	if len(extra) > 0 {
		out["extra"] = extra
	}
	return provider.Observation{Exists: true, Attributes: out}
}

// seenValue returns an attribute in the form of the desired value: a list or a set.
func seenValue(have types.AttributeValue, want any, form string) any {
	switch have := have.(type) {
	case *types.AttributeValueMemberB:
		if form != formBytes {
			break
		}
		if b, err := base64.StdEncoding.DecodeString(fmt.Sprint(want)); err == nil &&
			bytes.Equal(b, have.Value) {
			return want
		}
		return base64.StdEncoding.EncodeToString(have.Value)
	case *types.AttributeValueMemberS:
		if form == formBytes {
			return map[string]any{"text": have.Value}
		}
	case *types.AttributeValueMemberL:
		if form != "" {
			return map[string]any{"list": fromItem(have, nil)}
		}
	case *types.AttributeValueMemberSS, *types.AttributeValueMemberNS,
		*types.AttributeValueMemberBS:
		if form != "" {
			return fromItem(have, want)
		}
	}
	v := fromItem(have, nil)
	if special(have) {
		v = map[string]any{"holds sets or bytes": v} // so that no map in a document is like it
	}
	return v
}

// special reports whether a value is a set or bytes, or contains one: documents can declare these
// types only for attributes of the item itself.
func special(v types.AttributeValue) bool {
	switch v := v.(type) {
	case *types.AttributeValueMemberB, *types.AttributeValueMemberSS, *types.AttributeValueMemberNS,
		*types.AttributeValueMemberBS:
		return true
	case *types.AttributeValueMemberL:
		return slices.ContainsFunc(v.Value, special)
	case *types.AttributeValueMemberM:
		for _, e := range v.Value {
			if special(e) {
				return true
			}
		}
	}
	return false
}

// Create implements provider.Handler.
func (i item) Create(ctx *provider.Context, req provider.CreateRequest) (provider.Result, error) {
	return provider.Result{}, i.set(ctx, req.Resource, nil)
}

// Update implements provider.Handler.
func (i item) Update(ctx *provider.Context, req provider.UpdateRequest) (provider.Result, error) {
	extra, _ := req.Observed.Attributes["extra"].([]any)
	return provider.Result{}, i.set(ctx, req.Resource, extra)
}

// set sets all desired attributes and removes those that must not exist, in one request. Other
// attributes are left unchanged, and a missing item is created.
func (item) set(ctx *provider.Context, r provider.Resource, extra []any) error {
	table := text(r, "table")
	api, err := dynamoClient(ctx, table)
	if err != nil {
		return err
	}
	in := &dynamodb.UpdateItemInput{TableName: &table}
	if in.Key, err = keyOf(r); err != nil {
		return err
	}
	want, _ := r.Attributes["values"].(map[string]any)
	values, err := toItem(want, formsOf(r.Attributes), 0)
	if err != nil {
		return provider.Errorf(provider.NeedsChange, "%w", err)
	}
	if absent, _ := r.Attributes["absent"].([]any); len(extra) == 0 {
		extra = absent
	}
	names := map[string]string{}
	var set, remove []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		n := fmt.Sprint(len(names))
		names["#"+n] = name
		if in.ExpressionAttributeValues == nil {
			in.ExpressionAttributeValues = map[string]types.AttributeValue{}
		}
		in.ExpressionAttributeValues[":"+n] = values[name]
		set = append(set, "#"+n+" = :"+n)
	}
	for _, name := range extra {
		n := fmt.Sprint("#", len(names))
		names[n], _ = name.(string)
		remove = append(remove, n)
	}
	expression := ""
	if len(set) > 0 {
		expression = "SET " + strings.Join(set, ", ")
	}
	if len(remove) > 0 {
		expression += " REMOVE " + strings.Join(remove, ", ")
	}
	if expression != "" {
		in.UpdateExpression, in.ExpressionAttributeNames = sdk.String(
			strings.TrimSpace(expression)), names
	}
	_, err = api.UpdateItem(ctx, in)
	return failure("set the item "+text(r, "name")+" of the table "+table, err)
}

// Delete implements provider.Handler.
func (item) Delete(ctx *provider.Context, req provider.DeleteRequest) (provider.Result, error) {
	table := text(req.Resource, "table")
	api, err := dynamoClient(ctx, table)
	if err != nil {
		return provider.Result{}, err
	}
	key, err := keyOf(req.Resource)
	if err != nil {
		return provider.Result{}, err
	}
	_, err = api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &table, Key: key})
	return provider.Result{},
		failure("delete the item "+text(req.Resource, "name")+" of the table "+table, err)
}

// ApplyBatch implements provider.BatchApplier: no request changes parts of several items, so
// several requests run concurrently.
func (i item) ApplyBatch(ctx context.Context, items []provider.BatchChange) []provider.Applied {
	out := make([]provider.Applied, len(items))
	each(len(items), func(n int) {
		if out[n].Err = stopped(ctx); out[n].Err == nil {
			c := items[n]
			c.Context = c.Context.With(ctx)
			out[n].Result, out[n].Err = provider.Apply(i, c)
		}
	})
	return out
}
