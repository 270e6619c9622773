package local

// where is the condition of a statement, with its arguments.
type where struct {
	sql  string
	args []any
}

// whereEnv returns the condition that a row belongs to an environment.
func whereEnv(env string) *where { return &where{" WHERE env = +?", []any{env}} }

// and adds a condition.
func (w *where) and(sql string, args ...any) {
	w.sql, w.args = w.sql+" AND "+sql, append(w.args, args...)
}

// in adds the condition that a column has one of some values, if there are any.
func in[T ~string](w *where, column string, values []T) {
	switch len(values) {
	case 0:
	case 1: // an index after this column has the order of its next column
		w.and(column+" = +?", string(values[0]))
	default: // one statement for any number of values
		w.and(column+" IN (SELECT value FROM json_each(+?))", toJSON(values))
	}
}
