package foreigntest_test

import (
	"crypto/rand"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"waggle/home"
	"waggle/internal/test/testenv"
	"waggle/operator"
	"waggle/operator/decide"
	"waggle/operator/mail"
	"waggle/operator/teams"
	"waggle/policy"
	"waggle/poll"
	"waggle/protocol"
	"waggle/record"
	"waggle/task"
	"waggle/team"
)

var update = flag.Bool("update", false, "write docs/foreign.md")

// stage is a team that waggle leads, with the foreign member bob, or the team of a
// session, whose lead is the foreign one and in which gopher was registered here.
type stage struct {
	t    *testing.T
	op   operator.Operator
	team protocol.TeamName
	them foreign
	box  string            // whose mailbox they write into
	told int               // records that were told
	mail map[string]int    // entries that were told, by mailbox
	ids  map[string]string // ids that waggle gave
}

func newStage(t *testing.T, role string) *stage {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	testenv.Must(t, err)
	root := filepath.Join(dir, "root")
	testenv.Must(t, os.MkdirAll(root, 0o700))
	op := operator.Operator{Root: team.Root{Path: root}, RootURL: (&url.URL{Scheme: "file", Path: root}).String(),
		Home: home.Home{Path: filepath.Join(dir, "state")}, Minter: poll.Minter{Now: time.Now, Rand: rand.Reader}, Version: "test", PID: os.Getpid()}
	s := &stage{t: t, op: op, mail: map[string]int{}, ids: map[string]string{}}
	ours := "bob"
	if role == "worker" {
		s.team, s.box = "api", "team-lead"
		_, err = teams.Of(op).Create(t.Context(), s.team, "", record.PolicySet{Policy: policy.Policy{Version: 1, Mode: policy.ModeBypassPermissions}})
		s.them = foreign{filepath.Join(root, "teams", "api"), "bob"}
	} else {
		s.team, s.box, ours = "session-1a2b3c4d", "gopher", "gopher"
		s.them = foreign{filepath.Join(root, "teams", "session-1a2b3c4d"), "team-lead"}
		testenv.Must(t, os.MkdirAll(filepath.Join(s.them.team, "inboxes"), 0o755))
		err = os.WriteFile(filepath.Join(s.them.team, "config.json"), []byte(`{"name":"session-1a2b3c4d","createdAt":1795193125905,"leadAgentId":"team-lead@session-1a2b3c4d",
"leadSessionId":"1a2b3c4d-0000-4000-8000-000000000000","members":[{"agentId":"team-lead@session-1a2b3c4d","name":"team-lead","agentType":"team-lead","joinedAt":1,"tmuxPaneId":"leader","cwd":"/","subscriptions":[]}]}`), 0o644)
	}
	testenv.Must(t, err)
	_, _, err = mail.Of(op).Register(t.Context(), s.team, team.Member{Name: protocol.MemberName(ours), AgentType: "general-purpose", JoinedAt: time.Now(), Subscriptions: []string{}}, false)
	testenv.Must(t, err)
	s.effects() // what stands there from the start
	return s
}

// says writes a text with a sender.
func (s *stage) says(from, text string) {
	s.t.Helper()
	s.puts(letter(from, text))
}

// puts writes entries at once.
func (s *stage) puts(es ...entry) {
	s.t.Helper()
	testenv.Must(s.t, s.them.edit(s.box, func(have []entry) []entry { return append(have, es...) }))
}

// pass is the leader pass of any command that acts on the team, unless another program
// leads it.
func (s *stage) pass() {
	s.t.Helper()
	st, err := s.op.Open(s.t.Context(), s.team, operator.Act)
	if operator.Unled(err) {
		return
	}
	testenv.Must(s.t, err)
	_, err = s.op.Pass(s.t.Context(), st)
	testenv.Must(s.t, err)
}

// effects returns the changes since its last call: records, questions that people are shown, members,
// tasks, and mail.
func (s *stage) effects() string {
	s.t.Helper()
	s.pass()
	var out []string
	st, err := s.op.Open(s.t.Context(), s.team, operator.Act)
	if !operator.Unled(err) {
		testenv.Must(s.t, err)
		recs, err := st.Records()
		testenv.Must(s.t, err)
		for _, r := range recs[s.told:] {
			out = append(out, "record "+r.Kind)
		}
		s.told = len(recs)
		for _, r := range st.Lead.Pending() {
			out = append(out, "open: "+string(r.Kind))
		}
		for _, m := range st.Lead.Members {
			if m.Left != nil {
				out = append(out, string(m.Name)+" has left")
			}
			if len(m.Done) > 0 {
				out = append(out, "a task is done")
			}
		}
		if p := st.Lead.Policy.Policy; p.Version != 1 || len(p.Allow) > 0 || p.Mode != policy.ModeBypassPermissions {
			out = append(out, "another policy")
		}
	}
	cfg, err := team.Open(s.op.Root, s.team, team.Options{})
	testenv.Must(s.t, err)
	c, err := cfg.Load(s.t.Context())
	testenv.Must(s.t, err)
	if n := len(c.Present()); n != 2 {
		out = append(out, fmt.Sprintf("%d in the registry", n))
	}
	if board, err := task.Open(s.op.Root.TasksDir(s.team), s.team, task.Options{Queue: s.op.Root.Queue(s.team)}); err == nil {
		list, _, err := board.All(s.t.Context())
		testenv.Must(s.t, err)
		for _, t := range list {
			if t.Status == task.Completed {
				out = append(out, "task "+string(t.ID)+" completed")
			}
		}
	}
	boxes, err := filepath.Glob(filepath.Join(s.them.team, "inboxes", "*.json"))
	testenv.Must(s.t, err)
	for _, path := range boxes {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		if name == s.box {
			continue // what they wrote themselves
		}
		var es []entry
		raw, err := os.ReadFile(path)
		testenv.Must(s.t, err)
		testenv.Must(s.t, json.Unmarshal(raw, &es))
		for _, e := range es[min(len(es), s.mail[name]):] {
			out = append(out, "mail: "+kindOf(e.Text)+verdictOf(e.Text))
			s.note(e.Text)
		}
		s.mail[name] = len(es)
	}
	if len(out) == 0 {
		return "nothing"
	}
	return strings.Join(counted(out), "; ")
}

// counted merges equal neighbours of a list into one, with their number.
func counted(list []string) (out []string) {
	for i := 0; i < len(list); {
		n := 1
		for i+n < len(list) && list[i+n] == list[i] {
			n++
		}
		if out = append(out, list[i]); n > 1 {
			out[len(out)-1] = fmt.Sprintf("%d times %s", n, list[i])
		}
		i += n
	}
	return out
}

// frame has the fields of a text that the tests read.
type frame struct {
	Type, Subtype, RequestID string
	Request_id               string `json:"request_id"`
	Approved, Approve, Allow *bool
}

func frameOf(text string) (f frame) {
	_ = json.Unmarshal([]byte(text), &f) // words have none
	return f
}

func kindOf(text string) string {
	if f := frameOf(text); f.Type != "" {
		return f.Type
	}
	return "words"
}

func verdictOf(text string) string {
	f := frameOf(text)
	for _, yes := range []*bool{f.Approved, f.Approve, f.Allow} {
		if yes != nil {
			return map[bool]string{true: " (yes)", false: " (no)"}[*yes]
		}
	}
	return map[string]string{"success": " (yes)", "error": " (no)"}[f.Subtype]
}

// note keeps an id that waggle gave.
func (s *stage) note(text string) {
	if f := frameOf(text); f.RequestID != "" {
		s.ids[f.Type] = f.RequestID
	}
}

// answers lets the operator answer all that is open.
func (s *stage) answers(allow bool) {
	s.t.Helper()
	qs, err := decide.Of(s.op).Pending(s.t.Context(), s.team, false)
	testenv.Must(s.t, err)
	for _, q := range qs {
		_, err := decide.Of(s.op).Decide(s.t.Context(), s.team, []decide.Answer{{ID: q.ID, Allow: allow, Digest: q.Digest}})
		testenv.Must(s.t, err)
	}
}

// takes lets the foreign member read its mail.
func (s *stage) takes() {
	s.t.Helper()
	_, err := s.them.take()
	testenv.Must(s.t, err)
	s.mail[s.them.name] = 0
}

// leaves takes bob out of the team.
func (s *stage) leaves() {
	s.t.Helper()
	testenv.Must(s.t, teams.Of(s.op).Remove(s.t.Context(), s.team, "bob"))
	s.effects()
}
