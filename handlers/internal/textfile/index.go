package textfile

// Index finds lines by keys that depend only on the line, such as its host name. It serves many
// lookups in one text: the keys of each line are computed once.
type Index struct {
	keys  func(line string) []string
	known map[string][]string // the keys of each text
	count map[string]int      // the lines that have a key
	at    map[string][]int    // their numbers; nil: lines have moved since
}

// Index returns the index of a name, and creates it if there is none. All callers with one name
// must pass the same keys.
func (l *Lines) Index(name string, keys func(line string) []string) *Index {
	if x := l.indexes[name]; x != nil {
		return x
	}
	x := &Index{keys: keys, known: map[string][]string{}, count: map[string]int{},
		at: map[string][]int{}}
	x.add(0, l.all)
	if l.indexes == nil {
		l.indexes = map[string]*Index{}
	}
	l.indexes[name] = x
	return x
}

// Find returns the numbers of the lines with a key, in order.
func (x *Index) Find(l *Lines, key string) []int {
	switch {
	case x.count[key] == 0:
		return nil
	case x.at != nil:
		return x.at[key]
	}
	var out []int
	for i := range l.all {
		for _, k := range x.of(l.all[i].text) {
			if k == key {
				out = append(out, i)
			}
		}
	}
	return out
}

// of returns the keys of a line.
func (x *Index) of(text string) []string {
	keys, ok := x.known[text]
	if !ok {
		keys = x.keys(text)
		x.known[text] = keys
	}
	return keys
}

// add indexes lines; the first one gets the number from.
func (x *Index) add(from int, lines []line) {
	for i := range lines {
		for _, k := range x.of(lines[i].text) {
			x.count[k]++
			if x.at != nil {
				x.at[k] = append(x.at[k], from+i)
			}
		}
	}
}

// splice updates the index before a replacement. Lines that are added at the end move no others.
func (x *Index) splice(l *Lines, from, to int, added []line) {
	for to > from && len(added) > 0 && l.all[from].text == added[0].text {
		from, added = from+1, added[1:] // only the end of the line changes
	}
	if from < len(l.all) {
		x.at = nil
	}
	for i := from; i < to; i++ {
		for _, k := range x.of(l.all[i].text) {
			x.count[k]--
		}
	}
	x.add(from, added)
}
