package awssim

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

// lanePrefix is what keys of the records of lanes begin with.
const lanePrefix = "l/="

// eventKind is the kind of an entry of a history.
type eventKind int

const (
	called eventKind = iota
	wrote
	returned
	queried // somebody looked at how long the environment rests
)

// event is one line of the log of a run.
type event struct {
	kind    eventKind
	op      *op
	purpose dynamo.Purpose
	keys    []string // of records that were written: what stands after l/=
	begins  int64    // number of the commit that is rolled forward from here on
	audit   dynamo.Audit
}

// op is one call of state.State.
type op struct {
	id             int
	task           string
	name           string
	in, out        any
	err            error
	call, ret      int     // places in the log; ret -1: it did not return
	end            int     // place in the log where its process crashed; 0: it did not
	lost           bool    // a write of it took effect, or may, without an answer
	faults         int     // sendings that failed
	total, effects int     // how often it took effect, in all and so far: for the check
	lastEffect     int     // place in the log
	ran            running // before it took effect the last time
}

func (o *op) String() string { return fmt.Sprintf("#%d %s of %s", o.id, o.name, o.task) }

// unknown reports whether the caller does not know what became of it.
func (o *op) unknown() bool {
	return o.ret < 0 || fault.Is(o.err, fault.Unavailable) || fault.Is(o.err, fault.Canceled)
}

// call runs f as an operation of the task that runs.
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

// text shows what was given to an operation.
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

// wrote notes what the table has accepted on condition.
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

// audit checks what is stored, at this instant, and returns what is to be known of that.
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

// cut notes that the process of an operation has crashed.
func (o *op) cut(at int) {
	if o != nil && o.ret < 0 {
		o.end = at
	}
}
