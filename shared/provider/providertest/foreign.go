package providertest

import (
	"errors"
	"fmt"

	"southbound/shared/diff"
)

// foreign adds something to the thing that nobody manages, before an update and, in another place,
// after it, and demands that both come to the same.
func foreign(e *env) error {
	switch {
	case e.Present || len(e.Updates) == 0:
		return errNotApplicable
	case e.Foreign == nil:
		return lacks("Foreign")
	case e.World == nil:
		return lacks("World")
	}
	for i := range e.Updates {
		before, err := withForeign(e, i, true)
		if err != nil {
			return fmt.Errorf("update %d: %w", i+1, err)
		}
		after, err := withForeign(e, i, false)
		if err != nil {
			return fmt.Errorf("update %d: %w", i+1, err)
		}
		if before != after {
			return fmt.Errorf("update %d does not leave alone what Foreign of the case has added: "+
				"there is\n%s\nand when it is added after the update\n%s", i+1, before, after)
		}
	}
	return nil
}

// withForeign makes the thing in a place of its own, and updates it after or before something is
// added to it that nobody manages. It returns the world.
func withForeign(e *env, update int, first bool) (string, error) {
	place, err := e.another()
	if err != nil {
		return "", err
	}
	r, err := madeResource(place)
	if err != nil {
		return "", err
	}
	if first {
		if err := addForeign(place); err != nil {
			return "", err
		}
		if change, err := place.apply(r); err != nil || change != diff.NoChange {
			return "", either(err, advise(
				"report and compare what the type declares, and nothing else; where what others "+
					"add is to be removed, the case can have no Foreign",
				"after Foreign of the case has added something, it would be %s", change))
		}
	}
	next, err := place.want(place.Attributes, place.Updates[update])
	if err != nil {
		return "", err
	}
	if _, err := place.apply(next); err != nil {
		return "", err
	}
	if !first {
		if err := addForeign(place); err != nil {
			return "", err
		}
	}
	return place.world()
}

// addForeign adds something that nobody manages, which has to be seen in the world.
func addForeign(place *env) error {
	before, err := place.world()
	if err != nil {
		return err
	}
	if err := place.Foreign(); err != nil {
		return &caseError{fmt.Errorf("Foreign of the case: %w", err)}
	}
	after, err := place.world()
	if err == nil && before == after {
		err = &caseError{errors.New("what Foreign of the case adds is not in what World describes")}
	}
	return err
}
