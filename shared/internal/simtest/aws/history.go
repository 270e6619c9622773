package aws

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"southbound/shared/aws/dynamo"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// lanePrefix is the prefix of the keys of lanes' records.
const lanePrefix = "l/="

// eventKind is the kind of an event of a run.
type eventKind int

const (
	called eventKind = iota
	wrote
	returned
	queried // a check read the quiet time of the environment
)

// event is an entry of the log of a run.
type event struct {
	kind    eventKind
	op      *op
	purpose dynamo.Purpose
	keys    []string // of written records, without the prefix l/=
	begins  int64    // number of the commit whose roll-forward begins here
	audit   dynamo.Audit
}

// op is one call of state.State.
type op struct {
	id             int
	task           string
	name           string
	in, out        any
	err            error
	call, ret      int     // indexes in the log; ret -1: it did not return
	end            int     // index in the log where its process crashed; 0: it did not
	lost           bool    // one of its writes took effect, or may have, without a response
	faults         int     // number of failed attempts
	total, effects int     // how often it took effect, in total and so far; for the check
	lastEffect     int     // index in the log
	ran            running // the running list before its last effect
}

func (o *op) String() string { return fmt.Sprintf("#%d %s of %s", o.id, o.name, o.task) }

// unknown reports whether the caller does not know the outcome of the operation.
func (o *op) unknown() bool {
	return o.ret < 0 || fault.Is(o.err, fault.Unavailable) || fault.Is(o.err, fault.Canceled)
}

// call runs f as an operation of the current task.
func call[T any](r *run, name string, in any, f func(ctx context.Context) (T, error)) (T, error) {
	o := &op{id: len(r.ops), task: r.cur.name, name: name, in: in, call: len(r.log), ret: -1}
	r.ops = append(r.ops, o)
	r.cur.op = o
	r.log = append(r.log, event{kind: called, op: o})
	r.say("%s %s", o, text(in))
	out, err := f(context.Background())
	o.out, o.err, o.ret = out, err, len(r.log)
	r.log = append(r.log, event{kind: returned, op: o})
	r.say("%s returns %s, %v", o, text(out), errText(err))
	if r.chance.IntN(4) == 0 {
		audit(r)
	}
	return out, err
}

// text formats the input of an operation.
func text(in any) string {
	if o, is := in.(*op); is {
		return o.String()
	}
	if rows, are := in.([]state.Row); are {
		out := ""
		for _, r := range rows {
			out += rowText(r) + "; "
		}
		return out
	}
	c, is := in.(state.Commit)
	if u, logs := in.(*dynamo.Unlogged); logs && u != nil {
		return fmt.Sprintf("%d actions of %d lanes", len(u.Actions), u.Lanes())
	}
	if !is {
		return fmt.Sprintf("%+v", in)
	}
	rows := ""
	for _, r := range c.Rows {
		rows += " " + rowText(r)
		if r.Gone {
			rows += " gone"
		}
	}
	c.Rows = nil
	if c.Env != nil {
		rows += fmt.Sprintf(" env %+v", *c.Env)
	}
	if c.Version != nil {
		rows += fmt.Sprintf(" version %+v", *c.Version)
	}
	c.Env, c.Version = nil, nil
	return fmt.Sprintf("%+v%s", c, rows)
}

// wrote records a conditional write that the table accepted.
func (r *run) wrote(p dynamo.Purpose, items []types.TransactWriteItem) {
	e := event{kind: wrote, op: r.cur.op, purpose: p}
	for _, w := range items {
		if w.Put == nil {
			continue
		}
		part, sort, _ := keyOf(w.Put.Item, false)
		if lane, ok := strings.CutPrefix(sort, lanePrefix); ok && strings.HasPrefix(part, "L/") {
			e.keys = append(e.keys, lane)
		}
		if strings.HasPrefix(part, "L/") && sort == "l/" {
			if n, ok := w.Put.Item["n"].(*types.AttributeValueMemberN); ok {
				e.begins, _ = strconv.ParseInt(n.Value, 10, 64)
			}
		}
	}
	r.log = append(r.log, e)
}

// audit checks the stored data at this moment, and returns the result.
func audit(r *run) (a dynamo.Audit) {
	was, cur := r.still, r.cur
	r.still, r.cur = true, nil
	defer func() { r.still, r.cur = was, cur }()
	limits := r.plan.limits
	s, err := dynamo.New(dynamo.Config{API: r.table, Table: r.table.Name, Objects: r.objects,
		Log: actionLogOf(r),
		Host: dynamo.Host{Plain: true, Each: r.each, Random: func() uint64 { return 1 },
			Limits: &limits}})
	if err != nil {
		r.violate("open", "%v", err)
		return a
	}
	a, err = s.Audit(context.Background(), env)
	switch {
	case err != nil:
		r.violate("audit", "%v", err)
	case len(a.Problems) > 0:
		r.violate("audit", "%s", strings.Join(a.Problems, "\n"))
	}
	r.log = append(r.log, event{kind: queried, audit: a})
	return a
}

// cut records that the process of an operation crashed.
func (o *op) cut(at int) {
	if o != nil && o.ret < 0 {
		o.end = at
	}
}
