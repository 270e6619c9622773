// Package emf writes metrics in CloudWatch's embedded metric format: a line of JSON on standard
// output, from which CloudWatch makes metrics without a request. Kept libraries for it bring
// dimensions of their own, and each dimension is billed; what is needed of the format is here.
package emf

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Unit is what a metric counts.
type Unit string

// The units in use.
const (
	Count        Unit = "Count"
	Milliseconds Unit = "Milliseconds"
	Seconds      Unit = "Seconds"
)

const (
	// Namespace of all metrics.
	Namespace = "Southbound"
	// Dimension is the only one: the stack, by the prefix of its queues.
	Dimension = "Stack"
	// maxValues of a metric fit into a line.
	maxValues = 100
)

// Set gathers metrics of one invocation. It may be used by any number of goroutines.
type Set struct {
	stack string
	mu    sync.Mutex
	sums  map[string]*metric
}

type metric struct {
	unit   Unit
	sum    float64
	values []float64 // of one that is spread, not summed
}

// NewSet returns an empty set of a stack.
func NewSet(stack string) *Set { return &Set{stack: stack, sums: map[string]*metric{}} }

// Add adds to a sum.
func (s *Set) Add(name string, unit Unit, n float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.get(name, unit).sum += n
}

// Sample adds a value to those of which CloudWatch tells the least, the greatest and the average.
func (s *Set) Sample(name string, unit Unit, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.get(name, unit); len(m.values) < maxValues {
		m.values = append(m.values, value)
	}
}

func (s *Set) get(name string, unit Unit) *metric {
	m := s.sums[name]
	if m == nil {
		m = &metric{unit: unit}
		s.sums[name] = m
	}
	return m
}

type definition struct {
	Name string
	Unit Unit
}

// Flush writes what was gathered as one line, with properties that can be searched for but make no
// metrics, and empties the set. Nothing is written when nothing was gathered.
func (s *Set) Flush(w io.Writer, now time.Time, properties map[string]any) error {
	s.mu.Lock()
	sums := s.sums
	s.sums = map[string]*metric{}
	s.mu.Unlock()
	if len(sums) == 0 {
		return nil
	}
	line := make(map[string]any, len(sums)+len(properties)+2)
	maps.Copy(line, properties)
	definitions := make([]definition, 0, len(sums))
	for _, name := range slices.Sorted(maps.Keys(sums)) {
		m := sums[name]
		definitions = append(definitions, definition{name, m.unit})
		if m.values != nil {
			line[name] = m.values
		} else {
			line[name] = m.sum
		}
	}
	line[Dimension] = s.stack
	line["_aws"] = map[string]any{"Timestamp": now.UnixMilli(),
		"CloudWatchMetrics": []any{map[string]any{"Namespace": Namespace,
			"Dimensions": [][]string{{Dimension}}, "Metrics": definitions}}}
	b, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
