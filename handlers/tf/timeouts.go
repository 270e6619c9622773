package tf

import (
	"time"

	"southbound/shared/provider"
)

// The limits of calls. answerMargin is longer than the time in which a process has to answer a Stop.
// The answer contains the state of the created object, which the same call of the handler stores.
const (
	defaultLimit = 30 * time.Minute // longer than the default of providers, 20 minutes
	answerMargin = time.Minute
	longestLimit = 24 * time.Hour
)

// timeLimit returns the limit of calls to the provider: the longest of the attribute timeouts with a
// margin, if the resource has one. Values may be references.
func timeLimit(attributes map[string]any) time.Duration {
	var limit time.Duration
	block := attributes["timeouts"]
	if list, is := block.([]any); is && len(list) == 1 {
		block = list[0]
	}
	timeouts, _ := block.(map[string]any)
	for _, v := range timeouts {
		text, _ := v.(string)
		if d, err := time.ParseDuration(text); err == nil && d > 0 {
			limit = max(limit, min(d, longestLimit)+answerMargin)
		}
	}
	if limit == 0 {
		return defaultLimit
	}
	return limit
}

// CallTimeout implements provider.Timeouter.
func (h *handler) CallTimeout(r provider.Resource) time.Duration {
	return timeLimit(r.Attributes) + answerMargin
}
