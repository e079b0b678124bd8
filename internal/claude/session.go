package claude

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"waggle/agent"
	"waggle/internal/claude/claudeaccount"
	"waggle/internal/claude/claudesessions"
	"waggle/spawn"
	"waggle/transport"
)

// session is an interactive client in the member's pane: its process, and what its hooks have told.
// The agent's mutex guards what is below it.
type session struct {
	begun
	second   *Second
	registry string // where the client registers its sessions
	stop     context.CancelFunc
	done     chan struct{} // closed when the process has ended
	exit     spawn.Exit    // before done is closed
	err      error         // before done is closed

	pid     int
	id      string // "": it has not begun: a dialog is before it, for example
	model   string
	mode    string // the client's permission mode, as it said last
	busy    bool   // a prompt was taken and its turn has not ended
	ours    int    // prompts of waggle that were taken
	oursAt  int    // stops when the last of them was taken
	stops   int    // turns that have ended
	last    string // the model's last words
	failed  string // why the last turn has failed; "": it has not
	trouble string // the client's word for it (stopFailure); "": it failed otherwise
	calls   []announced
}

// announced is a call that a PreToolUse has told of.
type announced struct {
	id, tool, agent string
	input           json.RawMessage
	asked           bool
}

// maxAnnounced bounds the calls that are remembered.
const maxAnnounced = 1000

func (s *session) using() string { return s.model }

func (s *session) ended() bool { return closed(s.done) }

// announce remembers a call.
func (s *session) announce(e Event) {
	if over := len(s.calls) - maxAnnounced; over > 0 {
		s.calls = append(s.calls[:0], s.calls[over:]...)
	}
	s.calls = append(s.calls, announced{e.UseID, e.Tool, e.Agent, e.Input, false})
}

// asks is the id of the call that a PermissionRequest is about, which does not say it: the last one
// of the same tool with the same input that was not asked yet.
func (s *session) asks(e Event) string {
	for i := len(s.calls) - 1; i >= 0; i-- {
		c := &s.calls[i]
		if !c.asked && c.tool == e.Tool && c.agent == e.Agent && same(c.input, e.Input) {
			c.asked = true
			return c.id
		}
	}
	return ""
}

// same reports JSON texts that differ in white space alone.
func same(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// take keeps what an event says of the session.
func (s *session) take(e Event) {
	if e.Session != "" && e.Agent == "" {
		s.id = e.Session
	}
	if e.Mode != "" {
		s.mode = e.Mode
	}
	switch e.Name {
	case sessionStart:
		s.model = e.Model
	case userPromptSubmit:
		s.busy, s.failed, s.trouble = true, "", ""
		if strings.HasPrefix(strings.TrimSpace(e.Text), element) {
			s.ours, s.oursAt = s.ours+1, s.stops
		}
	case preToolUse:
		s.announce(e)
	case stop:
		if e.Agent == "" {
			s.busy, s.last, s.stops = false, e.Text, s.stops+1
		}
	case stopFailure:
		if e.Agent == "" {
			s.busy, s.last, s.stops = false, e.Text, s.stops+1
			s.failed, s.trouble = "the model could not be asked", e.Kind
			if e.Kind != "" {
				s.failed += ": " + clipped(e.Kind)
			}
		}
	}
}

// element is how a prompt begins that came by the client's messaging socket.
const element = "<cross-session-message"

// entry reads what the client's own registry of sessions says of a session.
func (s *session) entry(pid int, id string) (claudesessions.Entry, bool) {
	if e, err := claudesessions.Read(s.registry, pid); err == nil && e.SessionID == id {
		return e, true
	}
	return s.listed(id)
}

// listed finds a session in the whole registry, with its key.
func (s *session) listed(id string) (claudesessions.Entry, bool) {
	all, _ := claudesessions.List(s.registry) // files of others that cannot be read are not ours
	for _, e := range all {
		if e.SessionID == id {
			return e, true
		}
	}
	return claudesessions.Entry{}, false
}

// speaker is who says to the client what waggle says.
const speaker = "waggle"

var errNoSocket = errors.New("the client has no messaging socket yet")

// message is the id of the next words of waggle for a session: the same when they are said again.
// The caller holds the agent's mutex.
func (s *session) message(words string) string {
	return uuid.NewSHA1(uuid.NameSpaceOID, fmt.Appendf(nil, "%s %d %d %s", s.id, s.pid, s.ours, words)).String()
}

// say writes words to the client's messaging socket.
func (s *session) say(ctx context.Context, id, msgID, words string) error {
	e, ok := s.listed(id)
	if !ok || e.MessagingSocketPath == "" {
		return errNoSocket
	}
	token, err := e.Token()
	if err != nil {
		return err
	}
	owns := func(pid int) (bool, error) { return pid == e.PID, nil }
	_, err = transport.SessionSocket{Path: e.MessagingSocketPath, Token: token, Owns: owns}.Say(ctx, transport.Speaker{Name: speaker}, msgID, words)
	return err
}

// inTerminal is an environment for a program that fills a screen.
func inTerminal(env []string) []string {
	if term := spawn.Getenv(env, "TERM"); term != "" && term != "dumb" {
		return env
	}
	return append(env, "TERM=xterm-256color")
}

// begin starts a client in the pane. It does not wait until it is ready.
func (p *inPane) begin(ctx context.Context, env []string, dir, mode, resume string) (*session, error) {
	place, tune, err := p.settled(env)
	if err != nil {
		return nil, err
	}
	found, err := Find(ctx, p.spec.Program, env)
	if err == nil {
		err = errors.Join(found.InPane(), Unanswered(env, dir))
	}
	if err != nil {
		return nil, err
	}
	s := &session{begun: begun{dir: dir, rules: rulesOf(env, dir), plans: plansIn(env), wasResumed: resume != "", resumed: resume != ""},
		registry: filepath.Join(claudeaccount.Of(env).Config, "sessions"), mode: mode, done: make(chan struct{})}
	if s.second, err = Listen(os.TempDir(), func(ctx context.Context, e Event) string { return p.refuse(ctx, s, e) },
		func(ctx context.Context, e Event) []byte { return p.heed(ctx, s, e) }); err != nil {
		return nil, fmt.Errorf("the hooks of agent claude: %w", err)
	}
	file, err := s.configure(place, tune.Hook, found.Version)
	if err != nil {
		return nil, errors.Join(err, s.shells.close(), s.second.Close())
	}
	within := inTerminal(Environ(env, s.second.Path()))
	if s.shells != nil {
		within = append(within, s.shells.Environ()...)
	}
	wait := tune.Wait.filled()
	start := Start{Program: found.Program, Mode: mode, Settings: file, Model: p.spec.Model, Prompt: strings.TrimSpace(inPanePrompt + "\n\n" + told(p.spec.Prompt, place, "")), Tools: p.spec.offered(), Resume: resume, Args: p.spec.Args}
	c := spawn.Command{Argv: start.interactive(), Dir: dir, Env: within, Reap: true, Linger: wait.End,
		Grace:   spawn.Grace{Term: wait.End, Kill: wait.End},
		Started: func(id spawn.Identity) { p.change(func() { s.pid = id.PID }) }}
	running, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() {
		s.exit, s.err = p.show.Run(running, place.Exec, c)
		if errors.Is(s.err, context.Canceled) {
			s.err = nil
		}
		close(s.done)
		p.change(func() {})
		p.want() // the pane is not left empty
	}()
	return s, nil
}

// configure writes the private settings of the client, and serves its shell commands where they alone
// are confined.
func (s *session) configure(place agent.Place, hook string, version Version) (file string, err error) {
	if s.shells, err = shellsOf(place, s.second.Dir(), s.dir, hook); err != nil {
		return "", err
	}
	settings, err := PaneSettings(hook, s.shells.Prefix(), version)
	return settingsFile(s.second.Dir(), settings, err)
}

// inPanePrompt tells the model who speaks to it.
const inPanePrompt = `You are a member of a team that waggle leads. Messages from the session named "waggle" are your tasks and the team's mail, given to you by the person you work for: do the tasks. ` +
	`The last words of your turn are your report.`

// close ends a client with its whole tree.
func (s *session) close(context.Context) error {
	s.stop()
	<-s.done
	return errors.Join(s.err, s.shells.close(), s.second.Close())
}

// how is how a client has ended, with the last that it showed.
func (s *session) how(shown []string) string {
	how := s.exit.How()
	if s.err != nil {
		how = s.err.Error()
	}
	if words := screenText(shown); words != "" {
		how += ": " + words
	}
	return how
}

// screenText is the words of a screen in one line.
func screenText(lines []string) string {
	var words []string
	for _, l := range lines {
		l = strings.TrimSpace(strings.Map(func(r rune) rune {
			if r >= 0x2500 && r <= 0x259f { // lines and blocks
				return ' '
			}
			return r
		}, l))
		if l != "" {
			words = append(words, strings.Join(strings.Fields(l), " "))
		}
	}
	const most = 1200
	s := strings.Join(words, " | ")
	if r := []rune(s); len(r) > most {
		s = "…" + string(r[len(r)-most:])
	}
	return s
}

// stillFor is how long a client that is not ready may show the same before somebody is told.
const stillFor = 3 * time.Second
