package aws

import "southbound/shared/aws/dynamo"

// Mutant is an intentional fault.
type Mutant struct {
	Name, Why string
	// Check is the check that has to find it; empty: any check.
	Check string
	// API and Objects wrap the services of a process, and Table changes the model; nil: no change.
	API     func(dynamo.API) dynamo.API
	Objects func(dynamo.Objects) dynamo.Objects
	Table   func(*Table)
}

func mutate(r *run, api dynamo.API) dynamo.API {
	if r.mutant != nil && r.mutant.API != nil {
		return r.mutant.API(api)
	}
	return api
}

func mutateObjects(r *run, o dynamo.Objects) dynamo.Objects {
	if r.mutant != nil && r.mutant.Objects != nil {
		return r.mutant.Objects(o)
	}
	return o
}
