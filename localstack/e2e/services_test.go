//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"
)

// pages is a model of a service: an instance is an object in a bucket.
const pages = `
import lsm
import lsm::fsm
import southbound
import southbound::aws::s3

entity Page extends lsm::ServiceEntity:
    string name
    string text = "hello"
    lsm::attribute_modifier text__modifier = "rw+"
end
implementation page for Page:
    self.owned_resources += southbound::aws::s3::Object(
        agent=cloud, bucket="BUCKET", key=self.name, content=self.text, purged=self.purge_resources,
    )
end
implement Page using parents, page

cloud = southbound::Agent(name="cloud", transport="aws", options=OPTIONS)
binding = lsm::ServiceEntityBinding(
    service_entity="__config__::Page", lifecycle=lsm::fsm::simple, service_entity_name="page",
    service_identity="name",
)
for one in lsm::all(binding):
    Page(instance_id=one["id"], entity_binding=binding, **one["attributes"])
end
`

// services orders an instance, changes it and deletes it, through the functions and queues of the
// stack alone.
func services(t *testing.T, w *world) {
	u, bucket := w.user(t, "services"), w.target(t)
	options := `{"region": "us-east-1", "role": "` + w.role + `"`
	if w.stack.Endpoint != "" {
		options += `, "endpoint": "` + w.stack.Endpoint + `"`
	}
	u.write(t, "main.cf", strings.NewReplacer("BUCKET", bucket, "OPTIONS", options+"}").
		Replace(pages))
	u.run(t, 0, "service", "export", "main.cf")
	type instance struct{ State string }
	is := func(step, state, text string, args ...string) {
		t.Helper()
		got := decode[instance](t,
			u.run(t, 0, append(args, "--wait", "--timeout", "8m", "--json")...))
		if len(got) != 1 || got[0].State != state {
			t.Errorf("%s: %+v, expected %s", step, got, state)
		}
		until(t, step+" is in the bucket", 5*time.Minute, func() bool {
			is, there := w.object(t, bucket, "index.html")
			return is == text && there == (text != "")
		})
	}
	is("the order", "up", "hello", "service", "create", "page", "name=index.html")
	is("the change", "up", "more", "service", "update", "page/index.html", "text=more")
	is("the delete", "terminated", "", "service", "delete", "page/index.html")
}
