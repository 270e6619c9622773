package jinja

// library holds all filters, tests, methods and functions of templates by name.
type library struct {
	filters, tests                           map[string]builtin
	stringMethods, listMethods, tupleMethods map[string]builtin
	dictMethods, modelDictMethods            map[string]builtin
	fixedListMethods                         map[string]builtin
	globals                                  map[string]call
}

func newLibrary() *library {
	l := &library{
		filters:       parsedAll(makeFilters()),
		tests:         parsedAll(makeTests()),
		stringMethods: parsedAll(makeStringMethods()),
		globals:       makeGlobals(),
	}
	l.tupleMethods = parsedAll(makeTupleMethods())
	l.listMethods = parsedAll(makeListMethods(l.tupleMethods))
	l.fixedListMethods = map[string]builtin{
		"count": l.listMethods["count"], "index": l.listMethods["index"],
		"copy": l.listMethods["copy"],
	}
	l.modelDictMethods = parsedAll(makeModelDictMethods())
	l.dictMethods = parsedAll(makeDictMethods(l.modelDictMethods))
	return l
}

func (l *library) hasFilter(name string) bool { return l.filters[name].call != nil }

// noFilter returns the message for a missing filter.
func (l *library) noFilter(name string) string {
	if reason := refused(name); reason != "" {
		return reason
	}
	return "there is no filter \"" + name + "\"" + nearest(name, l.filters)
}

// refused returns the reason why a filter of Jinja2 is not supported; "" for other names.
func refused(filter string) string {
	switch filter {
	case "random":
		return "the filter random is not supported: each compile would give another result"
	case "urlize":
		return "the filter urlize is not supported: it guesses links, for web pages"
	}
	return ""
}
