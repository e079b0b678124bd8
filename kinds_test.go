package waggle_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle"
	"waggle/internal/protocoltest"
)

// TestKindsIsComplete: the table, the samples and the decoders know the same
// kinds.
func TestKindsIsComplete(t *testing.T) {
	samples := protocoltest.Samples()
	infos := waggle.Kinds()
	if len(samples) != len(infos) {
		t.Fatalf("%d samples, %d kinds", len(samples), len(infos))
	}
	for i, info := range infos {
		if samples[i].Kind() != info.Kind {
			t.Errorf("sample %d is a %s, the table has %s", i, samples[i].Kind(), info.Kind)
		}
		if info.From == "" || info.To == "" || info.Meaning == "" || info.Section == "" {
			t.Errorf("%+v is incomplete", info)
		}
		text, err := waggle.Encode(samples[i], waggle.DialectWire)
		if err != nil {
			t.Errorf("%s: %v", info.Kind, err)
			continue
		}
		d := decodeBack(info.Kind, text)
		if diff := cmp.Diff(samples[i], d.Payload); diff != "" {
			t.Errorf("%s: (-sent +read)\n%s", info.Kind, diff)
		}
		_, paired := waggle.RequestIDOf(samples[i])
		if want := info.Request || info.Decision || info.Kind != waggle.KindSystemInit && info.Legacy; paired != want {
			t.Errorf("%s: has a request id %v, want %v", info.Kind, paired, want)
		}
	}
	infos[0].Kind = "changed"
	if waggle.Kinds()[0].Kind == "changed" {
		t.Error("Kinds hands out its own table")
	}
}

// TestKindsAliases: a superseded type is read as one of the kinds that name it,
// and no other kind names it.
func TestKindsAliases(t *testing.T) {
	got := map[string][]waggle.Kind{}
	for _, info := range waggle.Kinds() {
		for _, a := range info.Aliases {
			got[a] = append(got[a], info.Kind)
		}
	}
	want := map[string][]waggle.Kind{"shutdown_response": {waggle.KindShutdownApproved, waggle.KindShutdownRejected}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	for approved, kind := range map[string]waggle.Kind{"true": want["shutdown_response"][0], "false": want["shutdown_response"][1]} {
		d := waggle.DecodeText(`{"type":"shutdown_response","requestId":"r","reason":"why","approved":` + approved + `}`)
		if d.Kind != kind || d.Dialect != waggle.DialectLegacy {
			t.Errorf("approved %s is %s in dialect %s, want %s", approved, d.Kind, d.Dialect, kind)
		}
	}
}

// TestKindsSets pins the sets of protocol §1.0.
func TestKindsSets(t *testing.T) {
	var agent, effect, decision, legacy []waggle.Kind
	for _, info := range waggle.Kinds() {
		if info.Agent {
			agent = append(agent, info.Kind)
		}
		if info.Effect {
			effect = append(effect, info.Kind)
		}
		if info.Decision {
			decision = append(decision, info.Kind)
		}
		if info.Legacy {
			legacy = append(legacy, info.Kind)
		}
	}
	slices.Sort(agent)
	check := func(what string, got []waggle.Kind, want ...waggle.Kind) {
		t.Helper()
		slices.Sort(got)
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", what, diff)
		}
	}
	check("agents may send", agent, "permission_request", "permission_response", "sandbox_permission_request", "sandbox_permission_response",
		"shutdown_request", "shutdown_approved", "team_permission_update", "mode_set_request", "plan_approval_request", "plan_approval_response")
	check("have an effect", effect, "permission_request", "permission_response", "sandbox_permission_request", "sandbox_permission_response",
		"shutdown_request", "shutdown_approved", "shutdown_rejected", "team_permission_update", "mode_set_request", "plan_approval_request", "plan_approval_response")
	check("decide", decision, "permission_response", "sandbox_permission_response", "plan_approval_response", "shutdown_approved", "shutdown_rejected")
	check("legacy", legacy, "join_request", "join_approved", "join_rejected", "system_init")
}

// TestPointersArePayloads: a pointer to a payload is as good as the payload.
func TestPointersArePayloads(t *testing.T) {
	p := protocoltest.Sample(waggle.KindTaskAssignment).(waggle.TaskAssignment)
	want, _ := waggle.Encode(p, waggle.DialectWire)
	got, err := waggle.Encode(&p, waggle.DialectWire)
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	r := waggle.ShutdownRequest{RequestID: "r"}
	if id, ok := waggle.RequestIDOf(&r); id != "r" || !ok {
		t.Error(id, ok)
	}
	for _, p := range []waggle.Payload{nil, (*waggle.Text)(nil)} {
		if err := waggle.Validate(p); err == nil {
			t.Errorf("%T is valid", p)
		}
		if _, err := waggle.Encode(p, waggle.DialectWire); err == nil {
			t.Errorf("%T is written", p)
		}
		if _, ok := waggle.RequestIDOf(p); ok {
			t.Errorf("%T has an id", p)
		}
	}
}
