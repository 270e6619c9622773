package run

import (
	"context"
	"fmt"

	"southbound/shared/deploy/state"
	"southbound/shared/fault"
	"southbound/shared/provider"
	"southbound/shared/resource"
)

// plainOf returns a state with its secret outputs. Its errors are faults in the handler.
func plainOf(kept []byte, outputs map[string]any) (state.Plain, error) {
	wrong := func(format string, args ...any) (state.Plain, error) {
		return state.Plain{}, provider.Errorf(provider.Terminal,
			"the handler keeps %s; that is a fault in it", fmt.Sprintf(format, args...))
	}
	out := state.Plain{State: kept}
	if len(outputs) > 0 {
		v, err := resource.FromGo(outputs)
		if err == nil {
			out.Outputs, err = resource.CanonicalValue(v)
		}
		switch {
		case err != nil: // the error may name values
			return wrong("secret outputs that are not JSON")
		case len(resource.References(v)) > 0:
			return wrong("secret outputs with references")
		case len(kept) == 0:
			return wrong("secret outputs without a state")
		}
	}
	if n := len(out.State) + len(out.Outputs); n > state.MaxKept {
		return wrong("%d bytes, and %d is the maximum", n, state.MaxKept)
	}
	return out, nil
}

// hideOutputs makes the texts of encoded outputs secrets of the run.
func (h *host) hideOutputs(outputs []byte) {
	if len(outputs) == 0 {
		return
	}
	if v, err := resource.DecodeValue(outputs); err == nil {
		h.secretsIn(v)
	}
}

// secretOf returns the value of a secret for a run.
func secretOf(
	ctx context.Context, n *Runner, env string, s resource.Secret,
) (string, error) {
	if o, is := s.Output(); is {
		return output(ctx, n, env, o)
	}
	value, _, err := n.Secrets.Resolve(ctx, s)
	return value, err
}

// output returns the value of a secret output as text: a text as it is, any other value as JSON. It
// reads the present one: if it is newer than the version in the intent, a follow-up is on its way.
func output(
	ctx context.Context, n *Runner, env string, o resource.Output,
) (string, error) {
	what := fmt.Sprintf("read secret output %q of %s", o.Path, o.Of)
	path, err := resource.ParsePath(o.Path)
	if err != nil {
		return "", fault.Wrap(fault.Invalid, what, err)
	}
	if n.Sealer == nil {
		return "", fault.New(fault.Unsupported, what, "it is sealed, and this program has no key")
	}
	kept, err := n.Keeps.Kept(ctx, env, []resource.ID{o.Of})
	switch {
	case err != nil:
		return "", fault.Wrap(fault.Unknown, what, err)
	case len(kept) == 0:
		return "", fault.New(fault.NotFound, what, "the resource has no kept state").
			WithHint("deploy that resource again: `southbound deploy %s`", o.Of)
	}
	plain, err := openKept(ctx, n.Sealer, env, &kept[0])
	if err != nil {
		return "", fault.Wrap(fault.Unknown, what, err)
	}
	if len(plain.Outputs) == 0 {
		return "", fault.New(fault.NotFound, what, "the handler of the resource has kept no secret outputs")
	}
	all, err := resource.DecodeValue(plain.Outputs)
	if err != nil {
		return "", fault.New(fault.Damaged, what, "the kept outputs cannot be read")
	}
	v, err := path.In(all)
	if err != nil {
		return "", fault.Wrap(fault.NotFound, what, err)
	}
	if text, is := v.(string); is {
		return text, nil
	}
	b, err := resource.CanonicalValue(v)
	return string(b), fault.Wrap(fault.Damaged, what, err)
}
