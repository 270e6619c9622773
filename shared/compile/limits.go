package compile

import (
	"fmt"
	"math"

	"southbound/shared/diag"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/metadata"
)

// settingSteps is the environment setting in project.yml that limits the steps of a model.
const settingSteps = "southbound_max_steps"

// limits returns the limits of a model: the given ones or the defaults, with the project's setting.
func limits(project *metadata.Project, given eval.Limits) (eval.Limits, error) {
	out := given
	if out == (eval.Limits{}) {
		out = eval.DefaultLimits()
	}
	v, ok := project.Settings[settingSteps]
	if !ok {
		return out, nil
	}
	n, err := steps(v)
	if err != nil {
		return out, diag.Problems{{
			Pos: project.SettingsAt[settingSteps], Code: eval.CodeLimit,
			Message: fmt.Sprintf("%s is %v: %v", settingSteps, v, err),
			Hint: fmt.Sprintf("write how many steps a model may take, such as %d; without the "+
				"setting they are %d", 4*out.Steps, out.Steps),
		}}
	}
	out.Steps = n
	return out, nil
}

// perResource is the approximate number of bytes that a resource needs from the model to
// deployment, in addition to the memory of its instance.
const perResource = 2 << 10

// deployable returns an error if the model has more resources than fit the given memory limit.
// Without a limit there is no error.
func (c *Compiled) deployable(given eval.Limits) error {
	n := len(c.Resources.Resources)
	if given.Memory == 0 || c.Taken+perResource*int64(n) <= given.Memory {
		return nil
	}
	return diag.Problems{{
		Code: eval.CodeLimit,
		Message: fmt.Sprintf("the model needs too much memory: more than %d MiB for its %d "+
			"resources and the rest of it", given.Memory>>20, n),
		Hint: "deploy less at once; " + eval.RoomierHint,
	}}
}

// steps parses the setting.
func steps(v any) (int, error) {
	const limit = 1 << 40 // days of work, and far from an overflow
	n := 0.0
	switch v := v.(type) {
	case int:
		n = float64(v)
	case int64:
		n = float64(v)
	case float64:
		n = v
	default:
		return 0, fmt.Errorf("that is not a number")
	}
	if n != math.Trunc(n) || n < 1 || n > limit {
		return 0, fmt.Errorf("it is a whole number from 1 to %d", limit)
	}
	return int(n), nil
}
