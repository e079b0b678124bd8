package foreigntest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"waggle/internal/test/testenv"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/policy"
)

// spelling is what a foreign program writes in a flow, as a document has it. In it ID, T and CALL stand for an id, a
// time and the call that was asked about, INPUT for that call's input, bob for the writer and one for the content.
type spelling struct {
	document string
	writes   string
	around   entry        // the type and the metadata of the envelope, where the document has them there
	begins   func(*stage) // what waggle begins itself, after that; nil: it answers
	yes, no  string       // what is written back, to the byte; no: where the answer is a denial
	none     string       // why the document has no such cell
}

// entry is the spelling in the name of from, with other words for those in it.
func (p spelling) entry(from string, instead ...string) entry {
	fill := strings.NewReplacer(append(instead, `"T"`, `"2026-11-20T16:49:40.914Z"`)...)
	e := letter(from, fill.Replace(p.writes))
	if p.around.Type != "" {
		e.Type, e.Metadata = p.around.Type, json.RawMessage(fill.Replace(string(p.around.Metadata)))
	}
	return e
}

// naming is the spelling with the writer's name in what it writes: seed 000 has a key for it in every payload.
func (p spelling) naming() spelling {
	switch {
	case strings.Contains(p.writes, `"bob"`) || !strings.HasPrefix(p.writes, "{") && p.around.Type == "":
	case p.around.Type != "":
		p.around.Metadata = json.RawMessage(strings.TrimSuffix(string(p.around.Metadata), "}") + `,"from":"bob"}`)
	default:
		p.writes = strings.TrimSuffix(p.writes, "}") + `,"agentName":"bob"}`
	}
	return p
}

// shows is the spelling for docs/foreign.md.
func (p spelling) shows() string {
	if p.around.Type == "" {
		return p.writes
	}
	return fmt.Sprintf(`{"text":%q,"type":%q,"metadata":%s}`, p.writes, p.around.Type, p.around.Metadata)
}

// has lists the spellings that a document has.
func has(list []spelling) []spelling {
	return slices.DeleteFunc(slices.Clone(list), func(p spelling) bool { return p.none != "" })
}

func setsMode(s *stage) {
	_, err := decide.Of(s.op).SetMode(s.t.Context(), s.team, "bob", policy.ModePlan)
	testenv.Must(s.t, err)
}

func setsRule(s *stage) {
	_, err := decide.Of(s.op).AddRule(s.t.Context(), s.team, policy.Rule{Tool: "Bash", Pattern: "rm:*"}, true, decide.RuleScope{})
	testenv.Must(s.t, err)
}

func assignsTask(s *stage) {
	_, err := board.Of(s.op).AddTask(s.t.Context(), s.team, newTask)
	testenv.Must(s.t, err)
}

// What makes a spelling known that has nothing to ask in it.
const (
	idle000 = `{"type":"idle_notification","timestamp":"T","state":"idle"}`
	idle002 = `{"type":"idle_notification","from":"bob","idleReason":"task_complete","timestamp":"T"}`
	idle    = `{"type":"idle_notification","from":"bob","timestamp":"T","idleReason":"available"}`
)

// What the wire writes, which 001 and 004 print too.
const (
	wirePlanYes  = `{"type":"plan_approval_response","requestId":"ID","approved":true,"timestamp":"T","permissionMode":"bypassPermissions"}`
	wirePlanNo   = `{"type":"plan_approval_response","requestId":"ID","approved":false,"feedback":"no","timestamp":"T"}`
	wireShutdown = `{"type":"shutdown_request","requestId":"ID","from":"team-lead","reason":"over","timestamp":"T"}`
	wireMode     = `{"type":"mode_set_request","mode":"plan","from":"team-lead"}`
	wireRules    = `{"type":"team_permission_update","toolName":"Bash","directoryPath":"","permissionUpdate":{"behavior":"deny","rules":[{"toolName":"Bash","ruleContent":"rm:*"}]},"policyVersion":2}`
	wireTask     = `{"type":"task_assignment","taskId":"1","subject":"Build","description":"make","assignedBy":"operator","timestamp":"T"}`
	wireNetYes   = `{"type":"sandbox_permission_response","requestId":"ID","host":"one.example.com","allow":true,"timestamp":"T","scope":"one-shot"}`
	wireNetNo    = `{"type":"sandbox_permission_response","requestId":"ID","host":"one.example.com","allow":false,"timestamp":"T","notes":"no"}`
	ask001       = `{"type":"permission_request","requestId":"ID","agentId":"bob","toolName":"Bash","toolUseId":"t1","description":"","input":{"command": "one"},"permissionSuggestions":[]}`
	yes001       = `{"type":"permission_response","requestId":"ID","subtype":"success","response":{"updatedInput":{"command": "one"}}}`
	no001        = `{"type":"permission_response","requestId":"ID","subtype":"error","error":"no"}`
)

// What the documents do not have, with the section that says it.
const (
	no002   = "its kinds are those of Idle Notification Format, Shutdown Messages and Plan Approval Format"
	no003   = "its messages are those of Team Lifecycle and Graceful Shutdown and of Plan Mode Approval"
	no004   = "not in its Summary of All Known Message Types"
	noOther = "no document lets this side write it"
)

// in002 is the envelope of seed 002 for a type (Example: Shutdown Request Message).
func in002(typ string) entry {
	return entry{Type: typ, Metadata: json.RawMessage(`{"request_id":"ID"}`)}
}

// flows are those of the documents and plain words.
var flows = []flow{
	{name: "permission",
		asks: []spelling{
			{document: "the client", writes: `{"type":"permission_request","request_id":"ID","agent_id":"bob","tool_name":"Bash","tool_use_id":"t1","description":"","input":{"command": "one"},"permission_suggestions":[]}`,
				yes: `{"type":"permission_response","request_id":"ID","subtype":"success","tool_use_id":"t1","response":{"updated_input":{"command": "one"}}}`,
				no:  `{"type":"permission_response","request_id":"ID","subtype":"error","tool_use_id":"t1","error":"no"}`},
			{document: "000", writes: `{"type":"permission_request","requestId":"ID","timestamp":"T","tool":{"name":"Bash","arguments":"one"},"reason":"why"}`,
				yes: `{"type":"permission_response","requestId":"ID","timestamp":"T","approved":true}`,
				no:  `{"type":"permission_response","requestId":"ID","timestamp":"T","approved":false,"notes":"no"}`},
			{document: "001", writes: ask001, yes: yes001, no: no001},
			{document: "mixed: 001's id, the client's rest", writes: `{"type":"permission_request","requestId":"ID","agent_id":"bob","tool_name":"Bash","tool_use_id":"t1","input":{"command": "one"}}`, yes: yes001, no: no001},
			{document: "002", none: no002}, {document: "003", none: no003}, {document: "004", none: no004},
		},
		orders: []spelling{
			{document: "the client", writes: `{"type":"permission_response","request_id":"ID","subtype":"success","tool_use_id":"CALL","response":{"updated_input":INPUT}}`},
			{document: "the client of 2.1.3x", writes: `{"type":"permission_response","request_id":"ID","approve":true}`},
			{document: "000", writes: `{"type":"permission_response","requestId":"ID","timestamp":"T","approved":true,"mode":"default","notes":"go on"}`},
			{document: "001", writes: `{"type":"permission_response","requestId":"ID","subtype":"success","response":{"updatedInput":INPUT,"permissionUpdates":[{"any":"json"}]}}`},
			{document: "002", none: no002}, {document: "003", none: no003}, {document: "004", none: no004},
		}},
	{name: "permission denied", orders: []spelling{
		{document: "the client", writes: `{"type":"permission_response","request_id":"ID","subtype":"error","tool_use_id":"CALL","error":"Permission denied"}`},
		{document: "the client of 2.1.3x", writes: `{"type":"permission_response","request_id":"ID","approve":false}`},
		{document: "000", writes: `{"type":"permission_response","requestId":"ID","timestamp":"T","approved":false,"mode":"locked-down","notes":"no"}`},
		{document: "001", writes: `{"type":"permission_response","requestId":"ID","subtype":"error","error":"Permission denied"}`},
	}},
	{name: "network",
		asks: []spelling{
			{document: "the client, 001", writes: `{"type":"sandbox_permission_request","requestId":"ID","workerId":"bob","workerName":"bob","workerColor":"cyan","hostPattern":{"host":"one.example.com"},"createdAt":0}`,
				yes: wireNetYes, no: wireNetNo},
			{document: "000", writes: `{"type":"sandbox_permission_request","requestId":"ID","timestamp":"T","capability":"network","details":{"hostnames":["one.example.com"],"reason":"why"}}`,
				yes: `{"type":"sandbox_permission_response","requestId":"ID","timestamp":"T","approved":true,"scope":"one-shot"}`,
				no:  `{"type":"sandbox_permission_response","requestId":"ID","timestamp":"T","approved":false,"notes":"no"}`},
			{document: "002", none: no002}, {document: "003", none: no003}, {document: "004", none: no004},
		},
		orders: []spelling{
			{document: "the client, 001", writes: `{"type":"sandbox_permission_response","requestId":"ID","host":"x.example.com","allow":true,"timestamp":"T"}`},
			{document: "000", writes: `{"type":"sandbox_permission_response","requestId":"ID","timestamp":"T","approved":true,"scope":"session","notes":"go on"}`},
			{document: "002", none: no002}, {document: "003", none: no003}, {document: "004", none: no004},
		}},
	{name: "plan",
		asks: []spelling{
			{document: "the client, 001", writes: `{"type":"plan_approval_request","from":"bob","timestamp":"T","planFilePath":"/p.md","planContent":"one","requestId":"ID"}`, yes: wirePlanYes, no: wirePlanNo},
			{document: "000", writes: `{"type":"plan_approval_request","requestId":"ID","timestamp":"T","plan":{"goal":"one","steps":[],"risks":[],"tooling":[]}}`,
				yes: `{"type":"plan_approval_response","requestId":"ID","timestamp":"T","approved":true,"policy":{"permissionMode":"bypassPermissions"}}`,
				no:  `{"type":"plan_approval_response","requestId":"ID","timestamp":"T","approved":false,"notes":"no"}`},
			{document: "002", writes: `{"type":"plan_approval_request","from":"bob","plan":"one","summary":"s","timestamp":"T","requestId":"ID"}`,
				yes: `{"type":"plan_approval_response","requestId":"ID","approve":true,"timestamp":"T","permissionMode":"bypassPermissions"}`,
				no:  `{"type":"plan_approval_response","requestId":"ID","approve":false,"feedback":"no","timestamp":"T"}`},
			{document: "003, whose answer is a tool's", writes: `{"type":"plan_approval_request","from":"bob","planContent":"one","requestId":"ID"}`, yes: wirePlanYes, no: wirePlanNo},
			{document: "004, whose answer has no form there", writes: `{"type":"plan_approval_request","requestId":"ID","from":"bob","plan":"one"}`, yes: wirePlanYes, no: wirePlanNo},
			{document: "mixed: the id of 003's tool", writes: `{"type":"plan_approval_request","from":"bob","planContent":"one","request_id":"ID"}`,
				yes: `{"type":"plan_approval_response","request_id":"ID","approve":true,"permissionMode":"bypassPermissions"}`,
				no:  `{"type":"plan_approval_response","request_id":"ID","approve":false,"feedback":"no"}`},
		},
		orders: []spelling{
			{document: "the client, 001", writes: `{"type":"plan_approval_response","requestId":"ID","approved":true,"timestamp":"T","permissionMode":"bypassPermissions"}`},
			{document: "000", writes: `{"type":"plan_approval_response","requestId":"ID","timestamp":"T","approved":true,"notes":"go on","policy":{"permissionMode":"default"}}`},
			{document: "002", writes: `{"type":"plan_approval_response","requestId":"ID","approve":true,"feedback":"Looks good.","timestamp":"T"}`},
			{document: "003", writes: `{"type":"plan_approval_response","request_id":"ID","approve":true,"permissionMode":"default"}`},
			{document: "004", none: "it names the kind (6. Plan Approval Request) and has no form of it"},
		}},
	{name: "shutdown", before: shutdown, of: "shutdown_request",
		asks: []spelling{
			{document: "the client, 001", writes: `{"type":"shutdown_approved","requestId":"ID","from":"bob","timestamp":"T","paneId":"%88","backendType":"tmux"}`},
			{document: "000", writes: `{"type":"shutdown_approved","requestId":"ID","timestamp":"T"}`},
			{document: "002", writes: `{"type":"shutdown_approved","requestId":"ID","paneId":"%88","backendType":"tmux"}`},
			{document: "002 in the envelope", writes: "Goodbye.", around: in002("shutdown_approved")},
			{document: "003", writes: `{"type":"shutdown_response","request_id":"ID","approve":true}`},
			{document: "004", writes: `{"type":"shutdown_response","requestId":"ID","approved":true}`},
			{document: "the client, 001, 004", writes: idle, begins: shutdown, yes: wireShutdown},
			{document: "000", writes: idle000, begins: shutdown, yes: `{"type":"shutdown_request","requestId":"ID","timestamp":"T","reason":"over"}`},
			{document: "002", writes: idle002, begins: shutdown, yes: `{"text":"over","summary":"Shutdown request","type":"shutdown_request","metadata":{"request_id":"ID"}}`},
		},
		orders: []spelling{
			{document: "the client, 001, 004", writes: wireShutdown, yes: `{"type":"shutdown_approved","requestId":"ID","from":"gopher","timestamp":"T"}`},
			{document: "000", writes: `{"type":"shutdown_request","requestId":"ID","timestamp":"T","reason":"over"}`, yes: `{"type":"shutdown_approved","requestId":"ID","timestamp":"T"}`},
			{document: "002", writes: "Please prepare for shutdown.", around: in002("shutdown_request"), yes: `{"type":"shutdown_approved","requestId":"ID","timestamp":"T"}`},
			{document: "003", none: "it names the kind (Team Lifecycle and Graceful Shutdown) and has no form of it"},
		}},
	{name: "shutdown refused", before: shutdown, of: "shutdown_request", asks: []spelling{
		{document: "the client, 001", writes: `{"type":"shutdown_rejected","requestId":"ID","from":"bob","reason":"Still working","timestamp":"T"}`},
		{document: "000", writes: `{"type":"shutdown_rejected","requestId":"ID","timestamp":"T"}`},
		{document: "002 in the envelope", writes: "Still working", around: in002("shutdown_rejected")},
		{document: "002", none: "its Shutdown Messages have the consent only"},
		{document: "003", writes: `{"type":"shutdown_response","request_id":"ID","approve":false,"reason":"Still working"}`},
		{document: "004", writes: `{"type":"shutdown_response","requestId":"ID","approved":false,"content":"Still working"}`},
	}},
	{name: "task", before: assignsTask,
		asks: []spelling{
			{document: "the client, 001", writes: `{"type":"task_completed","from":"bob","taskId":"1","timestamp":"T"}`},
			{document: "000", writes: `{"type":"task_completed","requestId":"1","timestamp":"T","result":{"summary":"made","artifacts":[],"errors":[]}}`},
			{document: "002", none: "its task files say it (Task Artifacts)"}, {document: "003", none: no003}, {document: "004", none: no004},
			{document: "the client, 001, 004", writes: idle, begins: assignsTask, yes: wireTask},
			{document: "000", writes: idle000, begins: assignsTask, yes: `{"type":"task_assignment","requestId":"1","timestamp":"T","task":{"title":"Build","instructions":"make"}}`},
			{document: "002, which assigns in prose", writes: idle002, begins: assignsTask, yes: wireTask},
		},
		orders: []spelling{
			{document: "the client, 001, 004", writes: `{"type":"task_assignment","taskId":"1","subject":"s","description":"d","assignedBy":"team-lead","timestamp":"T"}`},
			{document: "000", writes: `{"type":"task_assignment","requestId":"1","timestamp":"T","task":{"title":"s","instructions":"d"}}`},
			{document: "002", none: "it assigns in prose (Example: Regular Messages)"}, {document: "003", none: no003},
		}},
	{name: "progress", before: assignsTask, asks: []spelling{
		{document: "000", writes: `{"type":"task_progress","requestId":"1","timestamp":"T","progress":{"phase":"implementing","message":"one"}}`},
		{document: "001", none: "not in its Canonical Payload Types"}, {document: "002", none: no002}, {document: "003", none: no003}, {document: "004", none: no004},
	}},
	{name: "idle",
		asks: []spelling{
			{document: "the client, 001, 004", writes: `{"type":"idle_notification","from":"bob","timestamp":"T","idleReason":"available","result":"ready"}`},
			{document: "000", writes: idle000},
			{document: "002", writes: idle002},
			{document: "002, waiting", writes: `{"type":"idle_notification","from":"bob","idleReason":"waiting_response","timestamp":"T"}`},
			{document: "004, interrupted", writes: `{"type":"idle_notification","from":"bob","timestamp":"T","idleReason":"interrupted"}`},
			{document: "003", none: no003},
		},
		orders: []spelling{
			{document: "the client's kind", writes: `{"type":"idle_notification","from":"team-lead","timestamp":"T","idleReason":"available"}`},
			{document: "000 to 004", none: noOther},
		}},
	{name: "mode and rules",
		asks: []spelling{
			{document: "mode, as 001", writes: `{"type":"mode_set_request","mode":"bypassPermissions","from":"bob"}`},
			{document: "mode, as 000", writes: `{"type":"mode_set_request","timestamp":"T","mode":"default","policy":{"permissionMode":"default"}}`},
			{document: "rules, as 001", writes: `{"type":"team_permission_update","toolName":"Bash","directoryPath":"/","permissionUpdate":{"behavior":"allow","rules":[{"toolName":"Bash"}]}}`},
			{document: "rules, as 000", writes: `{"type":"team_permission_update","timestamp":"T","rules":{"allowedTools":["Bash"],"disallowedTools":[]}}`},
			{document: "000 to 004", none: noOther},
			{document: "mode: the client, 001", writes: ask001, begins: setsMode, yes: wireMode},
			{document: "mode: 000", writes: idle000, begins: setsMode, yes: `{"type":"mode_set_request","timestamp":"T","mode":"plan","policy":{"permissionMode":"plan"}}`},
			{document: "mode: 002, which has none", writes: idle002, begins: setsMode, yes: wireMode},
			{document: "rules: 001", writes: ask001, begins: setsRule, yes: wireRules},
			{document: "rules: 000", writes: idle000, begins: setsRule, yes: `{"type":"team_permission_update","timestamp":"T","rules":{"disallowedTools":["Bash(rm:*)"]},"policyVersion":2}`},
			{document: "rules: 002, which has none", writes: idle002, begins: setsRule, yes: wireRules},
		},
		orders: []spelling{
			{document: "mode: the client, 001", writes: `{"type":"mode_set_request","mode":"bypassPermissions","from":"team-lead"}`},
			{document: "mode: 000", writes: `{"type":"mode_set_request","timestamp":"T","mode":"default","policy":{"permissionMode":"default"}}`},
			{document: "rules: 001", writes: `{"type":"team_permission_update","toolName":"Bash","directoryPath":"/","permissionUpdate":{"behavior":"allow","rules":[{"toolName":"Bash"}]}}`},
			{document: "rules: 000", writes: `{"type":"team_permission_update","timestamp":"T","rules":{"allowedTools":["Bash"],"disallowedTools":[]}}`},
			{document: "002", none: no002}, {document: "003", none: no003}, {document: "004", none: no004},
		}},
	{name: "words",
		asks: []spelling{{document: "all", writes: "please look at one"}},
		orders: []spelling{
			{document: "all", writes: "please go on"},
			{document: "002, the first prompt", writes: "please go on", around: entry{Type: "system_init"}},
		}},
	{name: "question", asks: []spelling{{document: "000 to 004", none: "no document has a question in words"}}},
}

var (
	timeText = regexp.MustCompile(`20\d\d-\d\d-\d\dT[0-9:.]+Z`)
	idText   = regexp.MustCompile(`id-1|shutdown-\d+@bob`)
)

// newest is what bob was written last: the text, and of an envelope whose type says what it is, the rest too.
func (s *stage) newest() string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.them.team, "inboxes", "bob.json"))
	testenv.Must(s.t, err)
	var es []struct {
		Text     string          `json:"text"`
		Summary  string          `json:"summary"`
		Type     string          `json:"type"`
		Metadata json.RawMessage `json:"metadata"`
	}
	testenv.Must(s.t, json.Unmarshal(raw, &es))
	if len(es) == 0 {
		return "nothing"
	}
	e := es[len(es)-1]
	text := e.Text
	if e.Type != "message" {
		b, err := json.Marshal(e)
		testenv.Must(s.t, err)
		text = string(b)
	}
	return known(text)
}

// known is a text with its id and its times as the table has them.
func known(text string) string {
	return idText.ReplaceAllString(timeText.ReplaceAllString(text, "T"), "ID")
}

// answersAll lets the operator answer all that is open, with words for a denial.
func (s *stage) answersAll(allow bool) {
	s.t.Helper()
	qs, err := decide.Of(s.op).Pending(s.t.Context(), s.team, false)
	testenv.Must(s.t, err)
	if len(qs) != 1 {
		s.t.Fatalf("%d questions are open", len(qs))
	}
	a := decide.Answer{ID: qs[0].ID, Allow: allow, Digest: qs[0].Digest}
	if !allow {
		a.Reason = "no"
	}
	_, err = decide.Of(s.op).Decide(s.t.Context(), s.team, []decide.Answer{a})
	testenv.Must(s.t, err)
}

// plays lets bob write in a spelling and returns what he is written.
func (p spelling) plays(t *testing.T, allow bool) string {
	s := newStage(t, "worker")
	s.puts(p.entry("bob", `"ID"`, `"id-1"`))
	s.pass()
	if p.begins == nil {
		s.answersAll(allow)
	} else {
		p.begins(s)
	}
	s.pass()
	return s.newest()
}

// TestSpellings: a member that another program runs is answered, and is written to, in the spelling in
// which it asked or spoke last, to the byte of its document.
func TestSpellings(t *testing.T) {
	t.Parallel()
	for _, f := range flows {
		rows := slices.DeleteFunc(slices.Clone(f.asks), func(p spelling) bool { return p.yes == "" })
		for _, p := range testenv.Rows(t, rows, 1) {
			t.Run(f.name+", "+p.document, func(t *testing.T) {
				t.Parallel()
				if got := p.plays(t, true); got != p.yes {
					t.Errorf("it is written\n%s\nwant\n%s", got, p.yes)
				}
				if p.no == "" {
					return
				}
				if got := p.plays(t, false); got != p.no {
					t.Errorf("it is denied with\n%s\nwant\n%s", got, p.no)
				}
			})
		}
	}
}

// spellingsPage is the table of spellings for docs/foreign.md.
func spellingsPage() string {
	var b strings.Builder
	b.WriteString("\n## In which spelling it is answered\n\nA member that uses files is answered in the spelling in which it asked, and is written to in the one\n" +
		"in which it spoke last; a payload that several documents spell alike changes nothing. ID stands for the id, T\nfor a time, CALL and INPUT for the call " +
		"that was asked about. The answer to a plan says the mode that holds\n(TestSpellings, TestGuestWalk). What a document does not have says so with its section.\n\n" +
		"| flow | role | document | it writes | it is written | or, denied |\n|---|---|---|---|---|---|\n")
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + strings.ReplaceAll(text, "|", "\\|") + "`"
	}
	for _, f := range flows {
		for _, side := range []struct {
			role string
			list []spelling
		}{{"worker", f.asks}, {"lead", f.orders}} {
			for _, p := range side.list {
				writes := code(p.shows())
				if p.none != "" {
					writes = p.none
				}
				fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", f.name, side.role, p.document, writes, code(p.yes), code(p.no))
			}
		}
	}
	return b.String()
}

// TestChangedInputNeedsItsPlace: an answer with a changed input is refused where the asker's document
// has no place for it, and the request stays open; the input that was asked would run otherwise.
func TestChangedInputNeedsItsPlace(t *testing.T) {
	t.Parallel()
	s := newStage(t, "worker")
	s.says("bob", `{"type":"permission_request","requestId":"id-1","timestamp":"2026-11-20T16:49:40.914Z","tool":{"name":"Bash","arguments":"one"},"reason":"why"}`)
	s.pass()
	qs, err := decide.Of(s.op).Pending(t.Context(), s.team, false)
	testenv.Must(t, err)
	done, err := decide.Of(s.op).Decide(t.Context(), s.team, []decide.Answer{{ID: qs[0].ID, Allow: true, Digest: qs[0].Digest, UpdatedInput: `{"arguments":"two"}`}})
	testenv.Must(t, err)
	if err := done[0].Err(); err == nil || !strings.Contains(err.Error(), "no place for a changed input") {
		t.Errorf("allowed with a changed input: %v", err)
	}
	if got := s.newest(); got != "nothing" {
		t.Errorf("it is written %s", got)
	}
	if qs, err = decide.Of(s.op).Pending(t.Context(), s.team, false); err != nil || len(qs) != 1 {
		t.Errorf("%d are open, %v", len(qs), err)
	}
}
