package state

import (
	"time"

	"southbound/shared/provider"
)

// Settings of an environment.
type Settings struct {
	DeployTimer  string        `json:"deploy_timer,omitempty" yaml:"deploy_timer"`   // seconds or cron (UTC); "0" off
	RepairTimer  string        `json:"repair_timer,omitempty" yaml:"repair_timer"`   // seconds or cron (UTC); "0" off
	RetryBase    time.Duration `json:"retry_base,omitempty" yaml:"retry_base"`       // first backoff
	RetryMax     time.Duration `json:"retry_max,omitempty" yaml:"retry_max"`         // longest backoff
	KeepVersions int           `json:"keep_versions,omitempty" yaml:"keep_versions"` // how many
	KeepActions  time.Duration `json:"keep_actions,omitempty" yaml:"keep_actions"`   // how long
	// Strict decides how to treat values from a handler that contradict its declared types, or are
	// not in its own canonical form.
	Strict provider.Strictness `json:"strict,omitempty" yaml:"strict"`
}

// Defaults for settings that are not set.
const (
	defaultKeepActions = 7 * 24 * time.Hour
	defaultRetryBase   = 2 * time.Second
	defaultRetryMax    = 10 * time.Minute
)

// Backoff returns the pause before the first retry of a failure, and the longest pause.
func (s *Settings) Backoff() (first, longest time.Duration) {
	first, longest = s.RetryBase, s.RetryMax
	if first <= 0 {
		first = defaultRetryBase
	}
	if longest <= 0 {
		longest = defaultRetryMax
	}
	return first, longest
}

// ActionsKept returns how long actions are kept.
func (s *Settings) ActionsKept() time.Duration {
	if s.KeepActions <= 0 {
		return defaultKeepActions
	}
	return s.KeepActions
}
