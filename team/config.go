package team

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"waggle/internal/json/jsonobj"
	"waggle/protocol"
)

// Config is config.json (protocol §3). Unknown keys, key order and the form of times
// survive a rewrite. A Config is a snapshot for one goroutine.
type Config struct {
	Name          protocol.TeamName // the name in the file; "" when that is not a valid name
	Description   string
	CreatedAt     time.Time // epoch ms or ISO 8601 on disk; written as it was, a new one in the form of its dialect
	LeadAgentID   protocol.AgentID
	LeadSessionID string
	Members       []Member
	SchemaVersion string
	Metadata      json.RawMessage // an object, or nil (seed 002)
	kept          *keptKeys
}

// Member is one entry of a config's members.
type Member struct {
	AgentID          protocol.AgentID // name@team; "" when the file's is not valid
	Name             protocol.MemberName
	AgentType        string
	Model            string
	Prompt           string
	Color            string
	PlanModeRequired bool
	JoinedAt         time.Time // joinedAt ms, or seed 002's spawnedAt
	TmuxPaneID       string
	Cwd              string
	WorktreePath     string
	SessionID        string
	Mode             string
	Subscriptions    []string
	BackendType      string
	IsActive         *bool           // nil: absent, counts as active; false is idle, not ended
	SpawnedAt        time.Time       // ISO on disk (seed 002); a file without joinedAt has it in its place
	ShutdownAt       time.Time       // zero: has not left
	Metadata         json.RawMessage // an object, or nil (seed 002)
	kept             *keptMember
}

// keptKeys is what a parsed config remembers of its file. It is never changed.
type keptKeys struct {
	object   *jsonobj.Object
	read     Config            // the fields as they were read
	entries  []json.RawMessage // the elements of members
	visible  []bool            // which of them are in Members
	problems []string
	notes    []string
}

// keptMember is the same for one entry.
type keptMember struct {
	object *jsonobj.Object
	read   Member
	in     *keptKeys // the config it was read from
	index  int       // its place in entries
}

// Gone reports whether the member has left (shutdownAt is set).
func (m Member) Gone() bool { return !m.ShutdownAt.IsZero() }

// IsLead reports whether this is the lead's entry.
func (m Member) IsLead() bool { return protocol.SameName(m.Name, protocol.Lead) }

// Unknown returns the raw value of a key that Member has no field for.
func (m Member) Unknown(key string) (json.RawMessage, bool) {
	if m.kept == nil || slices.Contains(memberKeys, key) {
		return nil, false
	}
	raw, ok := m.kept.object.Get(key)
	return slices.Clone(raw), ok
}

// Member finds a member by name without regard to case. A present member is
// preferred to one that has left. The pointer is into c.Members.
func (c *Config) Member(name protocol.MemberName) (*Member, bool) {
	var gone *Member
	for i := range c.Members {
		m := &c.Members[i]
		switch {
		case !protocol.SameName(m.Name, name):
		case !m.Gone():
			return m, true
		case gone == nil:
			gone = m
		}
	}
	return gone, gone != nil
}

// Present returns the names of the members that have not left, in file order.
func (c *Config) Present() []protocol.MemberName {
	var names []protocol.MemberName
	for _, m := range c.Members {
		if !m.Gone() {
			names = append(names, m.Name)
		}
	}
	return names
}

// Near returns names of present members that resemble name, best first and at
// most three: for an error that says what was probably meant. It understands
// @name, name@team and the alias lead.
func (c *Config) Near(name string) []string {
	return near(name, protocol.Strings(c.Present()), map[string]string{"lead": string(protocol.Lead), "leader": string(protocol.Lead)})
}

// Dialect returns named or session, from the team's name.
func (c *Config) Dialect() Dialect { return DialectOf(c.Name) }

// Unknown returns the raw value of a key Config has no field for, such as
// leadProcess or hiddenPaneIds.
func (c *Config) Unknown(key string) (json.RawMessage, bool) {
	if c.kept == nil || slices.Contains(configKeys, key) {
		return nil, false
	}
	raw, ok := c.kept.object.Get(key)
	return slices.Clone(raw), ok
}

// Problems returns what ParseConfig found to be wrong with the file.
func (c *Config) Problems() []string {
	if c.kept == nil {
		return nil
	}
	return slices.Clone(c.kept.problems)
}

// Notes returns unusual facts about the file that need no repair, such as a name that Claude Code
// made.
func (c *Config) Notes() []string {
	if c.kept == nil {
		return nil
	}
	return slices.Clone(c.kept.notes)
}

// clientSpelled reports a name that is not valid and that 2.1.150 makes a directory of
// all the same, My Team.x as my-team-x; its agent ids keep the spelling (protocol §9.2 row 56).
func clientSpelled(raw string) bool {
	if _, err := protocol.ParseTeam(raw); err == nil || raw == "" {
		return false
	}
	_, err := protocol.ParseTeam(strings.Map(sanitise, raw))
	return err == nil
}

// spelledID reports an agent id of a team whose name is spelled so.
func spelledID(id protocol.AgentID, raw string) bool {
	name, ok := strings.CutSuffix(string(id), "@"+raw)
	if !ok || !clientSpelled(raw) {
		return false
	}
	_, err := protocol.ParseMember(name)
	return err == nil
}

const membersKey = "members"

// configFields, in the order of Era B (protocol §3).
var configFields = []jsonobj.Field[Config]{
	jsonobj.Text("name", jsonobj.Write, func(c *Config) *protocol.TeamName { return &c.Name }),
	jsonobj.Text("description", jsonobj.Omit, func(c *Config) *string { return &c.Description }),
	jsonobj.TimeOf("createdAt", "", (*Config).createdForm, func(c *Config) *time.Time { return &c.CreatedAt }),
	jsonobj.Text("leadAgentId", jsonobj.Omit, func(c *Config) *protocol.AgentID { return &c.LeadAgentID }),
	jsonobj.Text("leadSessionId", jsonobj.Omit, func(c *Config) *string { return &c.LeadSessionID }),
	membersField,
	jsonobj.Text("schemaVersion", jsonobj.Omit, func(c *Config) *string { return &c.SchemaVersion }),
	objectField("metadata", func(c *Config) *json.RawMessage { return &c.Metadata }),
}

// objectField is a field that holds a JSON object as it stands.
func objectField[T any](key string, at func(*T) *json.RawMessage) jsonobj.Field[T] {
	return jsonobj.Field[T]{
		Key: key,
		Read: func(raw json.RawMessage, v *T) error {
			if kind := jsonobj.TypeOf(raw); kind != "object" {
				return fmt.Errorf("is %s, want object", kind)
			}
			*at(v) = slices.Clone(raw)
			return nil
		},
		Same:   func(a, b *T) bool { return bytes.Equal(*at(a), *at(b)) },
		Append: func(dst []byte, _ json.RawMessage, v *T) []byte { return append(dst, *at(v)...) },
		Empty:  func(v *T) bool { return len(*at(v)) == 0 },
	}
}

var configKeys = jsonobj.Order(configFields)

// createdForm is the form of a new createdAt: ISO 8601 in a named team (seed 002), milliseconds in a session's.
func (c *Config) createdForm() jsonobj.Form {
	if c.Dialect() == DialectSession {
		return jsonobj.Millis
	}
	return jsonobj.ISO
}

// membersField writes members; ParseConfig reads it.
var membersField = jsonobj.Field[Config]{
	Key: membersKey, Rule: jsonobj.Write,
	Read: func(json.RawMessage, *Config) error { return nil },
	Same: func(_, c *Config) bool {
		return bytes.Equal(jsonobj.AppendArray(nil, c.kept.entries, 0), jsonobj.AppendArray(nil, c.entries(), 0))
	},
	Append: func(dst []byte, _ json.RawMessage, c *Config) []byte { return jsonobj.AppendArray(dst, c.entries(), 0) },
	Empty:  func(*Config) bool { return false },
}

// workerFields and leadFields are a member's fields in the two orders of Era B.
var (
	workerFields = []jsonobj.Field[Member]{
		jsonobj.Text("agentId", jsonobj.Write, func(m *Member) *protocol.AgentID { return &m.AgentID }),
		jsonobj.Text("name", jsonobj.Write, func(m *Member) *protocol.MemberName { return &m.Name }),
		jsonobj.Text("color", jsonobj.Omit, func(m *Member) *string { return &m.Color }),
		jsonobj.Time("joinedAt", "spawnedAt", jsonobj.Millis, func(m *Member) *time.Time { return &m.JoinedAt }),
		jsonobj.Text("tmuxPaneId", jsonobj.Write, func(m *Member) *string { return &m.TmuxPaneID }),
		jsonobj.Texts("subscriptions", jsonobj.Write, func(m *Member) *[]string { return &m.Subscriptions }),
		jsonobj.Text("agentType", jsonobj.Omit, func(m *Member) *string { return &m.AgentType }),
		jsonobj.Text("model", jsonobj.Omit, func(m *Member) *string { return &m.Model }),
		jsonobj.Text("prompt", jsonobj.Omit, func(m *Member) *string { return &m.Prompt }),
		jsonobj.Bool("planModeRequired", jsonobj.Keep, func(m *Member) *bool { return &m.PlanModeRequired }),
		jsonobj.Text("cwd", jsonobj.Write, func(m *Member) *string { return &m.Cwd }),
		jsonobj.Text("worktreePath", jsonobj.Omit, func(m *Member) *string { return &m.WorktreePath }),
		jsonobj.Text("sessionId", jsonobj.Omit, func(m *Member) *string { return &m.SessionID }),
		jsonobj.Text("backendType", jsonobj.Omit, func(m *Member) *string { return &m.BackendType }),
		jsonobj.Flag("isActive", func(m *Member) **bool { return &m.IsActive }),
		jsonobj.Text("mode", jsonobj.Omit, func(m *Member) *string { return &m.Mode }),
		jsonobj.Time("spawnedAt", "", jsonobj.ISO, func(m *Member) *time.Time { return &m.SpawnedAt }),
		jsonobj.Time("shutdownAt", "", jsonobj.ISO, func(m *Member) *time.Time { return &m.ShutdownAt }),
		objectField("metadata", func(m *Member) *json.RawMessage { return &m.Metadata }),
	}
	leadFields = inOrder(workerFields, "agentId", "name", "agentType", "model", "prompt", "color", "planModeRequired",
		"joinedAt", "tmuxPaneId", "cwd", "worktreePath", "sessionId", "subscriptions", "backendType", "isActive",
		"mode", "spawnedAt", "shutdownAt", "metadata")
	memberKeys = jsonobj.Order(workerFields)
)

func inOrder(all []jsonobj.Field[Member], keys ...string) []jsonobj.Field[Member] {
	return slices.SortedFunc(slices.Values(all), func(a, b jsonobj.Field[Member]) int {
		return cmp.Compare(slices.Index(keys, a.Key), slices.Index(keys, b.Key))
	})
}

// ParseConfig reads config.json strictly enough to be safe and tolerantly
// enough to read both eras and seed 002. Keys are compared exactly. It fails
// with a *CorruptError without Path when data is not a JSON object or members is
// not an array. Everything else that is wrong is listed in problems, one
// sentence each, and leaves its field empty: a value of the wrong type, a key
// that occurs twice (the last one counts), an invalid name. Members whose name
// is invalid or taken by an earlier entry are kept in the file and left out of
// Members. data is not kept.
func ParseConfig(data []byte) (c *Config, problems []string, err error) {
	object, err := jsonobj.Parse(data)
	if err != nil {
		if bad, ok := errors.AsType[*jsonobj.Error](err); ok {
			return nil, nil, &CorruptError{Offset: bad.Offset, Why: bad.Why}
		}
		return nil, nil, err
	}
	k := &keptKeys{object: object}
	c = &Config{kept: k}
	report := func(format string, args ...any) { k.problems = append(k.problems, fmt.Sprintf(format, args...)) }
	for _, key := range object.Duplicates() {
		report("key %s occurs more than once", show(key))
	}
	for _, p := range jsonobj.Read(object, configFields, c) {
		report("%s %s", p.Key, p.Why)
	}
	raw := string(c.Name)
	if _, err := protocol.ParseTeam(raw); err != nil {
		if clientSpelled(raw) {
			k.notes = append(k.notes, fmt.Sprintf("the name is spelled %s in the file and in agent ids, as a client made it", show(raw)))
		} else {
			report("name: %v", err)
		}
		c.Name = ""
	}
	if _, _, err := c.LeadAgentID.Parse(); err != nil && c.LeadAgentID != "" {
		if !spelledID(c.LeadAgentID, raw) {
			report("leadAgentId: %v", err)
		}
		c.LeadAgentID = ""
	}
	list, _ := object.Get(membersKey)
	entries, isArray := jsonobj.Elements(list)
	switch kind := jsonobj.TypeOf(list); {
	case isArray:
	case kind == "nothing" || kind == "null":
		report("members is missing")
	default:
		return nil, nil, &CorruptError{Why: "members is " + kind + ", want array"}
	}
	k.entries, k.visible = entries, make([]bool, len(entries))
	for i, entry := range entries {
		m, ok := parseMember(entry, i, raw, func(format string, args ...any) {
			report("members[%d]: "+format, append([]any{i}, args...)...)
		})
		if ok && m.clashes(c.Members) {
			report("members[%d]: name %s occurs more than once", i, show(string(m.Name)))
			ok = false
		}
		if !ok {
			continue
		}
		m.kept.in, m.kept.index, k.visible[i] = k, i, true
		c.Members = append(c.Members, m)
	}
	k.read = *c
	k.read.Members = nil
	return c, slices.Clone(k.problems), nil
}

// clashes reports whether an earlier entry has the name. An entry that has left
// and one that is present may share it.
func (m Member) clashes(earlier []Member) bool {
	return slices.ContainsFunc(earlier, func(e Member) bool {
		return protocol.SameName(e.Name, m.Name) && e.Gone() == m.Gone()
	})
}

func parseMember(raw json.RawMessage, index int, team string, report func(string, ...any)) (Member, bool) {
	if kind := jsonobj.TypeOf(raw); kind != "object" {
		report("is %s, want object", kind)
		return Member{}, false
	}
	object, err := jsonobj.Parse(raw)
	if err != nil {
		report("%v", err)
		return Member{}, false
	}
	var m Member
	for _, key := range object.Duplicates() {
		report("key %s occurs more than once", show(key))
	}
	for _, p := range jsonobj.Read(object, workerFields, &m) {
		report("%s %s", p.Key, p.Why)
	}
	if _, err := protocol.ParseMember(string(m.Name)); err != nil {
		report("name: %v", err)
		return Member{}, false
	}
	name, _, err := m.AgentID.Parse()
	switch {
	case m.AgentID == "":
		report("agentId is missing")
	case spelledID(m.AgentID, team):
		m.AgentID = ""
	case err != nil:
		report("agentId: %v", err)
		m.AgentID = ""
	case !protocol.SameName(name, m.Name):
		report("agentId %s does not belong to the name %s", show(string(m.AgentID)), show(string(m.Name)))
	}
	read := m
	read.Subscriptions = slices.Clone(m.Subscriptions)
	if m.IsActive != nil {
		read.IsActive = new(*m.IsActive)
	}
	m.kept = &keptMember{object: object, read: read, index: index}
	return m, true
}

// AppendJSON writes the config as JSON.stringify(x, null, 2) does, without a final newline. Fields
// that were not changed since ParseConfig keep their bytes; a new config has the key order of Era
// B.
func (c *Config) AppendJSON(dst []byte) []byte {
	object := &jsonobj.Object{}
	var old *Config
	if c.kept != nil {
		object, old = c.kept.object.Clone(), &c.kept.read
	}
	jsonobj.Update(object, configFields, old, c)
	return object.Append(dst, 0)
}

// entries returns the elements of members as they are to be written: those of
// Members, and at their old places those that are not in Members.
func (c *Config) entries() []json.RawMessage {
	var out []json.RawMessage
	next := 0 // of the file's entries
	hidden := func(before int) {
		for ; c.kept != nil && next < before; next++ {
			if !c.kept.visible[next] {
				out = append(out, c.kept.entries[next])
			}
		}
	}
	last := len(c.Members) // where the new entries at the end begin
	for last > 0 && !c.old(c.Members[last-1]) {
		last--
	}
	for i := range c.Members {
		m := &c.Members[i]
		switch {
		case i >= last && c.kept != nil:
			hidden(len(c.kept.entries))
		case c.old(*m):
			hidden(m.kept.index)
		}
		out = append(out, m.raw())
	}
	if c.kept != nil {
		hidden(len(c.kept.entries))
	}
	return out
}

// old reports whether m was read from the same file as c.
func (c *Config) old(m Member) bool { return m.kept != nil && m.kept.in == c.kept }

func (m *Member) raw() json.RawMessage {
	fields := workerFields
	if m.IsLead() {
		fields = leadFields
	}
	if m.kept != nil {
		object := m.kept.object.Clone()
		jsonobj.Update(object, fields, &m.kept.read, m)
		return object.Raw()
	}
	object := &jsonobj.Object{}
	jsonobj.Update(object, fields, nil, m)
	if !m.IsLead() && !m.PlanModeRequired {
		object.SetOrdered("planModeRequired", json.RawMessage("false"), jsonobj.Order(fields))
	}
	return object.Raw()
}

// rawName returns the name in data, valid or not.
func rawName(data []byte) string {
	object, err := jsonobj.Parse(data)
	if err != nil {
		return ""
	}
	return object.Text("name")
}
