package local

import (
	"encoding/hex"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"southbound/shared/deploy/state"
	"southbound/shared/resource"
)

// TestFormerStates pins that states which former programs have stored are read.
func TestFormerStates(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_800_000_000, 5).UTC()
	const hash = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
	usual := state.Row{Version: 3, Hash: hash, Deployed: hash, Priority: 3,
		LastRun:    state.RunSuccess,
		Compliance: state.Compliant, Blocked: state.NotBlocked, LastAction: hash[:32],
		LastAt: at, SucceededAt: at.Add(-time.Second), ChangedAt: at}
	full := state.Row{Version: 3, Hash: "00ff", Deployed: "hash before", Orphaned: true,
		Removing:  true,
		WantFacts: true, PossiblyChanged: true, Priority: 4, NotBefore: at.Add(time.Second),
		Compliance: state.NonCompliant, LastRun: state.RunFailed, Blocked: state.BlockedTemp,
		Missing: []string{"parameter x", "fact y of z"}, LastAt: at, LastAction: "act",
		Reason: "no room", Causes: []resource.ID{"a", "b"}, Class: "odd", Attempts: 4,
		Waiting: []byte{0, 255, 1}, Creating: "token", Notes: []byte{1, 0, 254},
		ChangedAt: at.Add(-time.Second), SucceededAt: at.Add(-time.Minute),
		TriedAt: at.Add(-time.Hour), Hidden: []string{"password"},
		MovedFrom: []string{"a/0", "a/1"}}
	for _, c := range []struct {
		stored string
		want   state.Row
	}{
		{"024006064100112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" +
			"0203042100112233445566778899aabbccddeeff8a80a0bbd29df1fa318a80a0bbd29df1fa318ad8c981cb9df1fa31", usual},
		{"038380cd0100064100112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" +
			"00020201062100112233445566778899aabbccddeeff8a80a0bbd29df1fa3100ffa7d6b907", usual},
		{
			"02bf06080500ff1668617368206265666f726507090c066163748a80a0bbd29df1fa318ad8c981cb9df1fa318aa0e5b6939af1fa318a80dbaf8ccceffa31030100fe8aa8f6f4d99df1fa3108076e6f20726f6f6d036f6464" +
				"05746f6b656e0300ff01020b706172616d6574657220780b666163742079206f66207a0201610162" +
				"010870617373776f72640203612f3003612f31", full},
		{
			"03fdafdf3f00060500ff00030303020b706172616d6574657220780b666163742079206f66207a076e6f20726f6f6d020161016200036f64640300ff010a746f6b656e010870617373776f72640203612f3003612f31030100fe0808" +
				"1668617368206265666f7265066163748a80a0bbd29df1fa3180a8d6b907ffa7d6b907ffdfba84bf03ffffc48bc6d101", full},
	} {
		b, err := hex.DecodeString(c.stored)
		if err != nil {
			t.Fatal(err)
		}
		got := state.Row{}
		if err := decodeState(b, &got); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%x (-want +got):\n%s", b[:2], diff)
		}
	}
}
