package api_test

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/api"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/service/definition"
	"southbound/shared/service/inventory"
	"southbound/shared/service/lifecycle"
	"southbound/shared/service/orders"
)

func ptr[T any](v T) *T { return &v }

// shop is a server that offers customers and sites.
func shop(t *testing.T) *world {
	t.Helper()
	w := start(t, nil)
	text, err := os.ReadFile("../service/lifecycle/testdata/service.json")
	if err != nil {
		t.Fatal(err)
	}
	m := new(lifecycle.Machine)
	if err := json.Unmarshal(text, m); err != nil {
		t.Fatal(err)
	}
	customer := definition.Service{
		Name: "customer", Default: true, Identity: ptr("name"), Lifecycle: *m,
		Part: definition.Part{Attributes: []definition.Attribute{
			{Name: "name", Type: "string", Modifier: definition.Once},
			{Name: "size", Type: "int?", Modifier: definition.ReadWrite},
		}},
	}
	site := definition.Service{
		Name: "site", Default: true, Lifecycle: *m, Part: definition.Part{
			Relations: []definition.Relation{{
				Name: "customer", Service: "customer", Modifier: definition.Once,
				Limits: definition.Limits{Lower: 1, Upper: ptr(1)},
			}},
		},
	}
	all := []definition.Service{customer, site}
	if err := w.home.Definitions().Put(t.Context(), "default", "b", all); err != nil {
		t.Fatal(err)
	}
	return w
}

const customers = "/lsm/v1/service_inventory/customer"

// order asks for something with the header of the environment.
func (w *world) order(t *testing.T, method, path, body string) (int, map[string]any) {
	t.Helper()
	resp, text := w.ask(t, method, path, body, "X-Inmanta-tid", "default", "Content-Type",
		"application/json")
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s %s: %v: %s", method, path, err, text)
	}
	return resp.StatusCode, v
}

// TestOrdersOverHTTP asks what the public clients of the peer ask, as they ask it.
func TestOrdersOverHTTP(t *testing.T) {
	t.Parallel()
	w := shop(t)
	code, v := w.order(t, http.MethodPost, customers, `{"attributes": {"name": "a", "size": null},
		"service_instance_id": null}`)
	one, _ := v["data"].(map[string]any)
	if code != http.StatusOK || one["state"] != "start" || one["service_entity"] != "customer" {
		t.Fatalf("%d %v", code, v)
	}
	id, _ := one["id"].(string)
	suggested := state.Parameter{
		Name: "sizes", Value: `["a", {"label": "B", "value": 7}]`, Source: "model",
	}
	other := state.Parameter{Name: "other", Value: `["x"]`, Source: "user"}
	if err := w.service.Engine.SetParameters(t.Context(), "default", suggested, other); err != nil {
		t.Fatal(err)
	}
	const placed = "0b1c0f9e-5f0a-4a57-9d5c-0a9b1b1f8f11"
	for _, c := range []struct {
		method, path, body string
		code               int
		has                string
	}{
		{"GET", "/lsm/v1/service_catalog", "", 200, `"name":"customer"`},
		{"GET", "/lsm/v1/service_catalog/customer?instance_summary=True", "", 200, `"start":1`},
		{"GET", "/lsm/v2/service_catalog/customer/0", "", 200, `"service_identity":"name"`},
		{"GET", "/lsm/v2/service_catalog/customer/0/schema", "", 200, `"title":"customer"`},
		{"GET", "/lsm/v1/service_catalog/customer/config", "", 200, `"data":{}`},
		{"GET", "/lsm/v2/service_catalog/customer/0/config", "", 200, `"data":{}`},
		{"GET", "/lsm/v1/service_catalog/none/config", "", 404, `"not_found"`},
		{"POST", "/lsm/v1/service_catalog/customer/config", `{"values": {"a": true}}`, 501,
			`service_inventory/SERVICE/ID/config`},
		{"POST", "/lsm/v1/exporter/export_service_definition", `{"service_entities": []}`, 501,
			`southbound service export PATH --api URL`},
		{"GET", customers + "/" + id, "", 200, `"referenced_by":[]`},
		{"GET", customers + "/name=a?include_deployment_progress=True", "", 200, `"total":0`},
		{"GET", "/lsm/v1/service_inventory/-/" + id, "", 200,
			`"service_identity_attribute_value":"a"`},
		{"GET", customers + "/" + id + "/events", "", 200, `"event_type":"CREATE_TRANSITION"`},
		{"GET", customers + "/" + id + "/log", "", 200, `"candidate_attributes":{"name":"a"`},
		{"GET", customers + "/" + id + "/log?end=1&limit=1", "", 200, `"data":[]`},
		{"GET", customers + "/" + id + "/resources", "", 200, `"data":[]`},
		{"GET", customers + "/" + id + "/diagnose", "", 200, `"rejections":[]`},
		{"GET", customers + "/" + id + "/config", "", 200, `"data":{}`},
		{"POST", customers + "/" + id + "/metadata/key", `{"service_id": "` + id + `",
			"body": {"value": "v", "current_version": 1}}`, 200, `"metadata":{"key":"v"}`},
		{"POST", customers + "/" + id + "/metadata/key", `{"value": "w", "current_version": 1}`,
			200, `"metadata":{"key":"w"}`},
		{"POST", customers + "/" + id + "/metadata/key", `{"current_version": 1}`, 422,
			`either value or body`},
		{"POST", customers + "/" + id + "/metadata/key", `{"current_version": 1,
			"body": {"value": "v", "current_version": 2}}`, 422,
			`current_version is 1 in the body, and 2 in its member body`},
		{"DELETE", customers + "/" + id + "/metadata/key?current_version=1", "", 200,
			`"metadata":{}`},
		{"POST", customers + "/" + id + "/expert/state", `{"current_version": 1,
			"target_state": "up", "operation": "promote", "message": "m"}`, 200, `"state":"up"`},
		{"PATCH", customers + "/" + id + "?current_version=1", `{"attributes": {}}`, 409,
			`"conflict"`},
		{"PATCH", customers + "/" + id, `{"attributes": {}}`, 422, `current_version is missing`},
		{"PATCH", customers + "/" + id + "?current_version=2", `{"attributes": {"name": "b"}}`, 422,
			`"attribute":"name","code":"attribute_modifier"`},
		{"PATCH", "/lsm/v2/service_inventory/customer/" + id + "?current_version=2",
			`{"patch_id": "p",
			"edit": [{"edit_id": "e", "operation": "replace", "target": ".", "value": {"size": 7}}]}`,
			200, `"size":7`},
		{"POST", customers + "/" + id + "/state", `{"current_version": 3, "target_state": "start",
			"message": "m"}`, 409, `"conflict"`},
		{"POST", customers, `{"attributes": {"name": "a"}}`, 422, `"code":"attribute_identity"`},
		{"POST", customers, `{"attributes": {"name": 1}}`, 422, `"code":"attribute_type"`},
		{"POST", customers, `{"attributes": {"name": "` + strings.Repeat("x", 98400) + `"}}`, 422,
			`"code":"too_large"`},
		{"POST", "/lsm/v1/service_inventory/none", `{"attributes": {}}`, 404, `"not_found"`},
		{"GET", customers + "/nobody", "", 404, `"not_found"`},
		{"POST", customers + "/nobody", "{}", 405, `GET, HEAD, PUT, PATCH, DELETE`},
		{"DELETE", customers + "/" + id + "?current_version=3", "", 409, `"conflict"`},
		{"PATCH", customers + "/" + id + "/update_entity_version", `{"current_version": 3,
			"target_entity_version": 7, "state": "start", "candidate_attributes": {"name": "a"}}`,
			404,
			`"not_found"`},
		{"PATCH", customers + "/" + id + "/update_entity_version", `{"current_version": 3,
			"target_entity_version": 0, "state": "none", "candidate_attributes": {"name": "a"}}`,
			422,
			`has no state none`},
		{"PATCH", customers + "/" + id + "/update_entity_version", `{"current_version": 3,
			"target_entity_version": 0, "state": "start", "candidate_attributes": {"name": "b"},
			"active_attributes": {"size": "x"}}`, 422, `"attribute_modifier"`},
		{"PATCH", customers + "/" + id + "/update_entity_version", `{"current_version": 2,
			"target_entity_version": 0, "state": "start", "active_attributes": null}`, 409,
			`"conflict"`},
		{"PATCH", customers + "/" + id + "/update_entity_version", `{"current_version": 3,
			"target_entity_version": 0, "state": "start", "active_attributes": null}`, 422,
			`would have no attributes`},
		{"PATCH", customers + "/" + id + "/update_entity_version", `{"current_version": 3,
			"target_entity_version": 0, "state": "start", "candidate_attributes": {"name": "a", "size": 9},
			"active_attributes": null, "rollback_attributes": null}`, 200,
			`"candidate_attributes":{"name":"a","size":9}`},
		{"POST", "/lsm/v2/order", `{"service_order_items": [
			{"instance_id": "c", "service_entity": "customer", "action": "create", "config": {},
			 "attributes": {"name": "c"}, "edits": null, "metadata": {"coordinates": "x"}},
			{"service_entity": "site", "action": "create", "attributes": {"customer": "c"}}]}`, 200,
			`"status":{"state":"in_progress"}`},
		{"POST", "/lsm/v2/order", `{"service_order_items": [{"instance_id": "d", "action": "create",
			"service_entity": "customer", "attributes": {"name": "c"}}]}`, 422,
			`"item 1: customer d"`},
		{"POST", "/lsm/v2/order", `{"order_id": "` + placed + `", "service_order_items": [
			{"service_entity": "customer", "action": "create", "attributes": {"name": "e"}}]}`, 200,
			`"id":"` + placed + `"`},
		{"POST", "/lsm/v2/order", `{"order_id": "` + placed + `", "service_order_items": [
			{"service_entity": "customer", "action": "create", "attributes": {"name": "e"}}]}`, 200,
			`"instance":{`},
		{"POST", "/lsm/v2/order", `{"order_id": "` + placed + `", "service_order_items": [
			{"service_entity": "customer", "action": "create", "attributes": {"name": "f"}}]}`, 409,
			`there is an order`},
		{"GET", "/lsm/v2/order/" + placed, "", 200, `"status":{"direct_dependencies":{},` +
			`"failure_type":null,"instance_state_label":null,"reason":null,"state":"acknowledged",` +
			`"validation_compile_id":null}`},
		{"POST", "/lsm/v1/callbacks",
			`{"callback_url": "https://shop.example/x", "callback_id": "` +
				placed + `", "service_entity": "site", "event_types": ["CREATE_TRANSITION"],
			"minimal_log_level": "INFO"}`, 200, `"data":"` + placed + `"`},
		{"POST", "/lsm/v1/callbacks",
			`{"callback_url": "https://shop.example/x", "callback_id": "` +
				placed + `", "service_entity": "customer"}`, 409, `another callback`},
		{"POST", "/lsm/v1/callbacks", `{"callback_url": "https://shop.example/x",
			"service_entity": "nothing"}`, 404, `nothing`},
		{"POST", "/lsm/v1/callbacks", `{"callback_url": "http://169.254.169.254/latest"}`, 422,
			`link-local`},
		{"POST", "/lsm/v1/callbacks", `{"callback_url": "http://[::ffff:169.254.1.1]/"}`, 422,
			`link-local`},
		{"POST", "/lsm/v1/callbacks", `{"callback_url": "file:///etc/passwd"}`, 422,
			`https://HOST`},
		{"POST", "/lsm/v1/callbacks", `{"callback_url": "http://a:b@host/"}`, 422, `password`},
		{"POST", "/lsm/v1/callbacks", `{"callback_url": "http://host/", "event_types": ["x"]}`, 422,
			`AUTO_TRANSITION`},
		{"GET", "/lsm/v1/service_catalog_docs?environment=default", "", 200,
			`"patch":{"parameters":[{"description":"the environment",`},
		{"GET", "/lsm/v1/service_catalog_docs?environment=default", "", 200,
			`"properties":{"size":{"anyOf":[{"type":"integer"},{"type":"null"}]}},"type":"object"}`},
		{"GET", "/api/v2/parameters?filter.source=model", "", 200,
			`"metadata":{"values":["a",{"label":"B","value":7}]},"name":"sizes"`},
		{"GET", "/api/v2/parameters?filter.name=oth", "", 200, `"metadata":{},"name":"other"`},
		{"GET", "/api/v2/parameters?limit=1", "", 200, `"next":"/api/v2/parameters?limit=1\u0026start=1"`},
		{"GET", "/api/v2/parameters?limit=1&start=1", "", 200, `"prev":"/api/v2/parameters?limit=1\u0026end=2"`},
		{"GET", "/api/v1/parameter/sizes", "", 200,
			`{"parameter":{"environment":"default","id":"sizes"`},
		{"GET", "/api/v1/parameter/nothing", "", 404, `nothing`},
		{"PUT", "/api/v1/parameter/mine", `{"id": "mine", "source": "user", "value": "[1]",
			"resource_id": null, "metadata": null, "recompile": false, "expires": null}`, 200,
			`"metadata":{},"name":"mine","source":"user"`},
		{"GET", "/api/v1/parameter/mine", "", 200, `"value":"[1]"`},
		{"PUT", "/api/v1/parameter/mine", `{"value": "", "resource_id": "",
			"metadata": {"values": ["a", null, {"label": "B", "value": 9007199254740993}]}}`, 200,
			`"metadata":{"values":["a",null,{"label":"B","value":`},
		{"GET", "/api/v2/parameters?filter.name=mine", "", 200, `"source":"user","updated":`},
		{"PUT", "/api/v1/parameter/mine", `{"value": "x", "metadata": {"values": null}}`, 200,
			`"metadata":{},"name":"mine","source":"user"`},
		{"PUT", "/api/v1/parameter/mine", `{"metadata": {}}`, 422, `value`},
		{"PUT", "/api/v1/parameter/mine", `{"value": "", "metadata": {"other": 1}}`, 422, `other`},
		{"PUT", "/api/v1/parameter/mine", `{"value": "", "metadata": 7}`, 422, `metadata`},
		{"PUT", "/api/v1/parameter/mine", `{"value": "", "resource_id": "a::B[c,d=e]"}`, 422,
			`resource_id`},
		{"PUT", "/api/v1/parameters", `{"parameters": [
			{"id": "mine", "value": "one", "source": "user", "resource_id": null, "expires": false},
			{"id": "yours", "value": "", "metadata": {"values": [1, null]}, "expires": null}]}`,
			200, `{}`},
		{"GET", "/api/v1/parameter/mine", "", 200, `"source":"user"`},
		{"GET", "/api/v1/parameter/mine", "", 200, `"value":"one"`},
		{"GET", "/api/v1/parameter/yours", "", 200, `"metadata":{"values":[1,null]}`},
		{"PUT", "/api/v1/parameters", `{"parameters": [{"id": "twice", "value": "two"},
			{"id": "twice", "value": "three"}]}`, 200, `{}`},
		{"GET", "/api/v1/parameter/twice", "", 200, `"value":"three"`},
		{"DELETE", "/api/v1/parameter/twice", "", 200, `true`},
		{"PUT", "/api/v1/parameters", `{"parameters": [{"id": "mine", "value": "two"},
			{"id": "fact", "value": "x", "resource_id": "a::B[c,d=e]"}]}`, 422, `resource_id`},
		{"PUT", "/api/v1/parameters", `{"parameters": [{"id": "mine"}]}`, 422, `value`},
		{"PUT", "/api/v1/parameters", `{"parameters": []}`, 422, `parameters`},
		{"PUT", "/api/v1/parameters", `{"parameters": null}`, 422, `parameters`},
		{"GET", "/api/v1/parameter/mine", "", 200, `"value":"one"`},
		{"DELETE", "/api/v1/parameter/yours", "", 200, `true`},
		{"DELETE", "/api/v1/parameter/mine", "", 200, `true`},
		{"DELETE", "/api/v1/parameter/mine", "", 404, `mine`},
		{"GET", "/lsm/v1/callbacks", "", 200, `"minimal_log_level":"INFO"`},
		{"GET", "/lsm/v1/callbacks/" + placed, "", 200, `"last_error":null`},
		{"DELETE", "/lsm/v1/callbacks/" + placed, "", 200, `"data"`},
		{"GET", "/lsm/v1/callbacks/" + placed, "", 404, `there is no callback`},
		{"GET", "/lsm/v2/order/" + id, "", 404, `there is no order`},
		{"GET", "/lsm/v2/order?limit=1&sort=created_at.desc", "", 200, `"id":"` + placed + `"`},
		{"GET", "/lsm/v2/order?limit=1", "", 200, `"next":"/lsm/v2/order?limit=1\u0026end=`},
		{"GET", "/lsm/v2/order?sort=state", "", 422, `sort`},
	} {
		code, v := w.order(t, c.method, c.path, c.body)
		text, err := json.Marshal(v)
		if err != nil || code != c.code || !strings.Contains(string(text), c.has) {
			t.Errorf(
				"%s %s %.60s: %d, and not %d with %s: %s",
				c.method,
				c.path,
				c.body,
				code,
				c.code,
				c.has,
				text,
			)
		}
	}
	if resp, _ := w.ask(t, http.MethodGet, customers, ""); resp.StatusCode != 422 {
		t.Errorf("without an environment: %d", resp.StatusCode)
	}
}

// TestInstancePages follows the links of a list.
func TestInstancePages(t *testing.T) {
	t.Parallel()
	w := shop(t)
	var names []string
	for _, n := range []string{"c", "a", "b"} {
		w.order(t, http.MethodPost, customers, `{"attributes": {"name": "`+n+`"}}`)
	}
	at := customers + "?limit=2&filter.state=start&sort=service_identity_attribute_value.desc"
	for at != "" {
		code, v := w.order(t, http.MethodGet, at, "")
		if code != http.StatusOK {
			t.Fatal(v)
		}
		list, _ := v["data"].([]any)
		for _, one := range list {
			m, _ := one.(map[string]any)
			names = append(names, m["service_identity_attribute_value"].(string))
		}
		links, _ := v["links"].(map[string]any)
		at, _ = links["next"].(string)
	}
	if got := strings.Join(names, ""); got != "cba" {
		t.Error(got)
	}
}

// TestOrdersClient wants the client to do over HTTP what the service does.
func TestOrdersClient(t *testing.T) {
	t.Parallel()
	w := shop(t)
	o, err := w.client(t).Orders()
	if err != nil {
		t.Fatal(err)
	}
	own, err := w.service.Orders()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	must := func(v any, err error) any {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	same := func(a, b any) {
		t.Helper()
		x, y := mustJSON(t, a), mustJSON(t, b)
		if x != y {
			t.Error(cmp.Diff(x, y))
		}
	}
	one, err := o.Create(ctx, "default", orders.Creation{
		Service: "customer", Attributes: map[string]any{"name": "a/b"},
	})
	must(one, err)
	ref := orders.Ref{Service: "customer", ID: "identity=a/b"}
	wish := orders.Wish{Ref: ref}
	same(must(o.Instance(ctx, "default", ref)), must(own.Instance(ctx, "default", ref)))
	same(must(o.Catalog(ctx, "default", true, true)), must(own.Catalog(ctx, "default", true, true)))
	same(
		must(o.Offer(ctx, "default", "site", -1, true)),
		must(own.Offer(ctx, "default", "site", -1, true)),
	)
	same(
		must(o.Offer(ctx, "default", "site", 0, false)),
		must(own.Offer(ctx, "default", "site", 0, false)),
	)
	must(o.Force(ctx, "default", wish, "up", lifecycle.Promote))
	must(o.SetMetadata(ctx, "default", wish, "k", ptr("v")))
	must(o.Edit(ctx, "default", wish, []inventory.Edit{
		{ID: "1", Operation: inventory.Replace, Target: "size", Value: 9007199254740993},
	}))
	is := must(own.Instance(ctx, "default", ref))
	if i, _ := is.(orders.Instance); i.Metadata["k"] != "v" ||
		mustJSON(t, i.Candidate["size"]) != "9007199254740993" {
		t.Errorf("%+v", is)
	}
	must(o.Force(ctx, "default", wish, "up", lifecycle.ClearCandidate))
	must(o.SetMetadata(ctx, "default", wish, "k", nil))
	must(o.Update(ctx, "default", wish, map[string]any{"size": 2}))
	all := orders.Order{Items: []orders.Item{
		{Service: "site", Action: "create", Attributes: map[string]any{"customer": "name=a/b"}},
	}}
	placed, err := o.Order(ctx, "default", all)
	must(placed, err)
	same(
		must(o.PlacedOrder(ctx, "default", placed.ID)),
		must(own.PlacedOrder(ctx, "default", placed.ID)),
	)
	registered, err := o.Register(ctx, "default", orders.NewCallback{URL: "http://host/"})
	must(registered, err)
	same(must(o.Registered(ctx, "default")), must(own.Registered(ctx, "default")))
	same(must(o.Registered(ctx, "default")), []orders.Callback{registered})
	must(nil, o.Unregister(ctx, "default", registered.ID))
	for _, down := range []bool{true, false} {
		for _, count := range []bool{true, false} {
			place := orders.Place{Limit: 1, Count: count}
			all := orders.OrderQuery{Descending: down, Place: place}
			same(must(o.PlacedOrders(ctx, "default", all)),
				must(own.PlacedOrders(ctx, "default", all)))
			events := orders.EventQuery{
				Place: place, Descending: down, Versions: []string{"ge:1", "le:9"},
				Times: []string{"gt:2020-01-01"},
			}
			first := must(own.Events(ctx, "default", ref, events)).(orders.EventPage)
			same(must(o.Events(ctx, "default", ref, events)), first)
			events.After = first.Next
			second := must(own.Events(ctx, "default", ref, events)).(orders.EventPage)
			same(must(o.Events(ctx, "default", ref, events)), second)
			events.After, events.Before = "", second.Prev
			same(must(o.Events(ctx, "default", ref, events)), first)
			if first.Next == "" || second.Prev == "" || len(first.Items) != 1 {
				t.Errorf("%+v, %+v", first, second)
			}
			log := orders.LogQuery{Place: place, Descending: down, Versions: []string{"gt:1"}}
			same(must(o.Log(ctx, "default", ref, log)), must(own.Log(ctx, "default", ref, log)))
			list := orders.Query{
				Filter: orders.Filter{Service: "customer"}, Place: place, Descending: down,
			}
			same(must(o.List(ctx, "default", list)), must(own.List(ctx, "default", list)))
		}
	}
	q := orders.Query{
		Filter: orders.Filter{Service: "customer", Attributes: map[string]string{"size": "2"}},
	}
	page := must(own.List(ctx, "default", q))
	same(must(o.List(ctx, "default", q)), page)
	if p, _ := page.(orders.Page); len(p.Items) != 1 {
		t.Errorf("%+v", p)
	}
	_, err = o.Configure(ctx, "default", wish, map[string]bool{"x": true})
	if !fault.Is(err, fault.Invalid) {
		t.Error(err)
	}
	_, err = o.SetState(ctx, "default", wish, "start")
	if !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	stale := orders.Wish{Ref: ref, Version: ptr(int64(1))}
	if _, err = o.Delete(ctx, "default", stale); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	must(o.Force(ctx, "default", wish, "up", lifecycle.Promote))
	sized, err := o.EditSet(ctx, "default", wish, "active", []inventory.Edit{
		{ID: "1", Operation: inventory.Replace, Target: "size", Value: 3},
	})
	if err != nil || mustJSON(t, sized.Active["size"]) != "3" || sized.State != "up" {
		t.Errorf("%+v, %v", sized, err)
	}
	if _, err = o.EditSet(ctx, "default", wish, "candidate", []inventory.Edit{
		{ID: "1", Operation: inventory.Replace, Target: "size", Value: 3},
	}); !fault.Is(err, fault.Conflict) {
		t.Error(err)
	}
	replaced, err := o.Replace(ctx, "default", wish, map[string]any{"name": "a/b"}, true)
	if size, has := replaced.Candidate["size"]; err != nil || !has || size != nil {
		t.Errorf("%+v, %v", replaced, err)
	}
	if _, err := o.Destroy(ctx, "default", wish); !fault.Is(err, fault.Refused) {
		t.Errorf("a site needs it: %v", err)
	}
	alone, err := o.Create(ctx, "default", orders.Creation{
		Service: "customer", Attributes: map[string]any{"name": "alone"},
	})
	must(alone, err)
	gone := orders.Wish{Ref: orders.Ref{Service: "customer", ID: alone.ID}}
	destroyed, err := o.Destroy(ctx, "default", gone)
	if err != nil || !destroyed.Deleted {
		t.Errorf("%+v, %v", destroyed, err)
	}
	ends, err := o.Events(ctx, "default", gone.Ref, orders.EventQuery{
		Types: []string{"FORCE_DELETE"},
	})
	if err != nil || len(ends.Items) != 1 {
		t.Errorf("%+v, %v", ends, err)
	}
	if _, err := o.Destroy(ctx, "default", gone); !fault.Is(err, fault.Conflict) {
		t.Errorf("twice: %v", err)
	}
	d, err := api.Diagnose(
		ctx,
		w.client(t),
		o,
		"default",
		ptr(must(o.Instance(ctx, "default", ref)).(orders.Instance)),
	)
	if err != nil || len(d.Failures)+len(d.Rejections) != 0 {
		t.Errorf("%+v, %v", d, err)
	}
}

// meanwhile does something before a request that changes an instance, once for each change.
type meanwhile struct {
	http.RoundTripper
	do   func()
	lose int // answers that get lost
}

// RoundTrip implements http.RoundTripper.
func (m *meanwhile) RoundTrip(r *http.Request) (*http.Response, error) {
	if do := m.do; r.Method != http.MethodGet && do != nil {
		m.do = nil
		do()
	}
	resp, err := m.RoundTripper.RoundTrip(r)
	if err == nil && r.Method != http.MethodGet && m.lose > 0 {
		m.lose--
		_ = resp.Body.Close()
		return nil, io.ErrUnexpectedEOF
	}
	return resp, err
}

// TestOrdersClientMeanwhile holds that a change for which nobody has named a version is made also
// where the instance moves on while it is asked for, and that it is not made twice.
func TestOrdersClientMeanwhile(t *testing.T) {
	t.Parallel()
	w := shop(t)
	own, err := w.service.Orders()
	if err != nil {
		t.Fatal(err)
	}
	via := &meanwhile{RoundTripper: http.DefaultTransport}
	c, err := api.NewClient(api.ClientConfig{
		URL: w.URL, Token: token, Transport: via, Clock: quick{},
	})
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.Orders()
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	one, err := own.Create(ctx, "default", orders.Creation{
		Service: "customer", Attributes: map[string]any{"name": "a"},
	})
	if err != nil {
		t.Fatal(err)
	}
	wish := orders.Wish{Ref: orders.Ref{Service: "customer", ID: one.ID}}
	moves := func() {
		if _, err := own.Force(ctx, "default", wish, "up", lifecycle.NoOperation); err != nil {
			t.Error(err)
		}
	}
	edits := []inventory.Edit{{Operation: inventory.Replace, Target: "size", Value: 3}}
	for name, change := range map[string]func(w orders.Wish) (orders.Instance, error){
		"update": func(w orders.Wish) (orders.Instance, error) {
			return o.Update(ctx, "default", w, map[string]any{"size": 2})
		},
		"edit": func(w orders.Wish) (orders.Instance, error) { return o.Edit(ctx, "default", w, edits) },
	} {
		moves()
		via.do = moves
		if _, err := change(wish); err != nil || via.do != nil {
			t.Errorf("%s: %v", name, err)
		}
		moves()
		is, err := own.Instance(ctx, "default", wish.Ref)
		if err != nil {
			t.Fatal(err)
		}
		seen := wish
		seen.Version = &is.Version
		via.do = moves
		if _, err := change(seen); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s of a version that is no more: %v", name, err)
		}
		moves()
		via.lose = 1
		if _, err := change(wish); !fault.Is(err, fault.Conflict) {
			t.Errorf("%s, sent twice: %v", name, err)
		}
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	b, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestNoServices wants a home without services to say so.
func TestNoServices(t *testing.T) {
	t.Parallel()
	w := start(t, nil)
	w.service.Services = nil
	code, v := w.order(t, http.MethodGet, "/lsm/v1/service_catalog", "")
	if code != http.StatusNotImplemented ||
		!strings.Contains(mustJSON(t, v), "keeps no services") {
		t.Errorf("%d %v", code, v)
	}
}

// ofTheSeed is what the API returns of suggested values, as the seed of services shows it.
const ofTheSeed = `[
    {
        "id": "1b0b1d37-abef-4e5f-8100-84ebf4c65f93",
        "name": "topology_files",
        "value": "metadata",
        "environment": "f81be80b-8582-499f-b002-7cdd2f2df98a",
        "source": "user",
        "updated": "2025-03-14T13:23:11.475925+00:00",
        "metadata": {
            "values": [
                "source://labs/docker-compose.irrd.yml",
                "source://labs/docker-compose.iso-dev.yml",
                "source://labs/docker-compose.iso7-dev.yml",
                "source://labs/docker-compose.iso8-dev.yml",
                "source://labs/docker-compose.iso9-dev.yml",
                "source://labs/docker-compose.netbox-3.7.yml",
                "source://labs/docker-compose.netbox-4.1.yml",
            ]
        }
    }
]`

// TestSuggestedValues holds the structure that the seed of services shows: with a name for an id,
// and of this environment. A comma behind the last value there is none of JSON, and is left out.
func TestSuggestedValues(t *testing.T) {
	t.Parallel()
	w := shop(t)
	var want []map[string]any
	text := strings.Replace(ofTheSeed, "yml\",\n            ]", "yml\"]", 1)
	if err := json.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	metadata, _ := want[0]["metadata"].(map[string]any)
	values, _ := metadata["values"].([]any)
	var first time.Time // nothing is stored any more after that
	for _, h := range []api.Home{w.client(t), w.service, w.client(t)} {
		if err := h.Suggest(t.Context(), "default", "topology_files", values); err != nil {
			t.Fatal(err)
		}
		p, err := h.Parameter(t.Context(), "default", "topology_files")
		if err != nil || !first.IsZero() && !p.Updated.Equal(first) {
			t.Errorf("it was set at %v, and again at %v: %v", first, p.Updated, err)
		}
		first = p.Updated
	}
	code, v := w.order(t, http.MethodGet, "/api/v2/parameters?filter.name=topology_files", "")
	got, _ := v["data"].([]any)
	if code != http.StatusOK || len(got) != 1 {
		t.Fatalf("%d: %v", code, v)
	}
	one, _ := got[0].(map[string]any)
	want[0]["id"], want[0]["environment"] = "topology_files", "default"
	at, _ := one["updated"].(string)
	if _, err := time.Parse(time.RFC3339Nano, at); err != nil {
		t.Error(err)
	}
	want[0]["updated"] = at
	if d := cmp.Diff(want[0], one); d != "" {
		t.Error(d)
	}
}

// TestNoTenant wants what is asked of services in an environment that does not exist to be refused.
func TestNoTenant(t *testing.T) {
	t.Parallel()
	w := shop(t)
	for _, path := range []string{
		"/lsm/v1/service_catalog", "/lsm/v2/service_catalog",
		"/lsm/v1/service_catalog_docs?environment=nowhere",
		"/lsm/v1/service_catalog/customer", customers, "/lsm/v1/callbacks", "/lsm/v2/order",
		"/api/v2/parameters",
	} {
		resp, text := w.ask(t, http.MethodGet, path, "", "X-Inmanta-tid", "nowhere")
		if resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d %.300s", path, resp.StatusCode, text)
		}
	}
}
