package emf_test

import (
	"bytes"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/aws/emf"
)

func TestFlush(t *testing.T) {
	t.Parallel()
	s := emf.NewSet("prod")
	var out bytes.Buffer
	if err := s.Flush(&out, time.Unix(1, 0), map[string]any{"x": 1}); err != nil || out.Len() != 0 {
		t.Fatalf("%v: an empty set wrote %q", err, out.String())
	}
	s.Add("Deployed", emf.Count, 2)
	s.Add("Deployed", emf.Count, 3)
	s.Sample("LaneTime", emf.Milliseconds, 7)
	s.Sample("LaneTime", emf.Milliseconds, 9)
	if err := s.Flush(&out, time.Unix(1, 0),
		map[string]any{"environment": "e", "Stack": "wrong"}); err != nil {
		t.Fatal(err)
	}
	want := `{"Deployed":5,"LaneTime":[7,9],"Stack":"prod","_aws":{"CloudWatchMetrics":[{"Dimensions":[["Stack"]],"Metrics":[` +
		`{"Name":"Deployed","Unit":"Count"},{"Name":"LaneTime","Unit":"Milliseconds"}],"Namespace":"Southbound"}],"Timestamp":1000},"environment":"e"}` + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Error(diff)
	}
	out.Reset()
	if err := s.Flush(&out, time.Unix(2, 0), nil); err != nil || out.Len() != 0 {
		t.Errorf("%v: it was not emptied: %q", err, out.String())
	}
}

func TestFlushBounds(t *testing.T) {
	t.Parallel()
	s := emf.NewSet("prod")
	for i := range 1000 {
		s.Sample("Wait", emf.Seconds, float64(i))
	}
	var out bytes.Buffer
	if err := s.Flush(&out, time.Unix(1, 0), nil); err != nil {
		t.Fatal(err)
	}
	var got struct{ Wait []float64 }
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got.Wait) != 100 {
		t.Errorf("%v: %d values; CloudWatch refuses more than 100", err, len(got.Wait))
	}
	s.Sample("Wait", emf.Seconds, math.NaN())
	if err := s.Flush(&out, time.Unix(1, 0), nil); err == nil {
		t.Error("a value that JSON does not have was written")
	}
}
