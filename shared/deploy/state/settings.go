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
	// Strict says what is done when a handler reports values that are not of the types it declares,
	// or not in its own canonical form.
	Strict provider.Strictness `json:"strict,omitempty" yaml:"strict"`
}

// What holds where the settings say nothing.
const (
	defaultKeepActions = 7 * 24 * time.Hour
	defaultRetryBase   = 2 * time.Second
	defaultRetryMax    = 10 * time.Minute
)

// Backoff returns after how long a failure is tried again the first time, and at most.
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

// ActionsKept returns for how long actions are kept.
func (s *Settings) ActionsKept() time.Duration {
	if s.KeepActions <= 0 {
		return defaultKeepActions
	}
	return s.KeepActions
}
