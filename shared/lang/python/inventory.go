package python

import (
	"errors"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/types"
)

// answers returns the function that answers questions during a call, about model and inventory.
func (h *Host) answers(c *eval.Context) answer {
	model := h.objects.answers(c)
	return func(kind string, v []types.Value, b []byte) ([]byte, bool, error) {
		if kind != "lsm" || len(v) == 0 {
			return model(kind, v, b)
		}
		return h.asked(c, text(v[0]), v[1:], b), true, nil
	}
}

// errNoInventory is returned if the host has no access to an inventory.
var errNoInventory = errors.New("there is no inventory that could be asked")

// asked answers a question about the inventory.
func (h *Host) asked(c *eval.Context, what string, args []types.Value, b []byte) []byte {
	var v types.Value
	err := errNoInventory
	if h.ask != nil {
		v, err = h.ask(c, what, args)
	}
	if err == nil {
		return append(appendValue(append(b, `["v",`...), h.objects.seen(v)), ']')
	}
	said := err.Error()
	var of *eval.PluginError
	if errors.As(err, &of) && of.Hint != "" {
		said += "; " + of.Hint
	}
	return append(appendText(append(b, `["error",`...), said), ']')
}
