package stack

import (
	"strings"
	"testing"
)

// TestUnknownParameters pins that a parameter which the template does not have is refused: the SAM
// CLI passes over it without a word.
func TestUnknownParameters(t *testing.T) {
	root, err := FindRoot()
	if err != nil {
		t.Fatal(err)
	}
	s := Stack{Root: root}
	if err := s.Check(map[string]string{"Alarms": "true", "RestoredTable": "t"}); err != nil {
		t.Error(err)
	}
	err = s.Check(map[string]string{"Alarm": "true", "Alarms": "true"})
	if err == nil || !strings.Contains(err.Error(), `"Alarm"`) ||
		!strings.Contains(err.Error(), "AlarmTopic, Alarms, Architecture,") {
		t.Errorf("a parameter with a wrong name: %v", err)
	}
}
