package types

import (
	"context"

	"southbound/shared/schema"
)

type Service struct{ Registry *schema.Registry }

// Types implements Home.
func (s *Service) Types(context.Context) ([]Type, error) { return TypesOf(s.Registry), nil }
