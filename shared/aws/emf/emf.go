// Package emf writes metrics in CloudWatch's embedded metric format: a line of JSON on standard
// output, which CloudWatch converts into metrics without a request. Maintained libraries for the
// format add dimensions, and each dimension is billed. So this package implements the required part
// of the format.
package emf

import (
	"encoding/json"
	"io"
	"maps"
	"slices"
	"sync"
	"time"
)

// Unit is the unit of a metric.
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
	// Dimension is the only dimension: the stack, identified by the prefix of its queues.
	Dimension = "Stack"
	// maxValues is the limit of values of a metric in a line.
	maxValues = 100
)

// Set collects the metrics of one invocation. Any number of goroutines may use it.
type Set struct {
	stack string
	mu    sync.Mutex
	sums  map[string]*metric
}

type metric struct {
	unit   Unit
	sum    float64
	values []float64 // of a sampled metric, instead of the sum
}

// NewSet returns an empty set of a stack.
func NewSet(stack string) *Set { return &Set{stack: stack, sums: map[string]*metric{}} }

// Add adds n to the sum of a metric.
func (s *Set) Add(name string, unit Unit, n float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.get(name, unit).sum += n
}

// Sample adds a value to a metric of which CloudWatch computes the minimum, the maximum and the
// average.
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

// Flush writes the collected metrics as one line, and empties the set. The properties can be
// searched for, but are not metrics. If the set is empty, Flush writes nothing.
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
