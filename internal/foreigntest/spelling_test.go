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

	"waggle/internal/testenv"
	"waggle/operator/board"
	"waggle/operator/decide"
	"waggle/policy"
)

// spelled is a cell of the table of spellings: what bob writes as a document has it, and what he must
// find in his mailbox, to the byte; ID stands for the id and T for the time.
type spelled struct {
	flow, document string
	asks           string       // what bob writes: a question, or what makes his spelling known
	begins         func(*stage) // what waggle begins itself, after that; nil: it answers
	yes, no        string       // what bob is written; no: where the answer is a denial
	none           string       // why the document has no such cell
}

func setsMode(s *stage) {
	_, err := decide.Of(s.op).SetMode(s.t.Context(), s.team, "bob", policy.ModePlan)
	must(s.t, err)
}

func setsRule(s *stage) {
	_, err := decide.Of(s.op).AddRule(s.t.Context(), s.team, policy.Rule{Tool: "Bash", Pattern: "rm:*"}, true, decide.RuleScope{})
	must(s.t, err)
}

func assignsTask(s *stage) {
	_, err := board.Of(s.op).AddTask(s.t.Context(), s.team, newTask)
	must(s.t, err)
}

// What makes a spelling known that has nothing to ask in it.
const (
	idle000 = `{"type":"idle_notification","timestamp":"T","state":"idle"}`
	plan002 = `{"type":"plan_approval_request","from":"bob","plan":"one","summary":"s","timestamp":"T","requestId":"ID"}`
	idle002 = `{"type":"idle_notification","from":"bob","idleReason":"task_complete","timestamp":"T"}`
	plan004 = `{"type":"plan_approval_request","requestId":"ID","from":"bob","plan":"one"}`
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

var spellings = []spelled{
	{flow: "permission", document: "the client", asks: `{"type":"permission_request","request_id":"ID","agent_id":"bob","tool_name":"Bash","tool_use_id":"t1","description":"","input":{"command": "one"},"permission_suggestions":[]}`,
		yes: `{"type":"permission_response","request_id":"ID","subtype":"success","tool_use_id":"t1","response":{"updated_input":{"command": "one"}}}`,
		no:  `{"type":"permission_response","request_id":"ID","subtype":"error","tool_use_id":"t1","error":"no"}`},
	{flow: "permission", document: "000", asks: `{"type":"permission_request","requestId":"ID","timestamp":"T","tool":{"name":"Bash","arguments":"one"},"reason":"why"}`,
		yes: `{"type":"permission_response","requestId":"ID","timestamp":"T","approved":true}`,
		no:  `{"type":"permission_response","requestId":"ID","timestamp":"T","approved":false,"notes":"no"}`},
	{flow: "permission", document: "001", asks: ask001, yes: yes001, no: no001},
	{flow: "permission", document: "mixed: 001's id, the client's rest", asks: `{"type":"permission_request","requestId":"ID","agent_id":"bob","tool_name":"Bash","tool_use_id":"t1","input":{"command": "one"}}`, yes: yes001, no: no001},
	{flow: "permission", document: "002", none: "002 has no permissions"},
	{flow: "permission", document: "004", none: "004 (Summary of All Known Message Types) has no permissions"},
	{flow: "network", document: "the client and 001", asks: `{"type":"sandbox_permission_request","requestId":"ID","workerId":"bob","workerName":"bob","workerColor":"cyan","hostPattern":{"host":"one.example.com"},"createdAt":0}`,
		yes: wireNetYes, no: wireNetNo},
	{flow: "network", document: "000", asks: `{"type":"sandbox_permission_request","requestId":"ID","timestamp":"T","capability":"network","details":{"hostnames":["one.example.com"],"reason":"why"}}`,
		yes: `{"type":"sandbox_permission_response","requestId":"ID","timestamp":"T","approved":true,"scope":"one-shot"}`,
		no:  `{"type":"sandbox_permission_response","requestId":"ID","timestamp":"T","approved":false,"notes":"no"}`},
	{flow: "network", document: "002", none: "002 has no network"},
	{flow: "network", document: "004", none: "004 (Summary of All Known Message Types) has no network"},
	{flow: "plan", document: "the client and 001", asks: `{"type":"plan_approval_request","from":"bob","timestamp":"T","planFilePath":"/p.md","planContent":"one","requestId":"ID"}`, yes: wirePlanYes, no: wirePlanNo},
	{flow: "plan", document: "000", asks: `{"type":"plan_approval_request","requestId":"ID","timestamp":"T","plan":{"goal":"one","steps":[],"risks":[],"tooling":[]}}`,
		yes: `{"type":"plan_approval_response","requestId":"ID","timestamp":"T","approved":true,"policy":{"permissionMode":"bypassPermissions"}}`,
		no:  `{"type":"plan_approval_response","requestId":"ID","timestamp":"T","approved":false,"notes":"no"}`},
	{flow: "plan", document: "002", asks: plan002,
		yes: `{"type":"plan_approval_response","requestId":"ID","approve":true,"timestamp":"T","permissionMode":"bypassPermissions"}`,
		no:  `{"type":"plan_approval_response","requestId":"ID","approve":false,"feedback":"no","timestamp":"T"}`},
	{flow: "plan", document: "004 (6. Plan Approval Request), whose answer has no form there", asks: plan004, yes: wirePlanYes, no: wirePlanNo},
	{flow: "plan", document: "mixed: 003's id", asks: `{"type":"plan_approval_request","from":"bob","planContent":"one","request_id":"ID"}`,
		yes: `{"type":"plan_approval_response","request_id":"ID","approve":true,"permissionMode":"bypassPermissions"}`,
		no:  `{"type":"plan_approval_response","request_id":"ID","approve":false,"feedback":"no"}`},
	{flow: "shutdown", document: "the client, 001 and 004", asks: idle, begins: shutdown, yes: wireShutdown},
	{flow: "shutdown", document: "000", asks: idle000, begins: shutdown, yes: `{"type":"shutdown_request","requestId":"ID","timestamp":"T","reason":"over"}`},
	{flow: "shutdown", document: "002", asks: idle002, begins: shutdown, yes: `{"text":"over","summary":"Shutdown request","type":"shutdown_request","metadata":{"request_id":"ID"}}`},
	{flow: "mode", document: "the client and 001", asks: ask001, begins: setsMode, yes: wireMode},
	{flow: "mode", document: "000", asks: idle000, begins: setsMode, yes: `{"type":"mode_set_request","timestamp":"T","mode":"plan","policy":{"permissionMode":"plan"}}`},
	{flow: "mode", document: "002, which has no modes", asks: idle002, begins: setsMode, yes: wireMode},
	{flow: "team policy", document: "001", asks: ask001, begins: setsRule, yes: wireRules},
	{flow: "team policy", document: "000", asks: idle000, begins: setsRule, yes: `{"type":"team_permission_update","timestamp":"T","rules":{"disallowedTools":["Bash(rm:*)"]},"policyVersion":2}`},
	{flow: "team policy", document: "002, which has none", asks: idle002, begins: setsRule, yes: wireRules},
	{flow: "task assignment", document: "the client, 001 and 004", asks: idle, begins: assignsTask, yes: wireTask},
	{flow: "task assignment", document: "000", asks: idle000, begins: assignsTask, yes: `{"type":"task_assignment","requestId":"1","timestamp":"T","task":{"title":"Build","instructions":"make"}}`},
	{flow: "task assignment", document: "002, which assigns in prose", asks: idle002, begins: assignsTask, yes: wireTask},
	{flow: "question", document: "all", none: "no document has a question in words"},
}

var (
	timeText = regexp.MustCompile(`20\d\d-\d\d-\d\dT[0-9:.]+Z`)
	idText   = regexp.MustCompile(`id-1|shutdown-\d+@bob`)
)

// newest is what bob was written last: the text, and of an envelope whose type says what it is, the rest too.
func (s *stage) newest() string {
	s.t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.them.team, "inboxes", "bob.json"))
	must(s.t, err)
	var es []struct {
		Text     string          `json:"text"`
		Summary  string          `json:"summary"`
		Type     string          `json:"type"`
		Metadata json.RawMessage `json:"metadata"`
	}
	must(s.t, json.Unmarshal(raw, &es))
	if len(es) == 0 {
		return "nothing"
	}
	e := es[len(es)-1]
	text := e.Text
	if e.Type != "message" {
		b, err := json.Marshal(e)
		must(s.t, err)
		text = string(b)
	}
	return idText.ReplaceAllString(timeText.ReplaceAllString(text, "T"), "ID")
}

// answersAll lets the operator answer all that is open, with words for a denial.
func (s *stage) answersAll(allow bool) {
	s.t.Helper()
	qs, err := decide.Of(s.op).Pending(s.t.Context(), s.team, false)
	must(s.t, err)
	if len(qs) != 1 {
		s.t.Fatalf("%d questions are open", len(qs))
	}
	a := decide.Answer{ID: qs[0].ID, Allow: allow, Digest: qs[0].Digest}
	if !allow {
		a.Reason = "no"
	}
	_, err = decide.Of(s.op).Decide(s.t.Context(), s.team, []decide.Answer{a})
	must(s.t, err)
}

// plays plays a cell and returns what bob is written.
func (c spelled) plays(t *testing.T, allow bool) string {
	s := newStage(t, "worker")
	s.says("bob", strings.NewReplacer(`"ID"`, `"id-1"`, `"T"`, `"2026-11-20T16:49:40.914Z"`).Replace(c.asks))
	s.pass()
	if c.begins == nil {
		s.answersAll(allow)
	} else {
		c.begins(s)
	}
	s.pass()
	return s.newest()
}

// TestSpellings: a member that another program runs is answered, and is written to, in the spelling in
// which it asked or spoke last, to the byte of its document.
func TestSpellings(t *testing.T) {
	t.Parallel()
	rows := slices.DeleteFunc(slices.Clone(spellings), func(c spelled) bool { return c.none != "" })
	if !testenv.Full() { // a row a flow, no two of one document where it can be
		seen := map[string]bool{}
		rows = slices.DeleteFunc(rows, func(c spelled) bool {
			alike := seen[c.flow] || strings.HasPrefix(c.document, "the client")
			seen[c.flow] = seen[c.flow] || !alike
			return alike
		})
	}
	for _, c := range rows {
		t.Run(c.flow+", "+c.document, func(t *testing.T) {
			t.Parallel()
			if got := c.plays(t, true); got != c.yes {
				t.Errorf("it is written\n%s\nwant\n%s", got, c.yes)
			}
			if c.no == "" {
				return
			}
			if got := c.plays(t, false); got != c.no {
				t.Errorf("it is denied with\n%s\nwant\n%s", got, c.no)
			}
		})
	}
}

// spellingsPage is the table of spellings for docs/foreign.md.
func spellingsPage() string {
	var b strings.Builder
	b.WriteString("\n## In which spelling it is answered\n\nA member that uses files is answered in the spelling in which it asked, and is written to in the one\n" +
		"in which it spoke last; a payload that several documents spell alike changes nothing. ID stands for the id, T\nfor a time. The answer to a plan says the mode that holds (TestSpellings).\n\n" +
		"| flow | document | it writes | it is written | or, denied |\n|---|---|---|---|---|\n")
	code := func(text string) string {
		if text == "" {
			return ""
		}
		return "`" + strings.ReplaceAll(text, "|", "\\|") + "`"
	}
	for _, c := range spellings {
		if c.none != "" {
			fmt.Fprintf(&b, "| %s | %s | %s | | |\n", c.flow, c.document, c.none)
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.flow, c.document, code(c.asks), code(c.yes), code(c.no))
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
	must(t, err)
	done, err := decide.Of(s.op).Decide(t.Context(), s.team, []decide.Answer{{ID: qs[0].ID, Allow: true, Digest: qs[0].Digest, UpdatedInput: `{"arguments":"two"}`}})
	must(t, err)
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

// TestGuestAnswersInTheSpelling: a guest answers its lead's shutdown_request as that one was spelled.
func TestGuestAnswersInTheSpelling(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ document, asks, want string }{
		{"001", `{"type":"shutdown_request","requestId":"ID","from":"team-lead","reason":"over","timestamp":"T"}`, `{"type":"shutdown_approved","requestId":"ID","from":"gopher","timestamp":"T"}`},
		{"000", `{"type":"shutdown_request","requestId":"ID","timestamp":"T","reason":"over"}`, `{"type":"shutdown_approved","requestId":"ID","timestamp":"T"}`},
	} {
		t.Run(c.document, func(t *testing.T) {
			t.Parallel()
			g := newGuest(t)
			g.says("team-lead", strings.NewReplacer(`"ID"`, `"id-1"`, `"T"`, `"2026-11-20T16:49:40.914Z"`).Replace(c.asks))
			e, _ := g.heard()
			if got := idText.ReplaceAllString(timeText.ReplaceAllString(e.Text, "T"), "ID"); got != c.want {
				t.Errorf("the lead is answered\n%s\nwant\n%s", got, c.want)
			}
			err := <-g.done
			g.done <- err
		})
	}
}
