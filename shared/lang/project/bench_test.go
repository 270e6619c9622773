package project_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"southbound/shared/lang/eval"
	"southbound/shared/lang/project"
	"southbound/shared/lang/std"
)

// nodes returns a model of n nodes in groups, each with an implementation that makes a leaf.
func nodes(n int) string {
	var b strings.Builder
	b.WriteString(`entity Group:
    string name
end
entity Node:
    string name
    int port = 80
end
entity Leaf:
    string name
end
Group.nodes [0:] -- Node.group [1]
Node.leaf [0:1] -- Leaf.node [1]
index Group(name)
index Node(name)
implement Group using std::none
implement Leaf using std::none
implementation leaf for Node:
    self.leaf = Leaf(name="leaf-{{ self.name }}")
end
implement Node using leaf
`)
	for i := range max(1, n/100) {
		fmt.Fprintf(&b, "g%d = Group(name=\"g%d\")\n", i, i)
	}
	for i := range n {
		fmt.Fprintf(&b, "Node(name=\"n%d\", group=g%d, port=%d)\n", i, i%max(1, n/100), i%1000)
	}
	return b.String()
}

// BenchmarkNodes compiles a model of 10,000 entities, reading it included.
func BenchmarkNodes(b *testing.B) {
	file := filepath.Join(b.TempDir(), project.MainFile)
	if err := os.WriteFile(file, []byte(nodes(5000)), 0o644); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		p, err := project.Load(file, project.Options{})
		if err != nil {
			b.Fatal(err)
		}
		program := eval.Program{Sources: p.Sources, Plugins: std.Plugins()}
		if _, _, err := eval.Run(context.Background(), program); err != nil {
			b.Fatal(err)
		}
	}
}
