package decide_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"waggle/internal/claude/session"
	"waggle/internal/test/operatortest"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/record"
	"waggle/spawn"
)

// sessions is an operator and sessions whose process is this one.
type sessions struct {
	t    *testing.T
	o    decide.Operator
	self spawn.Identity
	n    int
}

func newSessions(t *testing.T) *sessions {
	t.Helper()
	self := testenv.Value(spawn.Identify(os.Getpid()))(t)
	o := decide.Of(operatortest.New(t))
	testenv.Must(t, os.MkdirAll(o.Home.Path, 0o700))
	return &sessions{t: t, o: o, self: self}
}

// given is the answer that a hook gave to its client.
type given struct{ out string }

// ask runs the hook of a request until it waits; the answer that the hook gives to its client is sent
// on the channel. The hook ends with the test.
func (s *sessions) ask(id session.ID, tool, input string) <-chan given {
	s.t.Helper()
	store := session.At(s.o.Home.Path, time.Now)
	s.n++
	n := s.n
	h := session.Hook{Store: store, Client: session.Claude, Self: s.self, Tick: 5 * time.Millisecond,
		Live:     session.Liveness{Check: spawn.Identity.Check, Ancestors: func(int) ([]spawn.Identity, error) { return []spawn.Identity{s.self}, nil }},
		Sessions: func() []session.Registered { return []session.Registered{{Session: id, Process: s.self}} },
		Nonce:    func() (string, error) { return fmt.Sprint("n", n), nil }}
	event := func(name, more string) *strings.Reader {
		return strings.NewReader(`{"session_id":"` + string(id) + `","cwd":"/w","permission_mode":"default","hook_event_name":"` + name + `"` + more + `}`)
	}
	asked := func() int {
		one := testenv.Value(store.Open(id))(s.t)
		return len(one.Requests())
	}
	before := asked()
	if before == 0 {
		testenv.Must(s.t, h.Run(s.t.Context(), "SessionStart", event("SessionStart", `,"source":"startup"`), io.Discard))
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan given, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		var out bytes.Buffer
		if err := h.Run(ctx, "PermissionRequest", event("PermissionRequest", `,"tool_name":"`+tool+`","tool_input":`+input), &out); err == nil {
			done <- given{out.String()}
		}
	}()
	s.t.Cleanup(func() { cancel(); <-over })
	testenv.Eventually(s.t, "the hook waits", func() bool { return asked() == before+1 })
	return done
}

func (s *sessions) open() []decide.Request {
	s.t.Helper()
	_, qs, err := s.o.Sessions()
	testenv.Must(s.t, err)
	return qs
}

// decide answers one request of a session; nil with the error that it was not decided.
func (s *sessions) decide(a decide.Answer) (*decide.Decided, error) {
	ds, err := s.o.Decide(s.t.Context(), decide.SessionTeam, []decide.Answer{a})
	if len(ds) != 1 {
		return nil, err
	}
	return &ds[0], err
}

// hears waits for the answer that the hook gave to its client.
func (s *sessions) hears(answers <-chan given) string {
	s.t.Helper()
	select {
	case g := <-answers:
		return g.out
	case <-time.After(30 * time.Second):
		s.t.Fatal("the hook goes on waiting")
		return ""
	}
}

func bash(command string) string {
	b, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return string(b)
}

const asksWords = `{"questions":[{"question":"Which colour?","header":"Colour","multiSelect":false,"options":[{"label":"red","description":"warm"},{"label":"blue","description":"cold"}]}]}`

// Sessions lists the whole requests of sessions, and Show shows one by its handle.
func TestSessionsAsk(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	if seen, err := s.o.SeenSessions(); seen || err != nil {
		t.Errorf("%v, %v", seen, err)
	}
	s.ask("s-1", "Bash", bash("make"))
	s.ask("s-3", "ExitPlanMode", `{"plan":"# do it\nnow","planFilePath":"/p"}`)
	s.ask("s-2", "AskUserQuestion", asksWords)
	if seen, err := s.o.SeenSessions(); !seen || err != nil {
		t.Errorf("%v, %v", seen, err)
	}
	rows, qs, err := s.o.Sessions()
	if err != nil || len(rows) != 3 || len(qs) != 3 {
		t.Fatalf("%+v, %+v, %v", rows, qs, err)
	}
	for _, r := range rows {
		if r.Team != decide.SessionTeam || r.State != session.RowWaitingHuman || r.PID != os.Getpid() || r.Trust != decide.LevelAnswers || !r.Hook || r.Since.IsZero() || !strings.HasPrefix(r.Why, "asks: ") {
			t.Errorf("%+v", r)
		}
	}
	if i := slices.IndexFunc(rows, func(r decide.SessionRow) bool { return r.Session == "s-1" }); i < 0 || len(rows[i].Handles) != 1 || rows[i].Why != "asks: make" {
		t.Errorf("%+v", rows)
	}
	kinds := map[string]decide.Request{}
	for _, q := range qs {
		kinds[q.Kind] = q
		shown, err := s.o.Show(t.Context(), decide.SessionTeam, q.Handle)
		if err != nil || shown == nil || shown.ID != q.ID || q.Status != decide.StatusOpen || q.Team != "-" || q.Cwd != "/w" {
			t.Errorf("%+v, %v", shown, err)
		}
	}
	if q := kinds["permission_request"]; q.Command != "make" || len(q.Suggest) == 0 || q.Pattern == "" {
		t.Errorf("%+v", q)
	}
	if q := kinds["plan_approval_request"]; q.Plan != "# do it\nnow" || q.Revision != 1 || q.Risk != "medium" {
		t.Errorf("%+v", q)
	}
	if q := kinds[decide.KindQuestion]; len(q.Questions) != 1 || q.Questions[0].Text != "Which colour?" || len(q.Questions[0].Options) != 2 || q.Questions[0].Options[1] != (decide.Option{Label: "blue", Description: "cold"}) {
		t.Errorf("%+v", q)
	}
	_, err = s.o.Show(t.Context(), decide.SessionTeam, "ooo")
	operatortest.Is(t, "no request", err, operator.NotFound, `no request "ooo"`)
}

// An answer reaches the client of the hook once, and another answer is refused. SessionsPast and
// SessionAudit list the request with its answer.
func TestDecideSession(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	client := s.ask("s-1", "Bash", bash("make"))
	q := s.open()[0]
	for what, c := range map[string]struct {
		a    decide.Answer
		code operator.Kind
		says string
	}{
		"another digest":   {decide.Answer{ID: q.Handle, Digest: strings.Repeat("0", 64), Allow: true, Via: "approve"}, operator.Refused, "digest"},
		"a short one":      {decide.Answer{ID: q.Handle, Digest: q.Digest[:8], Allow: true, Via: "approve"}, operator.Refused, "digest"},
		"words for a call": {decide.Answer{ID: q.Handle, Words: []string{"red"}, Via: "answer"}, operator.Usage, "asks for permission, not for words"},
	} {
		d, err := s.decide(c.a)
		operatortest.Is(t, what, err, c.code, c.says)
		if d != nil {
			t.Errorf("%s: %+v", what, d)
		}
	}
	yes := decide.Answer{ID: q.Handle, Digest: q.Digest[:16], Allow: true, Via: "approve", UpdatedInput: bash("make -n")}
	d, err := s.decide(yes)
	if err != nil || d == nil || d.Err() != nil || !d.Changed || !d.Delivered || d.Decision != "allow" || d.By != "operator" || d.Digest == "" {
		t.Fatalf("%+v, %v", d, err)
	}
	if out := s.hears(client); !strings.Contains(out, `"allow"`) || !strings.Contains(out, "make -n") {
		t.Errorf("%s", out)
	}
	d, err = s.decide(decide.Answer{ID: q.Handle, Via: "deny"})
	if err != nil || d == nil || d.Changed {
		t.Fatalf("%+v, %v", d, err)
	}
	operatortest.Is(t, "the opposite", d.Err(), operator.Refused, "")
	if d, err := s.decide(decide.Answer{ID: "ooo"}); d != nil || operator.KindOf(err) != operator.NotFound {
		t.Errorf("%+v, %v", d, err)
	}
	if qs := s.open(); len(qs) != 0 {
		t.Errorf("%+v", qs)
	}
	past, err := s.o.SessionsPast()
	if err != nil || len(past) != 1 || past[0].Answer == nil || past[0].Answer.Decision != "allow" || string(past[0].Answer.Input) != bash("make -n") {
		t.Errorf("%+v, %v", past, err)
	}
	es, err := s.o.SessionAudit(operator.AuditQuery{Tool: "Bash", Decision: "allow"})
	if err != nil || len(es) != 1 || es[0].By != "operator" || es[0].Via != "approve" || string(es[0].Runs) != bash("make -n") || es[0].Trust != decide.LevelAnswers {
		t.Errorf("%+v, %v", es, err)
	}
	if es, err = s.o.SessionAudit(operator.AuditQuery{Decision: "deny"}); err != nil || len(es) != 0 {
		t.Errorf("%+v, %v", es, err)
	}
}

// Words answer a question and nothing else.
func TestSessionWords(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	client := s.ask("s-1", "AskUserQuestion", asksWords)
	q := s.open()[0]
	_, err := s.decide(decide.Answer{ID: q.Handle, Words: []string{"red", "blue", "green"}, Via: "answer"})
	operatortest.Is(t, "too many words", err, operator.Usage, "")
	d, err := s.decide(decide.Answer{ID: q.Handle, Allow: true, Words: []string{"2"}, Via: "answer"})
	if err != nil || d == nil || d.Err() != nil || d.Decision != record.DecisionAnswer {
		t.Fatalf("%+v, %v", d, err)
	}
	if out := s.hears(client); !strings.Contains(out, "blue") {
		t.Errorf("%s", out)
	}
}

// A changed input is shown with its own digest, and decides nothing.
func TestSessionChanged(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	s.ask("s-1", "Bash", bash("make"))
	q := s.open()[0]
	c, err := s.o.Changed(t.Context(), decide.SessionTeam, q.Handle, bash("sudo rm -rf /"))
	if err != nil || c == nil || c.Command != "sudo rm -rf /" || c.Risk != "high" || c.Digest == q.Digest {
		t.Errorf("%+v, %v", c, err)
	}
	_, err = s.o.Changed(t.Context(), decide.SessionTeam, q.Handle, "[]")
	operatortest.Is(t, "no object", err, operator.Usage, "JSON object")
	_, err = s.o.Changed(t.Context(), decide.SessionTeam, "ooo", "{}")
	operatortest.Is(t, "no request", err, operator.NotFound, `no request "ooo"`)
	if again := s.open(); len(again) != 1 || again[0].Digest != q.Digest {
		t.Errorf("%+v", again)
	}
}

// A group of sessions' requests is answered at once, below high risk.
func TestSessionGroup(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	clients := []<-chan given{s.ask("s-1", "Bash", bash("make a")), s.ask("s-2", "Bash", bash("make a"))}
	s.ask("s-3", "Bash", bash("sudo rm -rf /"))
	var low, high *decide.Group
	for _, g := range decide.Groups(s.open()) {
		if g.Batch {
			low = &g
		} else {
			high = &g
		}
	}
	if low == nil || low.Count != 2 || low.Inputs != 1 || high == nil {
		t.Fatalf("%+v, %+v", low, high)
	}
	if g, err := s.o.ShowGroup(t.Context(), decide.SessionTeam, low.ID); err != nil || g == nil || !slices.Equal(g.Text, low.Text) {
		t.Errorf("%+v, %v", g, err)
	}
	_, err := s.o.DecideGroup(t.Context(), decide.SessionTeam, high.ID, decide.Answer{Allow: true, Via: "approve"})
	operatortest.Is(t, "high risk", err, operator.Refused, "never decided by a group")
	_, err = s.o.DecideGroup(t.Context(), decide.SessionTeam, low.Pattern, decide.Answer{Allow: true, Via: "approve"})
	operatortest.Is(t, "a pattern", err, operator.Usage, "would also answer what you were not shown")
	_, err = s.o.DecideGroup(t.Context(), decide.SessionTeam, low.ID, decide.Answer{Allow: true, Words: []string{"make"}, Via: "answer"})
	operatortest.Is(t, "words for calls", err, operator.Usage, "asks for permission, not for words")
	ds, err := s.o.DecideGroup(t.Context(), decide.SessionTeam, low.ID, decide.Answer{Allow: true, Via: "approve"})
	if err != nil || len(ds) != 2 || ds[0].Decision != "allow" || ds[1].Err() != nil {
		t.Fatalf("%+v, %v", ds, err)
	}
	for _, c := range clients {
		if out := s.hears(c); !strings.Contains(out, `"allow"`) {
			t.Errorf("%s", out)
		}
	}
	if ds, err := s.o.DecideGroup(t.Context(), decide.SessionTeam, low.ID, decide.Answer{Allow: true}); ds != nil || operator.KindOf(err) != operator.NotFound {
		t.Errorf("a group that is gone: %+v, %v", ds, err)
	}
}

// An answer from inside a session is refused and recorded; a request whose hook has ended
// is closed by the next command that acts.
func TestSessionGuard(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	s.ask("s-1", "Bash", bash("make"))
	q := s.open()[0]
	s.o.ClaudeDir = t.TempDir()
	dir := filepath.Join(s.o.ClaudeDir, "sessions")
	testenv.Must(t, os.MkdirAll(dir, 0o700))
	entry := fmt.Sprintf(`{"pid":%d,"sessionId":"s-1","cwd":"/w","procStart":%q,"version":"2.1.330","kind":"interactive","status":"busy","name":"api"}`, s.self.PID, s.self.Start)
	testenv.Must(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(s.self.PID, ".json")), []byte(entry), 0o600))
	s.o.Ancestors = func(int) ([]spawn.Identity, error) { return []spawn.Identity{s.self}, nil }
	_, err := s.decide(decide.Answer{ID: q.Handle, Allow: true, Via: "approve"})
	operatortest.Is(t, "from inside", err, operator.Refused, "from inside session s-1")
	_, err = s.o.TurnSessionRules(t.Context(), true)
	operatortest.Is(t, "rules from inside", err, operator.Refused, "from inside session s-1")
	_, err = s.o.SetAway(t.Context(), true, nil)
	operatortest.Is(t, "away from inside", err, operator.Refused, "from inside session s-1")
	operatortest.Is(t, "a command about no team", s.o.Guard(t.Context(), nil, "run"), operator.Refused, "from inside session s-1")
	if err := s.o.GuardMembers(t.Context(), nil, "mcp"); err != nil {
		t.Errorf("a session acts as itself: %v", err)
	}
	rows, qs, err := s.o.Sessions()
	if err != nil || len(rows) != 1 || rows[0].Name != "api" || rows[0].Version != "2.1.330" || len(qs) != 1 || qs[0].Member != "api" {
		t.Errorf("%+v, %+v, %v", rows, qs, err)
	}
	s.o.Ancestors = func(int) ([]spawn.Identity, error) { return nil, nil }
	if err := s.o.Guard(t.Context(), nil, "approve"); err != nil {
		t.Error(err)
	}
	s.o.Called = []string{"CLAUDE_CODE_SESSION_ID=s-1"} // its parents have gone
	operatortest.Is(t, "left behind", s.o.Guard(t.Context(), nil, "approve"), operator.Refused, "whose CLAUDE_CODE_SESSION_ID it has")
	s.o.Called = []string{"CLAUDE_CODE_SESSION_ID=s-2", "CODEX_THREAD_ID=s-1"}
	if err := s.o.Guard(t.Context(), nil, "approve"); err != nil {
		t.Errorf("another session's id: %v", err)
	}
}

// A person attends by a screen, or has said that answers come from the list; an agent's process does not attend.
func TestAttended(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	r := operatortest.Team(t, s.o.Operator, "api", record.PolicySet{})
	_, member := r.Sleeper(r.State(), "ann")
	outside := func(int) ([]spawn.Identity, error) { return nil, nil }
	inside := func(int) ([]spawn.Identity, error) { return []spawn.Identity{member}, nil }
	attend := func(ancestors func(int) ([]spawn.Identity, error)) func() {
		t.Helper()
		s.o.Ancestors = ancestors
		release := testenv.Value(s.o.Attend())(t)
		return func() {
			if err := release(); err != nil {
				t.Error(err)
			}
		}
	}
	want := func(what string, want bool) {
		t.Helper()
		s.o.Ancestors = outside
		if got := s.o.Attended(); got != want {
			t.Errorf("%s: %v", what, got)
		}
	}
	want("nobody", false)
	release := attend(outside)
	want("a screen", true)
	if runtime.GOOS == "linux" { // where the holder of a lock is known
		s.o.Ancestors = inside
		if s.o.Attended() {
			t.Error("a member that holds a lock in the store attends")
		}
	}
	release()
	want("the screen is closed", false)
	release = attend(inside)
	want("a screen in a member", false)
	release()
	testenv.Value(s.o.SetAway(t.Context(), true, nil))(t)
	want("away", true)
	testenv.Value(s.o.SetAway(t.Context(), true, new(time.Now().Add(-time.Minute))))(t)
	want("away is over", false)
}

// The user's rules for sessions: on and off, added once, taken back, and over in time.
func TestSessionRules(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	ls := rule(t, "Bash(ls:*)")
	until := time.Now().Add(-time.Minute)
	steps := []struct {
		what    string
		do      func() (*decide.SessionRules, error)
		on      bool
		changed bool
		rules   string
	}{
		{"none", s.o.SessionRules, false, false, ""},
		{"on", func() (*decide.SessionRules, error) { return s.o.TurnSessionRules(t.Context(), true) }, true, true, ""},
		{"on again", func() (*decide.SessionRules, error) { return s.o.TurnSessionRules(t.Context(), true) }, true, false, ""},
		{"add", func() (*decide.SessionRules, error) { return s.o.AddSessionRule(t.Context(), ls, false, nil) }, true, true, "allow Bash(ls:*)"},
		{"add again", func() (*decide.SessionRules, error) { return s.o.AddSessionRule(t.Context(), ls, false, nil) }, true, false, "allow Bash(ls:*)"},
		{"add for a time", func() (*decide.SessionRules, error) {
			return s.o.AddSessionRule(t.Context(), rule(t, "Bash(rm:*)"), true, &until)
		}, true, true, "allow Bash(ls:*);deny Bash(rm:*) over"},
		{"remove", func() (*decide.SessionRules, error) { return s.o.RemoveSessionRule(t.Context(), ls, false) }, true, true, "deny Bash(rm:*) over"},
		{"read", s.o.SessionRules, true, false, "deny Bash(rm:*) over"},
	}
	for _, c := range steps {
		r, err := c.do()
		if err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		var got []string
		for _, one := range r.Rules {
			text := one.Effect + " " + one.Rule
			if one.Over {
				text += " over"
			}
			got = append(got, text)
		}
		if r.On != c.on || r.Changed != c.changed || strings.Join(got, ";") != c.rules {
			t.Errorf("%s: %+v", c.what, r)
		}
	}
	_, err := s.o.RemoveSessionRule(t.Context(), ls, false)
	operatortest.Is(t, "a rule that is not there", err, operator.NotFound, "no rule Bash(ls:*)")
}

// TestDialogListed: a session that waits at a dialog without a request is listed, counted, and answered in its
// own terminal only.
func TestDialogListed(t *testing.T) {
	t.Parallel()
	s := newSessions(t)
	s.o.ClaudeDir = t.TempDir()
	testenv.Must(t, os.Mkdir(filepath.Join(s.o.ClaudeDir, "sessions"), 0o700))
	entry := fmt.Sprintf(`{"pid":%d,"sessionId":"s-1","name":"mine","kind":"interactive","status":"waiting","statusUpdatedAt":1}`, s.self.PID)
	testenv.Must(t, os.WriteFile(filepath.Join(s.o.ClaudeDir, "sessions", fmt.Sprint(s.self.PID, ".json")), []byte(entry), 0o600))
	qs := s.open()
	if len(qs) != 1 || qs[0].Kind != decide.KindDialog || qs[0].Status != decide.StatusUnanswerable || qs[0].Handle != "" || qs[0].Member != "mine" ||
		!strings.Contains(strings.Join(qs[0].Asks(), " "), "answer in its own terminal") {
		t.Fatalf("%+v", qs)
	}
	if open := s.o.OpenRequests(t.Context(), "", true); len(open) != 0 {
		t.Errorf("completion offers %+v", open)
	}
	if gs := decide.Groups(qs); len(gs) != 1 || gs[0].Batch {
		t.Errorf("%+v", gs)
	}
	if _, err := s.decide(decide.Answer{ID: qs[0].ID, Allow: true, Via: "approve"}); operator.KindOf(err) != operator.Refused {
		t.Errorf("an answer: %v", err)
	}
	r := operatortest.Team(t, s.o.Operator, "api", record.PolicySet{})
	_, id := r.Sleeper(r.State(), "ann")
	s.o.Ancestors = func(int) ([]spawn.Identity, error) { return []spawn.Identity{id}, nil }
	if rows, qs, err := s.o.Sessions(); len(rows)+len(qs) != 0 || err != nil {
		t.Errorf("of a member, whose team lists what it asks: %+v, %+v, %v", rows, qs, err)
	}
	m, theirs := r.Sleeper(r.State(), "ben")
	theirs.Theirs = true
	r.Runs(r.State(), m, theirs)
	s.o.Ancestors = func(int) ([]spawn.Identity, error) { return []spawn.Identity{theirs}, nil }
	if rows, qs, err := s.o.Sessions(); len(rows) != 1 || len(qs) != 1 || err != nil {
		t.Errorf("of an adopted session: %+v, %+v, %v", rows, qs, err)
	}
	s.o.Ancestors = nil
	s.ask("s-1", "Bash", `{"command":"ls"}`)
	if qs := s.open(); len(qs) != 1 || qs[0].Kind == decide.KindDialog {
		t.Errorf("with a request: %+v", qs)
	}
}
