package instances

import (
	"cmp"
	"context"
	"net/http"
	"slices"

	"southbound/shared/api/paging"
	"southbound/shared/api/problem"
	"southbound/shared/api/server"
	"southbound/shared/api/tenant"
	"southbound/shared/api/wire"
	"southbound/shared/fault"
	"southbound/shared/service/orders"
)

type eventsIn struct {
	tenant.OfInstance
	paging.Linked
	paging.ByNumber
	paging.WithCounts
	Limit        int      `query:"limit" minimum:"1" maximum:"1000" default:"1000"`
	Sort         string   `query:"sort" pattern:"^timestamp(\\.(asc|desc))?$" doc:"order: newest first, or timestamp.asc"`
	Sources      []string `query:"filter.source,explode" maxItems:"50" nullable:"false" doc:"any of these"`
	Destinations []string `query:"filter.destination,explode" maxItems:"50" nullable:"false" doc:"any of these"`
	Types        []string `query:"filter.event_type,explode" maxItems:"50" nullable:"false" doc:"any of these"`
	Versions     []string `query:"filter.version,explode" maxItems:"10" nullable:"false" pattern:"^((ge:|gt:|le:|lt:)?[0-9]{1,18})?$" patternDescription:"a version, or ge:, gt:, le: or lt: in front of one" doc:"all of these"`
	Times        []string `query:"filter.timestamp,explode" maxItems:"10" nullable:"false" maxLength:"64" pattern:"^((ge:|gt:|le:|lt:)?[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T+ ]([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])?)?)?$" patternDescription:"a time, or ge:, gt:, le: or lt: in front of one" doc:"all of these, such as ge:2026-05-01+12:00:00"`
}

// query returns the query that the parameters define.
func (i *eventsIn) query() orders.EventQuery {
	_, descending := paging.Descending(cmp.Or(i.Sort, "timestamp.desc"), true)
	return orders.EventQuery{
		Place:      paging.PlaceOf(&i.ByNumber, descending, i.Limit, i.WithCounts),
		Descending: descending, Sources: i.Sources, Destinations: i.Destinations,
		Types: i.Types, Versions: i.Versions, Times: i.Times,
	}
}

type logIn struct {
	tenant.OfInstance
	paging.Linked
	paging.ByNumber
	paging.WithCounts
	Limit    int      `query:"limit" minimum:"1" maximum:"100" default:"100"`
	Sort     string   `query:"sort" pattern:"^version(\\.(asc|desc))?$" doc:"order: newest first, or version.asc"`
	Versions []string `query:"filter.version,explode" maxItems:"10" nullable:"false" pattern:"^((ge:|gt:|le:|lt:)?[0-9]{1,18})?$" patternDescription:"a version, or ge:, gt:, le: or lt: in front of one" doc:"all of these"`
}

// query returns the query that the parameters define.
func (i *logIn) query() orders.LogQuery {
	_, descending := paging.Descending(cmp.Or(i.Sort, "version.desc"), true)
	return orders.LogQuery{
		Place:      paging.PlaceOf(&i.ByNumber, descending, i.Limit, i.WithCounts),
		Descending: descending, Versions: i.Versions,
	}
}

// InstanceEvents is a page of events.
type InstanceEvents struct {
	Data     []orders.Event      `json:"data"`
	Links    paging.Links        `json:"links"`
	Metadata paging.ListMetadata `json:"metadata"`
}

// InstanceLog is a page of versions of an instance.
type InstanceLog struct {
	Data     []orders.LogEntry   `json:"data"`
	Links    paging.Links        `json:"links"`
	Metadata paging.ListMetadata `json:"metadata"`
}

// historyRoutes serves the events and versions of an instance.
func historyRoutes(r *server.Router, s *tenant.Orders, res resourceLister) {
	server.Register(r, http.MethodGet, tenant.InstancePath+"/events", "instanceEvents",
		"Events of an instance, newest first",
		func(ctx context.Context, i *eventsIn) (*server.Out[InstanceEvents], error) {
			o, err := s.Open()
			if err != nil {
				return nil, problem.Of(err)
			}
			q := i.query()
			page, err := o.Events(ctx, i.Env, i.Ref(), q)
			links, m := paging.Around(&i.Linked, &page, q.Descending, i.Limit, i.WithCounts)
			return server.Answer(InstanceEvents{wire.OrEmpty(page.Items), links, m}, err)
		}, tenant.MarkServices)
	server.Register(r, http.MethodGet, tenant.InstancePath+"/log", "instanceLog",
		"An instance at its versions, the newest first",
		func(ctx context.Context, i *logIn) (*server.Out[InstanceLog], error) {
			o, err := s.Open()
			if err != nil {
				return nil, problem.Of(err)
			}
			q := i.query()
			page, err := o.Log(ctx, i.Env, i.Ref(), q)
			links, m := paging.Around(&i.Linked, &page, q.Descending, i.Limit, i.WithCounts)
			return server.Answer(InstanceLog{wire.OrEmpty(page.Items), links, m}, err)
		}, tenant.MarkServices)
	healthRoutes(r, s, res)
}

// healthRoutes serves the resources of an instance, and its problems.
func healthRoutes(r *server.Router, s *tenant.Orders, res resourceLister) {
	type resourcesIn struct {
		tenant.OfInstance
		tenant.Seen
	}
	tenant.Register(r, s, http.MethodGet, tenant.InstancePath+"/resources", "instanceResources",
		"The resources of an instance, and those that it follows",
		func(ctx context.Context, o *orders.Service, i *resourcesIn) ([]InstanceResource, error) {
			one, err := o.Instance(ctx, i.Env, i.Ref())
			if err != nil {
				return []InstanceResource{}, err
			}
			if v := i.Seen.Version; v != 0 && v != one.Version {
				return []InstanceResource{}, fault.New(fault.Conflict, "",
					"the instance has the version %d, and not %d", one.Version, v).
					WithHint("read it again, or leave current_version out")
			}
			return InstanceResources(ctx, res, i.Env, &one)
		})
	tenant.Register(r, s, http.MethodGet, tenant.InstancePath+"/diagnose", "diagnoseInstance",
		"Why an instance is not well",
		func(ctx context.Context, o *orders.Service, i *diagnosing) (Diagnosis, error) {
			one, err := o.Instance(ctx, i.Env, i.Ref())
			if err != nil {
				return Diagnosis{}, err
			}
			d, err := Diagnose(ctx, res, o, i.Env, &one)
			d.Rejections = slices.DeleteFunc(d.Rejections, func(r Rejection) bool {
				return !i.selects(r.Version, one.Version)
			})
			return d, err
		})
}

// diagnosing requests why an instance is unhealthy.
type diagnosing struct {
	tenant.OfInstance
	Version    int64 `query:"version" minimum:"1" doc:"rejections up to this version; absent: of all versions"`
	Rejections int64 `query:"rejection_lookbehind" minimum:"-1" default:"-1" doc:"number of versions before the last one to search; -1: all"`
	Failures   int64 `query:"failure_lookbehind" minimum:"0" doc:"accepted and ignored: failures are always current"`
}

// selects reports whether the request asks for rejections of a version.
func (d *diagnosing) selects(version, last int64) bool {
	last = cmp.Or(d.Version, last)
	return version <= last && (d.Rejections < 0 || version >= last-d.Rejections)
}
