package engine

import (
	"math/rand/v2"
	"slices"
)

// faults holds the kinds of faults of a run, with their rates.
type faults struct {
	state, files, notifier, world, secrets, connect faultRates
	lost, doubled, late                             float64 // of messages
	hang, panics, refuses                           float64 // of handler calls
}

// faultRates holds cumulative probabilities of the fates of a call, in units of 2^-20.
type faultRates struct{ stall, slow, before, after, crash uint64 }

// kind is one kind of fault.
type kind int

const (
	kindStall kind = iota
	kindSlow
	kindBefore
	kindAfter
	kindCrash
	kindLost
	kindDoubled
	kindLate
	kindHang
	kindPanic
	kindRefuse
	kindSecrets
	kindConnect
	kinds
)

// drawFaults draws some kinds of faults. A run in which everything fails explores little.
func drawFaults(rng *rand.Rand) [kinds]float64 {
	var rates [kinds]float64
	if rng.IntN(10) == 0 {
		return rates
	}
	for k := range rates {
		if rng.IntN(3) == 0 {
			rates[k] = []float64{0.003, 0.01, 0.03, 0.1}[rng.IntN(4)]
		}
	}
	rates[kindStall] /= 4
	rates[kindCrash] /= 4
	for _, k := range []kind{kindLost, kindDoubled, kindLate} {
		rates[k] = min(1, rates[k]*5)
	}
	return rates
}

// faultsOf converts rates into the form that runs use.
func faultsOf(rates [kinds]float64) faults {
	share := func(of ...kind) faultRates {
		var sum float64
		next := func(k kind) uint64 {
			if slices.Contains(of, k) {
				sum += rates[k]
			}
			return uint64(sum * (1 << 20))
		}
		return faultRates{next(kindStall), next(kindSlow), next(kindBefore), next(kindAfter),
			next(kindCrash)}
	}
	ports := share(kindStall, kindSlow, kindBefore, kindAfter, kindCrash)
	f := faults{state: ports, files: ports, notifier: ports, world: ports,
		lost: rates[kindLost], doubled: rates[kindDoubled], late: rates[kindLate],
		hang: rates[kindHang], panics: rates[kindPanic], refuses: rates[kindRefuse]}
	f.secrets.before = uint64(rates[kindSecrets] * (1 << 20))
	f.connect.before = uint64(rates[kindConnect] * (1 << 20))
	for _, r := range []*faultRates{&f.secrets, &f.connect} {
		r.after, r.crash = r.before, r.before
	}
	return f
}
