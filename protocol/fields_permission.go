package protocol

import (
	"cmp"
	"encoding/json"

	"waggle/internal/json/jsontext"
)

// The fields of the question about one tool call and of its answer (protocol §1.1, §1.2).

var permissionRequestTable = table[PermissionRequest]{
	rows: []*fieldOf[PermissionRequest]{
		{name: "request_id", in: "protocol:requestId! catalog:1:requestId! wire:request_id! also:requestID", as: pairID, doc: "Pairs the answer with it."},
		{name: "agent_id", in: "wire:agent_id! protocol:agentId! also:worker_id", need: true, bare: true, as: bareMember, doc: "Who asks."},
		{name: "tool_name", in: "wire:tool_name! protocol:toolName! catalog:3:tool.name! also:tool", need: true, without: "the tool's name is missing", decides: true, as: text, doc: "The tool."},
		{name: "tool_use_id", in: "wire:tool_use_id! protocol:toolUseId!", as: identity, doc: "The call's id in the agent's session."},
		{name: "description", in: "wire:description! protocol:description! catalog:5:reason+", as: text, doc: "What the agent says of it."},
		{name: "input", in: "wire:input! protocol:input! catalog:4:tool.arguments+", decides: true,
			codec: rawObject(func(p *PermissionRequest) json.RawMessage { return p.Input },
				func(f *frame, p *PermissionRequest, paths []string) { p.Input = f.toolInput(paths...) }),
			catalog: func(o *object, key string, p *PermissionRequest) { o.raw(key, argumentText(p.Input)) },
			doc:     "The tool's input; the request's digest is taken over its bytes."},
		{name: "permission_suggestions", in: "wire:permission_suggestions! protocol:permissionSuggestions+",
			codec: rawValues(func(p *PermissionRequest) []json.RawMessage { return p.PermissionSuggestions },
				func(f *frame, p *PermissionRequest, paths []string) { p.PermissionSuggestions = f.list(paths...) }),
			doc: "Rules that would have allowed the call; only shown."},
		{name: "timestamp", in: "wire:timestamp- protocol:timestamp- catalog:2:timestamp!?", as: spokenTime, doc: "When it was asked; on the wire the envelope says it."},
	},
}.build()

// argumentsKey is the one key of an input that was made of seed 000's string.
const argumentsKey = "arguments"

var permissionResponseTable = table[PermissionResponse]{
	rows: []*fieldOf[PermissionResponse]{
		{name: "request_id", in: "protocol:requestId! catalog:1:requestId! wire:request_id! early:request_id! tool:request_id! also:requestID", as: pairID, doc: "The id of the request."},
		{name: "subtype", in: "wire:subtype! protocol:subtype! catalog:3:approved! early:approve! tool:approve!", decides: true,
			choices: []string{SubtypeSuccess, SubtypeError}, as: elsewhere,
			catalog: func(o *object, key string, p *PermissionResponse) { o.bool(key, p.Allowed()) },
			check:   (*checks).permissionArms, doc: "The decision: success allows, anything else denies."},
		{name: "tool_use_id", in: "wire:tool_use_id", as: identity, doc: "The call's id of the request."},
		{name: "approved_request", in: "wire:approved_request-", turn: 2, hidden: true,
			codec: rawValue(func(p *PermissionResponse) *json.RawMessage { return &p.ApprovedRequest }), doc: "A newer client's proof of what was approved."},
		permissionResponse, permissionInput, permissionUpdates, permissionError,
		{name: "mode", in: "catalog:4:mode also:permissionMode,policy.permissionMode", turn: 1, hidden: true, as: modeText, doc: "Seed 000's mode: a separate act, which an answer does not do."},
		{name: "notes", in: "catalog:5:notes", codec: codec[PermissionResponse]{
			typ:   FieldText,
			write: func(o *object, key string, p *PermissionResponse) { o.str(key, cmp.Or(p.Error, p.Notes)) },
			empty: func(p *PermissionResponse) bool { return p.Error == "" && p.Notes == "" },
		}, doc: "Words of an approval; in the catalogue those of a denial too."},
		{name: "timestamp", in: "wire:timestamp- protocol:timestamp- catalog:2:timestamp!?", turn: 3, as: spokenTime, doc: "When it was decided; on the wire the envelope says it."},
	},
	finish: (*frame).permissionResponse,
	refuse: func(p *PermissionResponse, d Dialect) string {
		if g := p.Response; permissionInput.spell(d) == nil && g != nil && (len(g.PermissionUpdates) > 0 || !noInput(g.UpdatedInput) && len(jsontext.Members(string(g.UpdatedInput))) > 0) {
			return "the " + string(d) + " form cannot change the input or the rules"
		}
		return ""
	},
}.build()

// The arms of the answer. A worker drops a success whose updated_input is null, so it is
// always an object (protocol §1.2).
var (
	permissionResponse = &fieldOf[PermissionResponse]{name: "response", in: "wire:response- protocol:response-", hidden: true,
		codec: codec[PermissionResponse]{typ: FieldObject}, doc: "What is not an object is read as a denial."}
	permissionInput = &fieldOf[PermissionResponse]{
		name: "response.updated_input", in: "wire:response.updated_input+ protocol:response.updatedInput+ also:" + keyUpdated,
		arm: SubtypeSuccess, when: (*PermissionResponse).success, decides: true,
		codec: rawObject((*PermissionResponse).updatedInput, nil), doc: "The input to run instead; empty: the one that was asked for."}
	permissionUpdates = &fieldOf[PermissionResponse]{
		name: "response.permission_updates", in: "wire:response.permission_updates protocol:response.permissionUpdates also:permission_updates",
		arm: SubtypeSuccess, when: (*PermissionResponse).success, decides: true,
		codec: rawValues(func(p *PermissionResponse) []json.RawMessage { return p.granted().PermissionUpdates }, nil),
		doc:   "Changes of rules that go with the approval."}
	permissionError = &fieldOf[PermissionResponse]{
		name: keyError, in: "wire:error+ protocol:error+ tool:feedback also:notes tool:reason also:content,message",
		arm: SubtypeError, when: func(p *PermissionResponse, _ Dialect) bool { return !p.Allowed() }, as: elsewhere, doc: "Words of a denial, for the agent."}
)

func (p *PermissionResponse) success(Dialect) bool { return p.Allowed() }

// updatedInput is the input of an approval as it is written: an object.
func (p *PermissionResponse) updatedInput() json.RawMessage {
	if in := p.granted().UpdatedInput; !noInput(in) {
		return in
	}
	return json.RawMessage("{}")
}

// granted is what goes with an approval, of which there may be nothing.
func (p *PermissionResponse) granted() *PermissionGranted {
	return cmp.Or(p.Response, &PermissionGranted{})
}

// noInput reports an updated input that says nothing; it is written as {}.
func noInput(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// permissionArms refuses an answer with a part of the other one.
func (c *checks) permissionArms(p *PermissionResponse) {
	if p.Allowed() && p.Error != "" {
		c.add("error goes with subtype error only")
	}
	if p.Response != nil && !p.Allowed() {
		c.add("response goes with subtype success only")
	}
}

// argumentText is a tool's input as the catalog's string: the string itself when
// that is what the input was made of, else its JSON.
func argumentText(input json.RawMessage) []byte {
	if m := jsontext.Members(string(input)); len(m) == 1 && m[0].Key == argumentsKey && m[0].Raw[0] == '"' {
		return []byte(m[0].Raw)
	}
	return jsontext.AppendString(nil, string(input))
}
