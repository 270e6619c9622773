package actions

import (
	"context"
	"net/http"
	"strings"
	"time"

	"southbound/shared/api/paging"
	"southbound/shared/api/server"
	"southbound/shared/deploy/state"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// Routes serves actions.
func Routes(r *server.Router, s *Service) {
	server.Register(r, http.MethodGet, server.EnvironmentPath+"/actions", "actions",
		"Actions, newest first",
		func(ctx context.Context, i *actionsIn) (*server.Out[paging.Page[Action]], error) {
			return server.Answer(s.ActionsPage(ctx, i.Env, i.query()))
		})
}

type actionsIn struct {
	server.InEnvironment
	paging.Limit
	Cursor   string    `query:"cursor" minLength:"1" maxLength:"100" doc:"value of next of the previous page: only actions with a smaller id"`
	Resource string    `query:"resource" minLength:"1" maxLength:"4096" doc:"actions of the resource with this id"`
	Agent    string    `query:"agent" minLength:"1" maxLength:"255"`
	Set      string    `query:"set" minLength:"1" maxLength:"1000" doc:"actions of the resources that are in this set now"`
	Version  int       `query:"version" minimum:"0" maximum:"2147483647" doc:"actions for this version; 0: for any"`
	Action   string    `query:"action" enum:"deploy,repair,dryrun"`
	Outcome  string    `query:"outcome" enum:"deployed,failed,skipped,blocked,undefined,available,deploying,orphaned,non_compliant,unavailable"`
	After    string    `query:"after" minLength:"1" maxLength:"100" doc:"only actions with a greater id: later actions"`
	Since    time.Time `query:"since"`
	Until    time.Time `query:"until"`
	Level    string    `query:"level" enum:"DEBUG,INFO,WARNING,ERROR,debug,info,warning,error" doc:"with a log line of at least this severity"`
	Text     string    `query:"text" minLength:"1" maxLength:"1000" doc:"with a log line that contains this text"`
	Notable  bool      `query:"notable" doc:"only actions that changed something or failed"`
}

// query returns the query that the parameters define.
func (i *actionsIn) query() ActionQuery {
	return ActionQuery{Set: i.Set, Resource: resource.ID(i.Resource), Agent: i.Agent, Version: i.Version,
		Action: state.ActionKind(i.Action), Outcome: state.Status(i.Outcome),
		After: i.After, Before: i.Cursor, Since: i.Since, Until: i.Until, Level: levelOf(i.Level),
		Text: i.Text, Notable: i.Notable, Limit: i.Limit.Limit}
}

func levelOf(s string) provider.Level {
	for _, l := range []provider.Level{provider.LevelDebug, provider.LevelInfo,
		provider.LevelWarning, provider.LevelError} {
		if strings.EqualFold(string(l), s) {
			return l
		}
	}
	return ""
}
