package source

import "go.yaml.in/yaml/v4"

// anchors keeps what was named in a text that is read piece by piece, in order, so that an alias
// finds what an earlier piece has named. It implements the library's policy for them.
type anchors struct {
	named  map[string]*yaml.Node
	shifts map[*yaml.Node]int32 // how far down in the file the lines of a node are
	budget *budget
	shift  int32        // of the piece that is being read
	fresh  []*yaml.Node // that it has named
	// what stands before cannot all be read, so that an alias may be right that finds nothing
	lost bool
}

func newAnchors(b *budget) *anchors {
	return &anchors{named: map[string]*yaml.Node{}, shifts: map[*yaml.Node]int32{}, budget: b}
}

// NewAliasDataContext implements yaml.AliasDataPlugin.
func (a *anchors) NewAliasDataContext(yaml.AliasDataServices) (yaml.AliasDataContext, error) {
	return a, nil
}

// BeginDocument implements yaml.AliasDataContext.
func (a *anchors) BeginDocument() error { return nil }

// EndDocument implements yaml.AliasDataContext.
func (a *anchors) EndDocument() error {
	for _, n := range a.fresh {
		a.budget.keep(costYAML * countOf(n))
	}
	a.fresh = nil
	return nil
}

// DefineAnchor implements yaml.AliasDataContext.
func (a *anchors) DefineAnchor(name string, n *yaml.Node) error {
	if a.named == nil {
		return nil
	}
	a.named[name], a.shifts[n], a.fresh = n, a.shift, append(a.fresh, n)
	return nil
}

// ResolveAlias implements yaml.AliasDataContext.
func (a *anchors) ResolveAlias(name string) (*yaml.Node, bool, error) {
	n, ok := a.named[name]
	if !ok && a.lost {
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tagLost}, true, nil
	}
	return n, ok, nil
}

// tagLost marks what an alias stands for that cannot be found.
const tagLost = "!lost"

// shiftOf returns how far down the lines of a node are; false if no text was read before.
func (a *anchors) shiftOf(n *yaml.Node) (int32, bool) {
	if a == nil {
		return 0, false
	}
	shift, ok := a.shifts[n]
	return shift, ok
}

// countOf counts the nodes in a node.
func countOf(n *yaml.Node) int64 {
	count := int64(1)
	for _, e := range n.Content {
		count += countOf(e)
	}
	return count
}
