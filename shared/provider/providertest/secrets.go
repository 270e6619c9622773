package providertest

import (
	"southbound/shared/redact"
)

// checkSecrets looks for secrets in all output of a handler, in every place of a check. Encoded
// forms count as well.
func checkSecrets(e *env) error {
	for _, place := range append([]*env{e}, e.places...) {
		if len(place.Secrets) == 0 {
			continue
		}
		var secrets redact.Set
		for _, s := range place.Secrets {
			secrets.Add(s)
		}
		for _, said := range place.host.sayings() {
			if secrets.Clean(said.text, "") != said.text {
				return advise(
					"identify things by their names, put no value of a sensitive attribute into a "+
						"text, and check error texts of the target before passing them on; "+
						"Context.Secret hides a secret that the handler has learned itself",
					"a secret is in the output of the handler, in %s", said)
			}
		}
	}
	return nil
}
