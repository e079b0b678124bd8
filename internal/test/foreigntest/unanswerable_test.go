package foreigntest_test

import (
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/inspect"
)

// unanswerable are questions that nobody can be asked. Those with an id are denied in the asker's spelling, for the
// reason in no; of the others the asker is told in words.
var unanswerable = []struct{ name, text, no, words string }{
	{"hosts that differ", `{"type":"sandbox_permission_request","requestId":"id-1","workerId":"bob","workerName":"bob","hostPattern":{"host":"a.example.com"},"host":"b.example.com","createdAt":0}`,
		`{"type":"sandbox_permission_response","requestId":"ID","host":"a.example.com","allow":false,"timestamp":"T","notes":"it cannot be read: hostPattern.host and host differ"}`, ""},
	{"no host", `{"type":"sandbox_permission_request","requestId":"id-1","workerId":"bob","workerName":"bob","createdAt":0}`,
		`{"type":"sandbox_permission_response","requestId":"ID","host":"unknown","allow":false,"timestamp":"T","notes":"it cannot be read: the request names no host"}`, ""},
	{"000: a host that is none", `{"type":"sandbox_permission_request","requestId":"id-1","timestamp":"2026-11-20T16:49:40.914Z","capability":"network","details":{"hostnames":[7],"reason":"why"}}`,
		`{"type":"sandbox_permission_response","requestId":"ID","timestamp":"T","approved":false,"notes":"it cannot be read: details.hostnames is not a host or an array of hosts"}`, ""},
	{"a key twice", `{"type":"permission_request","request_id":"id-1","agent_id":"bob","tool_name":"Bash","tool_use_id":"t1","input":{"command":"ls","command":"rm"}}`,
		`{"type":"permission_response","request_id":"ID","subtype":"error","tool_use_id":"t1","error":"it cannot be read: key \"command\" occurs twice in one object"}`, ""},
	{"001: two tools", `{"type":"permission_request","requestId":"id-1","agentId":"bob","toolName":"Bash","tool_name":"Read","toolUseId":"t1","input":{}}`,
		`{"type":"permission_response","requestId":"ID","subtype":"error","error":"it cannot be read: tool_name and toolName differ"}`, ""},
	{"001: no tool", `{"type":"permission_request","requestId":"id-1","agentId":"bob","toolUseId":"t1","input":{}}`,
		`{"type":"permission_response","requestId":"ID","subtype":"error","error":"it cannot be read: the tool's name is missing"}`, ""},
	{"000: half a surrogate", `{"type":"permission_request","requestId":"id-1","timestamp":"2026-11-20T16:49:40.914Z","tool":{"name":"Bash","arguments":"\ud800"},"reason":"why"}`,
		`{"type":"permission_response","requestId":"ID","timestamp":"T","approved":false,"notes":"it cannot be read: a string holds half of a surrogate pair"}`, ""},
	{"002: no plan", `{"type":"plan_approval_request","from":"bob","summary":"s","timestamp":"2026-11-20T16:49:40.914Z","requestId":"id-1"}`,
		`{"type":"plan_approval_response","requestId":"ID","approve":false,"feedback":"it cannot be read: the plan is missing","timestamp":"T"}`, ""},
	{"two plans", `{"type":"plan_approval_request","from":"bob","timestamp":"2026-11-20T16:49:40.914Z","planContent":"one","plan":"two","planFilePath":"/p","requestId":"id-1"}`,
		`{"type":"plan_approval_response","requestId":"ID","approved":false,"feedback":"it cannot be read: planContent and plan differ","timestamp":"T"}`, ""},
	{"no id", `{"type":"permission_request","agent_id":"bob","tool_name":"Bash","tool_use_id":"t1","input":{}}`, "", "Your permission_request cannot be answered: the request id is missing."},
	{"000: no id", `{"type":"sandbox_permission_request","timestamp":"2026-11-20T16:49:40.914Z","capability":"network","details":{"hostnames":["a.example.com"],"reason":"why"}}`, "", "Your sandbox_permission_request cannot be answered: the request id is missing."},
	{"an id that is a number", `{"type":"plan_approval_request","from":"bob","plan":"one","requestId":7}`, "", "Your plan_approval_request cannot be answered: requestId is a number, not a string."},
	{"two ids", `{"type":"permission_request","requestId":"a","request_id":"b","toolName":"Bash","input":{}}`, "", "Your permission_request cannot be answered: requestId and request_id name different requests."},
}

// TestUnanswerable: a request that nobody can be asked is answered with a denial and its reason when its id can be read,
// and else with words, once for each entry; it is on record and status counts what has no id.
func TestUnanswerable(t *testing.T) {
	t.Parallel()
	for _, c := range testenv.Rows(t, unanswerable, 6) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "worker")
			s.says("bob", c.text)
			got := s.effects()
			want := "record seen; record decided; record sent; mail: " + kindOf(c.no) + " (no)"
			if c.no == "" {
				want = "record unverified; record said; record sent; mail: words"
			}
			if got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if text := s.newest(); c.no != "" && text != c.no || c.words != "" && !strings.HasPrefix(text, c.words+" ") {
				t.Errorf("it is written\n%s\nwant\n%s%s", text, c.no, c.words)
			}
			if again := s.effects(); again != "nothing" {
				t.Errorf("the next pass: %s", again)
			}
			st, err := inspect.Of(s.op).Status(t.Context(), s.team)
			testenv.Must(t, err)
			if st.Alarms != 0 || (st.Unanswerable == 1) != (c.no == "") {
				t.Errorf("status counts %d unverified, %d unanswerable", st.Alarms, st.Unanswerable)
			}
			if qs, err := decide.Of(s.op).Pending(t.Context(), s.team, false); err != nil || len(qs) != 0 {
				t.Errorf("%d are open: %v", len(qs), err)
			}
		})
	}
}

// TestUnanswerableOfAnother: what is written in bob's name by another, or by bob in another's, is neither answered nor
// explained; and a program that answers each explanation with such a request is not told for ever.
func TestUnanswerableOfAnother(t *testing.T) {
	t.Parallel()
	s := newStage(t, "worker")
	for _, text := range []string{unanswerable[0].text, unanswerable[9].text} {
		s.says("eve", text)
		s.says("bob", strings.ReplaceAll(text, `"bob"`, `"team-lead"`))
	}
	if got := s.effects(); got != "4 times record unverified" {
		t.Errorf("forged: %s", got)
	}
	for range 20 {
		s.says("bob", unanswerable[9].text)
		s.takes()
		s.effects()
	}
	st, err := s.op.Open(t.Context(), s.team, operator.Act)
	testenv.Must(t, err)
	told := 0
	for _, u := range st.Lead.Unverified {
		if u.Told {
			told++
		}
	}
	if told != 16 {
		t.Errorf("told %d times", told)
	}
}
