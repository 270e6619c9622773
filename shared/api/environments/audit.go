package environments

import (
	"cmp"
	"context"
	"time"
	"unicode/utf8"

	"southbound/shared/api/paging"
	"southbound/shared/api/wire"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
)

// The acts that the audit records.
const (
	ActPause           = "pause"
	ActResume          = "resume"
	ActHalt            = "halt"
	ActUnhalt          = "unhalt"
	ActDeploy          = "deploy"
	ActRepair          = "repair"
	ActExport          = "export"
	ActRelease         = "release"
	ActForget          = "forget"
	ActImportState     = "import_state"
	ActForgetState     = "forget_state"
	ActSetParameter    = "set_parameter"
	ActDeleteParameter = "delete_parameter"
)

// The outcomes of an act. OutcomeUnknown means that its process ended first.
const (
	OutcomeDone    = "done"
	OutcomeFailed  = "failed"
	OutcomeUnknown = "unknown"
)

// The bounds of a record.
const (
	maxTargets    = 100
	maxTargetText = 500 // bytes of a target
	maxErrorText  = 1000
	maxUserText   = 500
	// maxMessageText is enough for every message that wire.CheckMessage accepts.
	maxMessageText = 4 * wire.MaxMessage
)

// Act performs an act of the caller of a request, and records it: before, so that there is no act
// without a record, and after, with its outcome. message, if not "", replaces that of the request.
// Without an audit log, Act only performs the act.
func (s *Service) Act(
	ctx context.Context, env, act, message string, targets []string, do func() error,
) error {
	return s.ActNaming(ctx, env, act, message, targets, func(func(...string)) error { return do() })
}

// ActNaming is Act for an act whose targets are known only after it: do names these.
func (s *Service) ActNaming(
	ctx context.Context, env, act, message string, targets []string,
	do func(name func(targets ...string)) error,
) error {
	caller, known := wire.CallerOf(ctx)
	if !known {
		caller = s.Caller
	}
	if caller.ReadOnly {
		return wire.ErrReadOnly()
	}
	if s.Audit == nil {
		return do(func(...string) {})
	}
	r := state.AuditRecord{ID: s.Engine.NewID(), At: s.Engine.Clock.Now().UTC(),
		By: cut(caller.User, maxUserText), Via: caller.Via, Act: act,
		Message: cut(cmp.Or(message, wire.MessageOf(ctx)), maxMessageText)}
	addTargets(&r, targets)
	if err := s.Audit.PutAudit(ctx, env, r); err != nil {
		return fault.Wrap(fault.Unknown, "record the request", err)
	}
	err := do(func(targets ...string) { addTargets(&r, targets) })
	r.Outcome, r.Ended = OutcomeDone, s.Engine.Clock.Now().UTC()
	if err != nil {
		r.Outcome, r.Error = OutcomeFailed, cut(err.Error(), maxErrorText)
	}
	// If the outcome cannot be recorded, it stays unknown: the act itself keeps its result.
	_ = s.Audit.PutAudit(context.WithoutCancel(ctx), env, r)
	return err
}

// addTargets adds targets to a record, as far as it has room.
func addTargets(r *state.AuditRecord, targets []string) {
	n := min(len(targets), max(maxTargets-len(r.Targets), 0))
	for _, t := range targets[:n] {
		r.Targets = append(r.Targets, cut(t, maxTargetText))
	}
	r.More += len(targets) - n
}

// cut returns the first bytes of a text, whole characters only.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// Audited is an entry of the audit.
type Audited struct {
	ID      string     `json:"id"`
	At      time.Time  `json:"at" doc:"when the request began"`
	By      string     `json:"by" doc:"who made it"`
	Via     string     `json:"via" doc:"how that is known: os, token, proxy, iam, console or archive"`
	Act     string     `json:"act" doc:"kind of the request, such as pause"`
	Targets []string   `json:"targets" doc:"agents, terms of a filter, a version, a parameter or an instance"`
	More    int        `json:"more,omitempty" doc:"number of omitted targets"`
	Message string     `json:"message"`
	Outcome string     `json:"outcome" enum:"done,failed,unknown" doc:"unknown: its process has not ended the request, or ended first"`
	Error   string     `json:"error,omitempty"`
	Ended   *time.Time `json:"ended"`
}

// AuditQuery selects entries of the audit.
type AuditQuery struct {
	Cursor string    // the Next of the previous page; "": the newest
	Since  time.Time // zero: all
	Limit  int
}

// AuditPage returns a page of the audit, newest first. It ends with the last page, which may be
// empty.
func (s *Service) AuditPage(
	ctx context.Context, env string, q AuditQuery,
) (paging.Page[Audited], error) {
	p := paging.NewPager[Audited](q.Limit)
	if s.Audit == nil {
		return p.Page, fault.New(fault.Unsupported, "", "this home keeps no audit")
	}
	limit := min(max(q.Limit, 1), paging.MaxItems)
	list, err := s.Audit.AuditRecords(ctx, env,
		state.AuditQuery{Before: q.Cursor, Since: q.Since, Limit: limit + 1})
	if err := s.CheckFound(ctx, env, len(list), fault.Wrap(fault.Unknown, "read audit", err)); err != nil {
		return p.Page, err
	}
	for i := range list {
		ok, err := p.Add(auditedOf(&list[i]))
		if err != nil {
			return p.Page, err
		}
		if !ok {
			p.Page.Next = list[i-1].ID
			break
		}
	}
	return p.Page, nil
}

func auditedOf(r *state.AuditRecord) Audited {
	return Audited{ID: r.ID, At: r.At, By: r.By, Via: r.Via, Act: r.Act,
		Targets: wire.OrEmpty(r.Targets), More: r.More, Message: r.Message,
		Outcome: cmp.Or(r.Outcome, OutcomeUnknown), Error: r.Error, Ended: wire.TimeOrNil(r.Ended)}
}
