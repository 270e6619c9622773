package servicecmd

import (
	"context"
	"encoding/json"
	"slices"

	"southbound/shared/deploy/model"
	"southbound/shared/diag"
	"southbound/shared/internal/source"
	"southbound/shared/lang/eval"
	"southbound/shared/lang/lsm"
	"southbound/shared/service/definition"
	"southbound/shared/service/trial"
)

// trials compiles a model with made-up instances of its services. If compilation fails, trials
// compiles each instance separately. Mistakes of the model are diag.Problems. Problems that a
// plugin reports may concern made-up values, and are warnings.
func (se *serviceExporter) trials(
	ctx context.Context, path string, services []definition.Service,
) error {
	all, skipped := trial.Of(services)
	for _, s := range skipped {
		what := s.Service
		if s.Attribute != "" {
			what += "." + s.Attribute
		}
		se.Say("%s was not tried: %s: %s; the annotation \"example\" of an attribute gives a value",
			s.Service, what, s.Reason)
	}
	if len(all) == 0 {
		return nil
	}
	together := make([]lsm.Instance, len(all))
	for i := range all {
		together[i] = all[i].Instance
	}
	if problems, err := se.try(ctx, path, together); err != nil || len(problems) == 0 {
		return err
	}
	var mistakes diag.Problems
	for i := range all {
		problems, err := se.try(ctx, path, trial.With(all[i], all))
		if err != nil {
			return err
		}
		mistakes = append(mistakes, se.judge(&all[i], problems)...)
	}
	return mistakes.Err()
}

// ofValues are the codes of problems that may not occur with other values of attributes.
func ofValues() []string {
	return []string{eval.CodePlugin, eval.CodeTypeCondition, eval.CodeLimit}
}

// judge returns the problems of a trial that are mistakes of the model, and warns of the others.
func (se *serviceExporter) judge(one *trial.Instance, problems diag.Problems) diag.Problems {
	var mistakes, doubtful diag.Problems
	for _, p := range problems {
		p.Message += " (in the trial of " + one.Service + ")"
		p.Hint = hintOfTrial(one, p.Hint)
		if slices.Contains(ofValues(), p.Code) {
			doubtful = append(doubtful, p)
			continue
		}
		mistakes = append(mistakes, p)
	}
	se.Warn(doubtful)
	return mistakes
}

// hintOfTrial returns the hint for a problem of a trial.
func hintOfTrial(one *trial.Instance, hint string) string {
	if hint != "" {
		hint += "; "
	}
	text, err := json.Marshal(one.Attributes)
	if err != nil {
		text = []byte("made-up attributes")
	}
	return hint + "the trial has " + string(text) + "; the annotation \"example\" of an attribute " +
		"gives another value, and --no-trial exports without trials"
}

// try compiles a model for instances, and returns its problems.
func (se *serviceExporter) try(
	ctx context.Context, path string, all []lsm.Instance,
) (diag.Problems, error) {
	opts, err := se.docs.Options(path, true)
	if err != nil {
		return nil, err
	}
	c, err := se.docs.Trial(ctx, path, lsm.NewServices(all))
	var m *model.Model
	if err == nil {
		m, err = c.Deployable(ctx, source.Options{Types: opts.Types, Agent: opts.Agent,
			Elsewhere: true})
	}
	if problems, _ := diag.Of(err); len(problems) > 0 {
		return problems, nil
	}
	if err != nil {
		return nil, err
	}
	return opts.Check(m), nil
}
