package team

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"waggle/internal/fs/atomicfile"
	"waggle/internal/json/jsonobj"
	"waggle/internal/pattern"
	"waggle/protocol"
)

// Problem is one violation that Validate found.
type Problem struct {
	Path    string `json:"path"`    // the file; empty from Validate
	Pointer string `json:"pointer"` // RFC 6901, of the value that is wrong or of where it is missing; "" is the whole file
	Message string `json:"message"`
}

// String is PATH#POINTER: MESSAGE.
func (p Problem) String() string {
	at := p.Pointer
	if p.Path != "" {
		at = strings.TrimSuffix(p.Path+"#"+p.Pointer, "#")
	}
	return at + ": " + p.Message
}

// Validate checks a config.json against its schema, in file order. A file with
// leadAgentId is one of Claude Code's: types, agent ids, unique names, a lead,
// times in either form. One without is held to the file format document (seed
// 002): name in kebab case of 3 to 64 characters, description of 1 to 500,
// createdAt ISO 8601, and for each member agentId, name, a model of haiku,
// sonnet and opus (or none, which waggle writes where there is none), a pane like
// %88 (or "" outside of tmux), and isActive. In both, a colour or a backend that no
// document has is a violation. Nil means valid.
func Validate(data []byte) []Problem {
	object, err := jsonobj.Parse(data)
	if err != nil {
		return []Problem{{Message: err.Error()}}
	}
	v := &validator{}
	_, claude := object.Get("leadAgentId")
	v.Duplicates(object, "")
	v.top(object, claude)
	v.members(object, claude)
	var problems []Problem
	for _, f := range v.Faults {
		problems = append(problems, Problem{Pointer: f.Pointer, Message: f.Message})
	}
	return problems
}

// Validate reads the team's config.json and validates it.
func (t *Team) Validate(ctx context.Context) ([]Problem, error) {
	var data []byte
	err := atomicfile.Settle(ctx, torn, func() (err error) {
		if data, err = atomicfile.ReadFile(t.path(), t.o); err != nil {
			return t.failed("validate", err)
		}
		_, err = t.parse(data)
		return err
	})
	if err != nil && !torn(err) {
		return nil, err
	}
	problems := Validate(data)
	for i := range problems {
		problems[i].Path = t.path()
	}
	return problems, nil
}

type validator struct{ jsonobj.Checker }

var (
	kebab = pattern.New(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	pane  = pattern.New(`^%[0-9]+$`)
)

func (v *validator) top(o *jsonobj.Object, claude bool) {
	name, ok := v.Text(o, "", "name", true)
	if claude {
		if _, err := protocol.ParseTeam(name); ok && err != nil && !clientSpelled(name) {
			v.Add("/name", "%v", err)
		}
		if id, ok := v.Text(o, "", "leadAgentId", true); ok {
			if _, _, err := protocol.AgentID(id).Parse(); err != nil && !spelledID(protocol.AgentID(id), name) {
				v.Add("/leadAgentId", "%v", err)
			}
		}
		v.Keys(o, "", "string", "description", "leadSessionId")
		v.Value(o, "", "createdAt", "time", true)
	} else {
		if ok && (!kebab().MatchString(name) || len(name) < 3 || len(name) > 64) {
			v.Add("/name", "%s is not kebab case of 3 to 64 characters", show(name))
		}
		if text, ok := v.Text(o, "", "description", true); ok {
			if n := utf8.RuneCountInString(text); n < 1 || n > 500 {
				v.Add("/description", "has %d characters, want 1 to 500", n)
			}
		}
		v.Value(o, "", "createdAt", "ISO 8601", true)
	}
	v.Keys(o, "", "string", "schemaVersion")
	v.Keys(o, "", "object", "metadata", "leadProcess")
	v.Keys(o, "", "array", "hiddenPaneIds", "teamAllowedPaths")
}

func (v *validator) members(o *jsonobj.Object, claude bool) {
	raw, ok := v.Value(o, "", membersKey, "array", true)
	if !ok {
		return
	}
	var present []string
	lead := false
	entries, _ := jsonobj.Elements(raw)
	for i, entry := range entries {
		base := "/members/" + strconv.Itoa(i)
		m := v.Object(entry, base)
		if m == nil {
			continue
		}
		name := v.member(m, base, o.Text("name"), claude)
		if gone, _ := m.Get("shutdownAt"); jsonobj.TypeOf(gone) == "string" || jsonobj.TypeOf(gone) == "number" {
			continue
		}
		if slices.ContainsFunc(present, func(p string) bool { return strings.EqualFold(p, name) }) {
			v.Add(base+"/name", "%s is the name of an earlier member", show(name))
		}
		present = append(present, name)
		lead = lead || strings.EqualFold(name, string(protocol.Lead))
	}
	if claude && !lead {
		v.Add("/members", "has no %s", protocol.Lead)
	}
}

// member checks one entry and returns its name.
func (v *validator) member(m *jsonobj.Object, base, team string, claude bool) string {
	name, ok := v.Text(m, base, "name", true)
	if _, err := protocol.ParseMember(name); ok && err != nil {
		v.Add(base+"/name", "%v", err)
	}
	if id, ok := v.Text(m, base, "agentId", true); ok && id != name+"@"+team {
		v.Add(base+"/agentId", "%s is not the name, @ and the team: %s", show(id), show(name+"@"+team))
	}
	v.Keys(m, base, "string", "agentType", "prompt", "color", "backendType", "cwd", "worktreePath", "sessionId", "mode")
	v.look(m, base)
	v.Keys(m, base, "boolean", "planModeRequired")
	v.Keys(m, base, "array", "subscriptions")
	v.Keys(m, base, "object", "metadata")
	if claude {
		v.Keys(m, base, "string", "model", "tmuxPaneId")
		v.Keys(m, base, "boolean", "isActive")
		v.Keys(m, base, "time", "joinedAt", "spawnedAt", "shutdownAt")
		return name
	}
	if model, ok := v.Text(m, base, "model", true); ok && !slices.Contains([]string{"haiku", "sonnet", "opus", "none"}, model) {
		v.Add(base+"/model", "%s is not haiku, sonnet or opus", show(model))
	}
	if id, ok := v.Text(m, base, "tmuxPaneId", true); ok && !pane().MatchString(id) && (id != "" || m.Text("backendType") == "tmux") {
		v.Add(base+"/tmuxPaneId", "%s is not %% and a number", show(id))
	}
	v.Value(m, base, "isActive", "boolean", true)
	v.Keys(m, base, "ISO 8601", "spawnedAt", "shutdownAt")
	return name
}

// backends are the words of the documents for what a member runs in, and those of waggle and of other
// programs that were seen (protocol §3).
var backends = []string{"tmux", "iterm2", "in-process", "in_process", "process", "auto", "mcp", "registered", "adopted", "guest", "claude", "opencode"}

// reserved are backends that seed 002 keeps for later.
var reserved = []string{"docker", "k8s"}

// look checks the colour and the backend of an entry.
func (v *validator) look(m *jsonobj.Object, base string) {
	color := m.Text("color")
	if _, ok := SGR(color); !ok && color != "" {
		v.Add(base+"/color", "%s is no colour of the documents: %s or magenta", show(color), strings.Join(Palette, ", "))
	}
	switch backend := m.Text("backendType"); {
	case backend == "" || slices.Contains(backends, backend):
	case slices.Contains(reserved, backend):
		v.Add(base+"/backendType", "%s is reserved for later: nothing runs a member in it", show(backend))
	default:
		v.Add(base+"/backendType", "%s is no backend of the documents: tmux, iterm2 or in-process", show(backend))
	}
}
