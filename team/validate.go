package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"waggle"
	"waggle/internal/atomicfile"
	"waggle/internal/jsonobj"
)

// Problem is one violation that Validate found.
type Problem struct {
	Path    string // the file; empty from Validate
	Pointer string // RFC 6901, of the value that is wrong or of where it is missing
	Message string
}

func (p Problem) String() string {
	s := p.Pointer + ": " + p.Message
	if p.Path != "" {
		s = p.Path + "#" + s
	}
	return s
}

// Validate checks a config.json against its schema, in file order. A file with
// leadAgentId is one of Claude Code's: types, agent ids, unique names, a lead,
// times in either form. One without is held to the file format document (seed
// 002): name in kebab case of 3 to 64 characters, description of 1 to 500,
// createdAt ISO 8601, and for each member agentId, name, a model of haiku,
// sonnet and opus, a pane like %88, and isActive. Nil means valid.
func Validate(data []byte) []Problem {
	object, err := jsonobj.Parse(data)
	if err != nil {
		return []Problem{{Message: err.Error()}}
	}
	v := &validator{}
	_, claude := object.Get("leadAgentId")
	v.duplicates(object, "")
	v.top(object, claude)
	v.members(object, claude)
	return v.problems
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
	var bad *CorruptError
	if err != nil && !errors.As(err, &bad) {
		return nil, err
	}
	problems := Validate(data)
	for i := range problems {
		problems[i].Path = t.path()
	}
	return problems, nil
}

type validator struct{ problems []Problem }

func (v *validator) add(pointer, format string, args ...any) {
	v.problems = append(v.problems, Problem{Pointer: pointer, Message: fmt.Sprintf(format, args...)})
}

func pointer(base, key string) string {
	return base + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}

func (v *validator) duplicates(o *jsonobj.Object, base string) {
	for _, key := range o.Duplicates() {
		v.add(pointer(base, key), "occurs more than once")
	}
}

// value returns a key's value when it is of the wanted type ("time" is a number
// or a string that is a time) and reports it when it is not, or is missing but
// required.
func (v *validator) value(o *jsonobj.Object, base, key, want string, required bool) (json.RawMessage, bool) {
	raw, ok := o.Get(key)
	switch kind := jsonobj.TypeOf(raw); {
	case !ok:
		if required {
			v.add(pointer(base, key), "is missing")
		}
		return nil, false
	case want == "time":
		if _, err := jsonobj.ParseTime(raw); err != nil {
			v.add(pointer(base, key), "%v", err)
			return nil, false
		}
	case want == "ISO 8601":
		if _, err := jsonobj.ParseTime(raw); err != nil || kind != "string" {
			v.add(pointer(base, key), "is not an ISO 8601 time")
			return nil, false
		}
	case kind != want:
		v.add(pointer(base, key), "is %s, want %s", kind, want)
		return nil, false
	}
	return raw, true
}

func (v *validator) text(o *jsonobj.Object, base, key string, required bool) (string, bool) {
	raw, ok := v.value(o, base, key, "string", required)
	s, _ := jsonobj.String(raw)
	return s, ok
}

// keys checks the types of optional keys.
func (v *validator) keys(o *jsonobj.Object, base, want string, keys ...string) {
	for _, key := range keys {
		v.value(o, base, key, want, false)
	}
}

var (
	kebab = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	pane  = regexp.MustCompile(`^%[0-9]+$`)
)

func (v *validator) top(o *jsonobj.Object, claude bool) {
	name, ok := v.text(o, "", "name", true)
	if claude {
		if _, err := waggle.ParseTeam(name); ok && err != nil {
			v.add("/name", "%v", err)
		}
		if id, ok := v.text(o, "", "leadAgentId", true); ok {
			if _, _, err := waggle.AgentID(id).Parse(); err != nil {
				v.add("/leadAgentId", "%v", err)
			}
		}
		v.keys(o, "", "string", "description", "leadSessionId")
		v.value(o, "", "createdAt", "time", true)
	} else {
		if ok && (!kebab.MatchString(name) || len(name) < 3 || len(name) > 64) {
			v.add("/name", "%s is not kebab case of 3 to 64 characters", show(name))
		}
		if text, ok := v.text(o, "", "description", true); ok {
			if n := utf8.RuneCountInString(text); n < 1 || n > 500 {
				v.add("/description", "has %d characters, want 1 to 500", n)
			}
		}
		v.value(o, "", "createdAt", "ISO 8601", true)
	}
	v.keys(o, "", "string", "schemaVersion")
	v.keys(o, "", "object", "metadata", "leadProcess")
	v.keys(o, "", "array", "hiddenPaneIds", "teamAllowedPaths")
}

func (v *validator) members(o *jsonobj.Object, claude bool) {
	raw, ok := v.value(o, "", membersKey, "array", true)
	if !ok {
		return
	}
	team, _ := o.Get("name")
	teamName, _ := jsonobj.String(team)
	var present []string
	lead := false
	entries, _ := jsonobj.Elements(raw)
	for i, entry := range entries {
		base := "/members/" + strconv.Itoa(i)
		if kind := jsonobj.TypeOf(entry); kind != "object" {
			v.add(base, "is %s, want object", kind)
			continue
		}
		m, err := jsonobj.Parse(entry)
		if err != nil {
			v.add(base, "%v", err)
			continue
		}
		name := v.member(m, base, teamName, claude)
		if gone, _ := m.Get("shutdownAt"); jsonobj.TypeOf(gone) == "string" || jsonobj.TypeOf(gone) == "number" {
			continue
		}
		if slices.ContainsFunc(present, func(p string) bool { return strings.EqualFold(p, name) }) {
			v.add(base+"/name", "%s is the name of an earlier member", show(name))
		}
		present = append(present, name)
		lead = lead || strings.EqualFold(name, string(waggle.Lead))
	}
	if claude && !lead {
		v.add("/members", "has no %s", waggle.Lead)
	}
}

// member checks one entry and returns its name.
func (v *validator) member(m *jsonobj.Object, base, team string, claude bool) string {
	v.duplicates(m, base)
	name, ok := v.text(m, base, "name", true)
	if _, err := waggle.ParseMember(name); ok && err != nil {
		v.add(base+"/name", "%v", err)
	}
	if id, ok := v.text(m, base, "agentId", true); ok && id != name+"@"+team {
		v.add(base+"/agentId", "%s is not the name, @ and the team: %s", show(id), show(name+"@"+team))
	}
	v.keys(m, base, "string", "agentType", "prompt", "color", "backendType", "cwd", "worktreePath", "sessionId", "mode")
	v.keys(m, base, "boolean", "planModeRequired")
	v.keys(m, base, "array", "subscriptions")
	v.keys(m, base, "object", "metadata")
	if claude {
		v.keys(m, base, "string", "model", "tmuxPaneId")
		v.keys(m, base, "boolean", "isActive")
		v.keys(m, base, "time", "joinedAt", "spawnedAt", "shutdownAt")
		return name
	}
	if model, ok := v.text(m, base, "model", true); ok && !slices.Contains([]string{"haiku", "sonnet", "opus"}, model) {
		v.add(base+"/model", "%s is not haiku, sonnet or opus", show(model))
	}
	if id, ok := v.text(m, base, "tmuxPaneId", true); ok && !pane.MatchString(id) {
		v.add(base+"/tmuxPaneId", "%s is not %% and a number", show(id))
	}
	v.value(m, base, "isActive", "boolean", true)
	v.keys(m, base, "ISO 8601", "spawnedAt", "shutdownAt")
	return name
}
