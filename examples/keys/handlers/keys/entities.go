package keys

import (
	"fmt"
	"strings"

	"southbound/shared/entity"
)

// entities returns the mappings of the entities of the module settings.
func entities() []entity.Mapping {
	return []entity.Mapping{
		{
			Entity: "settings::Setting", Agent: "app.store.name", // becomes a keys::Entry
			Fields: entity.Fields{
				Inherits: []entity.Fields{entity.Purgeable()},
				Funcs:    map[string]entity.Func{"name": key, "value": value},
			},
		},
		{
			Entity: "settings::Summary", Type: "fs::File", Agent: "host.name",
			Fields: entity.Fields{
				Names: []string{"path"},
				Funcs: map[string]entity.Func{"content": summary},
			},
		},
	}
}

// key is the key of a setting: that of its application comes first.
func key(ctx *entity.Context, _ entity.Entity) (any, error) {
	app, err := ctx.Text("app.name")
	if err != nil {
		return nil, err
	}
	name, err := ctx.Text("name")
	return app + "." + name, err
}

// value omits an attribute that is not set.
func value(_ *entity.Context, e entity.Entity) (any, error) {
	v, err := e.Attribute("value")
	if err == nil && v == nil {
		return nil, entity.Ignored("it has no value")
	}
	return v, err
}

// summary lists the settings of an application. The text travels as a file.
func summary(ctx *entity.Context, e entity.Entity) (any, error) {
	apps, err := e.Relation("app")
	if err != nil {
		return nil, err
	}
	settings, err := apps[0].Relation("settings")
	if err != nil {
		return nil, err
	}
	var text strings.Builder
	for _, s := range settings {
		name, err := s.Attribute("name")
		if err != nil {
			return nil, err
		}
		fmt.Fprintln(&text, name)
	}
	return ctx.Upload([]byte(text.String())), nil
}
