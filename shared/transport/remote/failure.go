package remote

import (
	"errors"

	"southbound/shared/fault"
	"southbound/shared/provider"
)

// failure is an error on its way.
type failure struct {
	Text  string         `cbor:"1,keyasint"`
	Class provider.Class `cbor:"2,keyasint,omitempty"`
	Kind  fault.Kind     `cbor:"3,keyasint,omitempty"`
	Hint  string         `cbor:"4,keyasint,omitempty"`
	Skip  bool           `cbor:"5,keyasint,omitempty"`
	// Nothing and Undecided are provider.ErrNothingMade and provider.ErrUndecided.
	Nothing   bool `cbor:"6,keyasint,omitempty"`
	Undecided bool `cbor:"7,keyasint,omitempty"`
	// Unavailable is provider.ErrUnavailable.
	Unavailable bool `cbor:"8,keyasint,omitempty"`
}

// maxText bounds the text of an error that is sent.
const maxText = 64 << 10

// failureOf returns the transferred form of err, nil for none.
func failureOf(err error) *failure {
	if err == nil {
		return nil
	}
	text := err.Error()
	if len(text) > maxText {
		text = text[:maxText] + "…"
	}
	return &failure{Text: text, Class: provider.ClassOf(err), Kind: fault.KindOf(err),
		Hint: fault.HintOf(err), Skip: errors.Is(err, provider.ErrSkip),
		Nothing:     errors.Is(err, provider.ErrNothingMade),
		Undecided:   errors.Is(err, provider.ErrUndecided),
		Unavailable: errors.Is(err, provider.ErrUnavailable)}
}

// err returns an error with the same class, kind and hint.
func (f *failure) err() error {
	if f == nil {
		return nil
	}
	err := error(&fault.Error{Kind: f.Kind, Message: f.Text, Hint: f.Hint})
	for mark, is := range map[error]bool{provider.ErrSkip: f.Skip,
		provider.ErrNothingMade: f.Nothing, provider.ErrUndecided: f.Undecided,
		provider.ErrUnavailable: f.Unavailable} {
		if is {
			err = provider.With(err, mark)
		}
	}
	class := f.Class
	if class == "" {
		class = provider.Retryable
	}
	return provider.Errorf(class, "%w", err)
}
