package awssim

import "southbound/shared/aws/dynamo"

// Mutant is a fault that is built in on purpose.
type Mutant struct {
	Name, Why string
	// Check is the check that finds it; empty: any.
	Check string
	// API and Objects wrap what a process reaches, Table changes the model; nil: nothing.
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
