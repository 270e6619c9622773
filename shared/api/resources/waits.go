package resources

import (
	"context"
	"fmt"
	"time"

	"southbound/shared/deploy"
	"southbound/shared/deploy/run"
	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/resource"
)

// waitsFor returns why a scheduled resource is not deployed yet; "" if it is about to be. It uses
// the state and, if this process serves the agent, its reason for waiting.
func (s *Service) waitsFor(ctx context.Context, env string, row *state.Row,
	requires []resource.ID, claimed *deploy.Claimed) (string, error) {
	running := claimed.Running
	if row.Ticket() == 0 && !running[row.ID] && !claimed.Interrupted[row.ID] {
		return "", nil
	}
	agent := row.Agent
	if s.Env.Waits != nil {
		if why := s.Env.Waits(env)[agent]; why != "" {
			return fmt.Sprintf("agent %s is tried again: %s", agent, why), nil
		}
	}
	if running[row.ID] {
		return "", nil
	}
	state, err := s.Env.Engine.State.Env(ctx, env)
	if err != nil {
		return "", fault.Wrap(fault.Unknown, "read environment", err)
	}
	agents, err := s.AgentService.Agents(ctx, env)
	if err != nil {
		return "", err
	}
	if state.Halted {
		return "the environment is halted; `southbound unhalt` continues", nil
	}
	for _, a := range agents {
		switch unserved := time.Duration(a.UnservedMS) * time.Millisecond; {
		case a.Name != agent:
		case a.Paused:
			return fmt.Sprintf("agent %s is paused; `southbound resume %s` continues", agent,
				agent), nil
		case unserved > 0:
			return unservedText(agent, unserved, run.Coded(row)), nil
		}
	}
	if at := row.Current().NotBefore; at.After(s.Env.Engine.Clock.Now()) {
		return "it is in progress, and checked again at " +
			at.UTC().Format(time.RFC3339), nil
	}
	if claimed.Interrupted[row.ID] {
		return "it was interrupted: its process ended during the run, and no process works on it; the " +
			"next apply, deploy, repair or run continues", nil
	}
	if s.ByCommands && len(claimed.Held) == 0 {
		return "no process works on it; the next apply, deploy, repair or run continues", nil
	}
	return s.waitsForOthers(ctx, env, row, requires, running)
}

// unservedText reports that no process serves an agent. With coded, a function cannot serve it, as
// for handlers in Python, and the text names the alternative.
func unservedText(agent string, unserved time.Duration, coded bool) string {
	text := fmt.Sprintf("no process has served agent %s for %s", agent, unserved.Round(time.Second))
	if coded {
		text += fmt.Sprintf(
			"; its handler is Python code: `southbound agent run %s` serves it, on a "+
				"machine with Python and the packages of the project", agent)
	}
	return text
}

// waitsForOthers names the resources that must be deployed before this one.
func (s *Service) waitsForOthers(ctx context.Context, env string, row *state.Row,
	requires []resource.ID, running map[resource.ID]bool) (string, error) {
	rows, err := s.Env.Engine.State.Rows(ctx, env, requires)
	if err != nil {
		return "", fault.Wrap(fault.Unknown, "read resources", err)
	}
	var first resource.ID
	n := 0
	for i := range rows {
		if rows[i].Ticket() == 0 && !running[rows[i].ID] {
			continue
		}
		if n++; first == "" || rows[i].ID < first {
			first = rows[i].ID
		}
	}
	switch {
	case n == 1:
		return fmt.Sprintf("it requires %s, which is not done yet", first), nil
	case n > 1:
		return fmt.Sprintf("it requires %s and %d more, which are not done yet", first, n-1), nil
	}
	for id := range running {
		if other := row.ID; id != other && id.Agent() == other.Agent() {
			return "its agent is working on other resources", nil
		}
	}
	return "", nil
}
