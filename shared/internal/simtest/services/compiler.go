package services

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"southbound/shared/compile"
	"southbound/shared/diag"
	"southbound/shared/internal/source"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/resource"
)

// compile imitates the compiler for the model of an offer, some thousand times as fast, because a
// seed has dozens of compiles. TestCompiler compares it with the real compiler.
func (m *Models) compile(
	_ context.Context, digest string, s *lsm.Services,
) (*compile.Compiled, error) {
	c := newCompiler(m.byDigest[digest], s)
	err := c.all()
	return &compile.Compiled{
		Result: &eval.Result{}, Resources: c.built, Followed: c.followed,
	}, err
}

// compiler is one compile.
type compiler struct {
	*offer
	*lsm.Services
	built    source.Built
	followed map[string][]resource.ID // by instance
	sites    map[string]*lsm.Instance
	made     map[string]bool // the names of pages
	problems diag.Problems
}

// newCompiler prepares a compile.
func newCompiler(o *offer, s *lsm.Services) *compiler {
	return &compiler{
		offer: o, Services: s, sites: map[string]*lsm.Instance{}, made: map[string]bool{},
		followed: map[string][]resource.ID{},
	}
}

// all runs the compile.
func (c *compiler) all() error {
	here := map[string]any{"transport": "local", "lanes": int64(1)}
	c.built.Agents = []source.Entry{{Name: "here", Members: here}}
	c.built.Dir = "/"
	c.page("", "top", "top", false)
	in := c.Instances()
	for i := range in {
		c.constructed(&in[i])
	}
	for i := range in {
		if len(c.problems) > 0 {
			break
		}
		if err := c.instance(&in[i]); err != nil {
			return err
		}
	}
	return c.problems.Err()
}

// page adds a resource.
func (c *compiler) page(set, name, text string, purged bool) {
	if c.made[name] {
		c.bad(5, "there are two pages %s", name)
	}
	c.made[name] = true
	members := map[string]any{
		"type": typePage, "agent": "here", "attributes": map[string]any{"name": name, "text": text},
	}
	if set != "" {
		members["set"] = set
	}
	if purged {
		members["purged"] = true
	}
	c.built.Resources = append(c.built.Resources, source.Entry{Members: members})
}

// bad adds a problem at a line of the model.
func (c *compiler) bad(line int, format string, args ...any) {
	c.problems = append(c.problems, diag.Problem{
		Pos:     diag.Pos{File: "main.cf", Line: line, Column: 1},
		Message: fmt.Sprintf(format, args...),
	})
}

// attributes returns the attributes of an entity; true for required ones.
func (c *compiler) attributes(service string) map[string]bool {
	switch service {
	case "site":
		out := map[string]bool{
			"name": true, "path": true, "text": false, "fixed": false, "port": false,
		}
		if c.more {
			out["more"] = false
		}
		return out
	case "part":
		return map[string]bool{"name": true, "text": true, "site": true}
	}
	return map[string]bool{"name": true, "site": true}
}

// offers reports whether the model offers a service.
func (c *compiler) offers(service string) bool {
	return c.texts[service] != ""
}

// constructed checks the constructor arguments of an instance.
func (c *compiler) constructed(i *lsm.Instance) {
	if !c.offers(i.Service) {
		return
	}
	takes := c.attributes(i.Service)
	for name := range i.Attributes {
		// The model passes only named attributes to the constructors of parts and notes.
		if _, ok := takes[name]; !ok && i.Service == "site" {
			c.bad(1, "%s has no attribute %s", i.Service, name)
		}
	}
	for name, needs := range takes {
		if needs && i.Attributes[name] == nil {
			c.bad(1, "%s lacks %s", i.Service, name)
		}
	}
	if i.Service == "site" {
		c.sites[i.ID] = i
	}
}

// instance adds the page of an instance.
func (c *compiler) instance(i *lsm.Instance) error {
	if !c.offers(i.Service) {
		return nil
	}
	text := func(name, fallback string) string {
		if v, ok := i.Attributes[name]; ok {
			return fmt.Sprint(v)
		}
		return fallback
	}
	if i.Service == "site" {
		port, err := c.port(i)
		if err != nil {
			return err
		}
		if port > lastPort {
			c.bad(2, "all values from 1 to %d are used", lastPort)
		}
		c.page(i.ID, text("path", ""), fmt.Sprintf("%s%s %s %d",
			text("text", "hello"), c.mark, text("fixed", "f"), port), i.Purge)
		last := &c.built.Resources[len(c.built.Resources)-1]
		last.Members["requires"] = []any{string(page("top"))}
		c.followed[i.ID] = []resource.ID{page("top")}
	} else {
		of := c.sites[text("site", "")]
		if of == nil {
			c.bad(3, "there is no instance of Site with instance_id='%s'", text("site", ""))
			return nil
		}
		shown := fmt.Sprint(of.Attributes["name"])
		if i.Service == "part" {
			shown += " " + text("text", "hello")
		} else {
			c.followed[i.ID] = []resource.ID{page(fmt.Sprint(of.Attributes["path"]))}
		}
		c.page(i.ID, i.Service+"-"+text("name", ""), shown, i.Purge)
	}
	if text("text", "hello") == "wrong" {
		c.bad(4, "a number is divided by zero")
	}
	return nil
}

// lastPort is the largest number that the allocator gives.
const lastPort = 9

// port imitates lsm::allocators::get_first_free_integer.
func (c *compiler) port(i *lsm.Instance) (int64, error) {
	if n, ok := number(i.Attributes["port"]); ok {
		return n, nil
	}
	var used []int64
	add := func(attributes map[string]any) {
		if n, ok := number(attributes["port"]); ok {
			used = append(used, n)
		}
	}
	if c.Others != nil {
		rest, err := c.Others("site")
		if err != nil {
			return 0, err
		}
		for i := range rest {
			add(rest[i].Sets.Candidate)
			add(rest[i].Sets.Active)
			add(rest[i].Sets.Rollback)
		}
	}
	all := c.Instances()
	for n := range all {
		if all[n].Service == "site" {
			add(all[n].Attributes)
		}
	}
	for _, u := range c.Updates {
		if n, ok := number(u.Value); ok {
			used = append(used, n)
		}
	}
	n := int64(1)
	for slices.Contains(used, n) {
		n++
	}
	if n <= lastPort {
		c.Updates = append(c.Updates, lsm.Update{Instance: i.ID, Path: "port", Value: n})
	}
	return n, nil
}

// number returns a JSON value as an integer.
func number(v any) (int64, bool) {
	switch v := v.(type) {
	case json.Number:
		n, err := v.Int64()
		return n, err == nil
	case int64:
		return v, true
	}
	return 0, false
}

// owns returns the pages of an instance.
func (c *compiler) owns(set string) []resource.ID {
	var out []resource.ID
	for i := range c.built.Resources {
		m := c.built.Resources[i].Members
		attributes, _ := m["attributes"].(map[string]any)
		if of, _ := m["set"].(string); of == set {
			out = append(out, page(fmt.Sprint(attributes["name"])))
		}
	}
	return out
}
