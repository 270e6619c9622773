package resources

import (
	"fmt"
	"slices"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
	"southbound/shared/resource"
)

// serviceEntity is the entity that all services extend.
const serviceEntity = "lsm::ServiceBase"

// follow records the resources that a service instance follows in addition to its own.
func (c *collector) follow(o *eval.Instance) {
	is := func(e *types.Entity) bool { return e.FullName() == serviceEntity }
	if !is(o.Type()) && !slices.ContainsFunc(o.Type().Ancestors(), is) {
		return
	}
	v, _ := o.Value("instance_id")
	instance, _ := v.(string)
	own := instances(o, "owned_resources")
	var ids, purged []resource.ID
	for _, r := range instances(o, "resources") {
		managed, said := r.Value("managed")
		if slices.Contains(own, r) || said && managed == false {
			continue
		}
		if id := c.id(r); id != "" {
			ids = append(ids, id)
			if v, _ := r.Value("purged"); v == true {
				purged = append(purged, id)
			}
		} else if !c.ours(r) {
			c.out.Warnings.Add(diag.Problem{
				Pos: o.Pos(), Code: CodeResource,
				Message: fmt.Sprintf("the service follows an instance of %s, which does not "+
					"become a resource, so that this has no effect", written(r.Type())),
				Hint:    "add the resources that its implementations make",
				Related: []diag.Related{{Pos: r.Pos(), Message: "it is made here"}},
			})
		}
	}
	if len(ids) > 0 && instance != "" {
		slices.Sort(ids)
		c.out.Followed[instance] = slices.Compact(ids)
		c.out.FollowedPurged[instance] = purged
	}
}
