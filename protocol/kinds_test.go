package protocol_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"waggle/internal/test/protocoltest"
	"waggle/protocol"
)

// TestKindsIsComplete: the table, the samples and the decoders know the same
// kinds.
func TestKindsIsComplete(t *testing.T) {
	samples := protocoltest.Samples()
	infos := protocol.Kinds()
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
		text, err := protocol.Encode(samples[i], protocol.DialectWire)
		if err != nil {
			t.Errorf("%s: %v", info.Kind, err)
			continue
		}
		d := decodeBack(info.Kind, text)
		if diff := cmp.Diff(samples[i], d.Payload); diff != "" {
			t.Errorf("%s: (-sent +read)\n%s", info.Kind, diff)
		}
		_, paired := protocol.RequestIDOf(samples[i])
		if want := info.Request || info.Decision || info.Kind != protocol.KindSystemInit && info.Legacy; paired != want {
			t.Errorf("%s: has a request id %v, want %v", info.Kind, paired, want)
		}
	}
	infos[0].Kind = "changed"
	if protocol.Kinds()[0].Kind == "changed" {
		t.Error("Kinds hands out its own table")
	}
}

// TestKindsAliases: a superseded type is read as one of the kinds that name it,
// and no other kind names it.
func TestKindsAliases(t *testing.T) {
	got := map[string][]protocol.Kind{}
	for _, info := range protocol.Kinds() {
		for _, a := range info.Aliases {
			got[a] = append(got[a], info.Kind)
		}
	}
	want := map[string][]protocol.Kind{"shutdown_response": {protocol.KindShutdownApproved, protocol.KindShutdownRejected}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	for approved, kind := range map[string]protocol.Kind{"true": want["shutdown_response"][0], "false": want["shutdown_response"][1]} {
		d := protocol.DecodeText(`{"type":"shutdown_response","requestId":"r","reason":"why","approved":` + approved + `}`)
		if d.Kind != kind || d.Dialect != protocol.DialectLegacy {
			t.Errorf("approved %s is %s in dialect %s, want %s", approved, d.Kind, d.Dialect, kind)
		}
	}
}

// TestKindsSets pins the sets of protocol §1.0.
func TestKindsSets(t *testing.T) {
	var agent, effect, decision, legacy []protocol.Kind
	for _, info := range protocol.Kinds() {
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
	check := func(what string, got []protocol.Kind, want ...protocol.Kind) {
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
	p := protocoltest.Sample(protocol.KindTaskAssignment).(protocol.TaskAssignment)
	want, _ := protocol.Encode(p, protocol.DialectWire)
	got, err := protocol.Encode(&p, protocol.DialectWire)
	if err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	r := protocol.ShutdownRequest{RequestID: "r"}
	if id, ok := protocol.RequestIDOf(&r); id != "r" || !ok {
		t.Error(id, ok)
	}
	for _, p := range []protocol.Payload{nil, (*protocol.Text)(nil)} {
		if err := protocol.Validate(p); err == nil {
			t.Errorf("%T is valid", p)
		}
		if _, err := protocol.Encode(p, protocol.DialectWire); err == nil {
			t.Errorf("%T is written", p)
		}
		if _, ok := protocol.RequestIDOf(p); ok {
			t.Errorf("%T has an id", p)
		}
	}
}
